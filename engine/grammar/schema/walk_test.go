package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"quern/bench/fixtures"
	"quern/engine/grammar"
)

// oracle compiles a schema with an independent validator; nil if it refuses it.
func oracle(src json.RawMessage) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
	if err != nil {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if c.AddResource("schema.json", doc) != nil {
		return nil
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		return nil
	}
	return s
}

// walk draws a text byte by byte from the masks. It prefers what ends a value the
// longer the text gets; "" is a text that came to no end, or to a limit.
func walk(t *testing.T, g *grammar.Grammar, rng *rand.Rand) (string, *grammar.LimitError) {
	const limit = 600
	s := g.New()
	mask := make([]uint32, (257+31)/32)
	var text []byte
	for len(text) < limit {
		if err := s.Mask(mask); err != nil {
			var l *grammar.LimitError
			if !errors.As(err, &l) {
				t.Fatalf("after %q: %v", text, err)
			}
			return "", l
		}
		var allowed, ends []int32
		for id := range int32(257) {
			if mask[id>>5]>>(id&31)&1 == 0 {
				continue
			}
			allowed = append(allowed, id)
			if id == 256 || strings.IndexByte("\"}]", byte(id)) >= 0 {
				ends = append(ends, id)
			}
		}
		if len(allowed) == 0 {
			t.Fatalf("after %q nothing is allowed", text)
		}
		id := allowed[rng.IntN(len(allowed))]
		if len(ends) > 0 && rng.IntN(limit) < 60+len(text) {
			id = ends[rng.IntN(len(ends))]
		}
		if err := s.Accept(id); err != nil {
			t.Fatalf("after %q the mask allows %d, which Accept refuses: %v", text, id, err)
		}
		if id == 256 {
			return string(text), nil
		}
		text = append(text, byte(id))
	}
	return "", nil
}

// mistaken says that the validator is wrong: it parses a template as a URL, which it need
// not be (RFC 6570), knows no quoted pairs in addresses (RFC 5321, 4.1.2), and of the
// spaces of ECMAScript's \s only those of ASCII.
func mistaken(err error) bool {
	return asciiSpaces.MatchString(err.Error()) || strings.Contains(err.Error(), "is not valid uri-template: parse") ||
		strings.Contains(err.Error(), "backslash and quote are not allowed within quoted local part")
}

var asciiSpaces = regexp.MustCompile(`\\(ufeff|u00a0|xa0|u20|u3000|u1680).* does not match pattern '.*\\\\[sS]`)

// TestWalks: whatever the masks let through is valid for another validator.
func TestWalks(t *testing.T) {
	trie := byteTrie(t)
	files, _ := filepath.Glob(filepath.Join(fixtures.Path(t, "schemas"), "*.jsonl"))
	rng := rand.New(rand.NewPCG(1, 2))
	walks, schemas := 0, 0
	for _, path := range files {
		for i, x := range readFixtures(t, path) {
			if skips(i+4) || x.Kind == "malformed" {
				continue
			}
			if strings.Contains(x.ID, "ecmascript-regex") {
				continue // this validator's patterns are Go's
			}
			check := oracle(x.Schema)
			if check == nil {
				continue
			}
			g, _, err := Compile(x.Schema, trie, grammar.Limits{}, Options{})
			if err != nil {
				continue
			}
			schemas++
			for range 4 {
				text, limit := walk(t, g, rng)
				if limit != nil {
					t.Logf("%s: compiled, but %v\n\tschema %.600s", x.ID, limit, x.Schema)
				}
				if text == "" {
					continue
				}
				v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
				if err != nil {
					t.Errorf("%s: %q is no JSON: %v", x.ID, text, err)
					continue
				}
				if err := check.Validate(v); err != nil && !mistaken(err) {
					t.Errorf("%s: %s\n\tis not valid: %v\n\tschema %.600s", x.ID, text, err, x.Schema)
				}
				walks++
			}
		}
	}
	t.Logf("%d walks through %d schemas", walks, schemas)
	if walks < schemas {
		t.Errorf("only %d walks through %d schemas came to an end", walks, schemas)
	}
}
