package schema

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"quern/engine/grammar"
)

// hostile are schemas made to be large, deep or endless.
var hostile = map[string]string{
	"empty":       ``,
	"not JSON":    `{"type":`,
	"two values":  `{} {}`,
	"deep values": strings.Repeat(`{"not":`, 100_000) + `{}` + strings.Repeat(`}`, 100_000),
	"deep arrays": strings.Repeat(`[`, 100_000),
	"deep schema": strings.Repeat(`{"properties":{"a":`, 120) + `{}` + strings.Repeat(`}}`, 120),
	"doubling allOf": `{"$ref":"#/$defs/d40","$defs":{"d0":{"minLength":1},` + list(40, func(i int) string {
		return fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i+1, i, i)
	}) + `}}`,
	"doubling members": `{"$ref":"#/$defs/d40","$defs":{"d0":{"type":"string"},` + list(40, func(i int) string {
		return fmt.Sprintf(`"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i+1, i, i)
	}) + `}}`,
	"product of anyOf":  `{"allOf":[` + list(30, func(i int) string { return fmt.Sprintf(`{"anyOf":[{"required":["a%d"]},{"required":["b%d"]}]}`, i, i) }) + `]}`,
	"overlapping oneOf": `{"oneOf":[` + list(40, func(i int) string { return fmt.Sprintf(`{"properties":{"p%d":{"type":"integer"}}}`, i) }) + `]}`,
	"many names":        `{"properties":{` + list(3000, func(i int) string { return fmt.Sprintf(`"name%d":{"type":"string"}`, i) }) + `}}`,
	"many words":        `{"enum":[` + list(5000, func(i int) string { return fmt.Sprintf(`"word %d"`, i*7919) }) + `]}`,
	"many constants":    `{"oneOf":[` + list(2000, func(i int) string { return fmt.Sprintf(`{"const":"word %d"}`, i) }) + `]}`,
	"long word":         `{"const":"` + strings.Repeat("x", 1<<17) + `"}`,
	"many patterns":     `{"patternProperties":{` + list(40, func(i int) string { return fmt.Sprintf(`"a{%d}b":{}`, i) }) + `}}`,
	"large count":       `{"type":"string","maxLength":4000000000}`,
	"large product":     `{"type":"array","maxItems":100000,"items":{"type":"array","maxItems":100000,"items":{"maxLength":100000}}}`,
	"large exponent":    `{"minimum":1e999999999}`,
	"long number":       `{"minimum":` + strings.Repeat("9", 100_000) + `}`,
	"nested counts":     `{"pattern":"^((((a{1,99}){1,99}){1,99}){1,99}){1,99}$"}`,
	"many ways":         `{"pattern":"(a|aa|aaa)*b(a|b)*[ab]{50}c"}`,
	"conflicting":       `{"pattern":"^(aa)*$","not":{"pattern":"^(aaa)*$"},"minLength":1000}`,
	"many conditions": `{` + list(1, func(int) string {
		return `"allOf":[` + list(25, func(i int) string {
			return fmt.Sprintf(`{"if":{"required":["k%d"]},"then":{"required":["v%d"]}}`, i, i)
		}) + `]`
	}) + `}`,
	"contains":       `{"minItems":3000,"contains":{"const":1},"minContains":2000}`,
	"dependencies":   `{"dependentRequired":{` + list(20, func(i int) string { return fmt.Sprintf(`"a%d":["b%d"]`, i, i) }) + `}}`,
	"self":           `{"$ref":"#"}`,
	"self in anyOf":  `{"anyOf":[{"$ref":"#"},{"type":"null"}]}`,
	"self in not":    `{"not":{"$ref":"#"}}`,
	"endless":        `{"type":"array","items":{"$ref":"#"},"minItems":1}`,
	"control tokens": `{"properties":{"<|im_end|>\u0000\"":{"const":"</tool_call>\n"}}}`,
	"unresolvable":   `{"$ref":"#/a~2b/%zz"}`,
}

// list joins what f makes of the numbers below n.
func list(n int, f func(i int) string) string {
	var parts []string
	for i := range n {
		parts = append(parts, f(i))
	}
	return strings.Join(parts, ",")
}

// TestHostile: schemas made to be large, deep or endless are compiled or refused by an
// error of ours; none panics, and none takes more than the limits allow.
func TestHostile(t *testing.T) {
	trie := byteTrie(t)
	for name, src := range hostile {
		t.Run(name, func(t *testing.T) {
			g, _, err := Compile([]byte(src), trie, grammar.Limits{}, Options{})
			var ours *Error
			var limit *grammar.LimitError
			switch {
			case err == nil:
				s := g.New()
				if err := s.Mask(make([]uint32, 9)); err != nil {
					t.Errorf("compiled, but the first mask: %v", err)
				}
			case !errors.As(err, &ours) && !errors.As(err, &limit):
				t.Errorf("%v is neither an Error nor a LimitError", err)
			default:
				t.Logf("%.200v", err)
			}
		})
	}
}

// TestBounds: what makes a schema too large is named.
func TestBounds(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"schemas", `{"properties":{` + list(maxSchemas, func(i int) string { return fmt.Sprintf(`"n%d":{}`, i) }) + `}}`, "more than 20000 schemas"},
		{"a constant", `{"const":[` + list(maxSchemas, func(int) string { return "1" }) + `]}`, "/const: more than 20000 values in constant arrays and objects"},
		{"constants", `{"enum":[` + list(maxSchemas/2, func(i int) string { return fmt.Sprintf("[%d]", i) }) + `,[{"a":1}]]}`, "/enum: more than 20000 values in constant arrays and objects"},
		{"values", `{"default":[` + list(maxValues, func(int) string { return "1" }) + `]}`, "more than 65536 values"},
		{"expressions", `{"enum":[` + list(maxValues/2, func(i int) string { return fmt.Sprintf(`"%d words"`, i*7919) }) + `]}`, "bytes of expressions and states"},
	} {
		_, _, err := Add(grammar.NewBuilder(grammar.Limits{}), []byte(tt.src), Options{Limits: grammar.Limits{Memory: 8 << 20}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %.300v; want %q", tt.name, err, tt.want)
		}
	}
}

// TestPointersFit: long names that many values stand below are found without spelling the
// pointers to all of those.
func TestPointersFit(t *testing.T) {
	name := strings.Repeat("n", 1100)
	for _, tt := range []struct {
		name, src string
		want      bool
	}{
		{"plain", `{"properties":{"a":{"type":["string","null"]}},"x":1}`, true},
		{"no JSON", `{"a":`, true},
		{"many short", `{"a":[` + strings.Repeat("1,", 1<<18) + `1]}`, true},
		{"wide", `{"` + name + `":[` + strings.Repeat("1,", 1<<16) + `1]}`, false},
		{"deep", strings.Repeat(`{"`+name+`":`, 250) + "1" + strings.Repeat("}", 250), false},
		{"after a deep one", `{"` + name + `":{"a":1},"b":[` + strings.Repeat("1,", 1<<16) + `1]}`, true},
	} {
		_, err := decode([]byte(tt.src))
		if got := err == nil || !strings.Contains(err.Error(), "names on the way"); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func FuzzSchema(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"type":"integer","minimum":3}},"required":["a"],"additionalProperties":false}`,
		`{"oneOf":[{"pattern":"^a+$"},{"minLength":3}],"not":{"const":"aaa"}}`,
		`{"items":{"$ref":"#"},"prefixItems":[{"multipleOf":0.5}],"contains":{"enum":[1,null]},"uniqueItems":true}`,
		`{"patternProperties":{"^x":{}},"propertyNames":{"maxLength":3},"dependentRequired":{"a":["b"]},"minProperties":1}`,
		`{"if":{"required":["a"]},"then":{"format":"date-time"},"else":false,"unevaluatedProperties":false}`,
	} {
		f.Add([]byte(s))
	}
	trie := byteTrie(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		g, _, err := Compile(src, trie, grammar.Limits{Compile: 200_000}, Options{})
		if err != nil {
			return
		}
		if err := g.New().Mask(make([]uint32, 9)); err != nil {
			var limit *grammar.LimitError
			if !errors.As(err, &limit) {
				t.Fatalf("%s: the first mask: %v", src, err)
			}
		}
	})
}

// TestParallel: schemas compiled at once share nothing that changes. It is for -race.
func TestParallel(t *testing.T) {
	trie := byteTrie(t)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for name := range formats {
				src := fmt.Sprintf(`{"anyOf":[{"type":"string","format":%q,"minLength":%d},{"const":1.5},{"type":"object","propertyNames":{"format":%q}}],"not":{"const":"a"}}`, name, i, name)
				g, _, err := Compile([]byte(src), trie, grammar.Limits{}, Options{})
				if err != nil {
					t.Errorf("%s: %v", src, err)
					return
				}
				if err := reach(g, "1.5"); err != nil {
					t.Errorf("%s: %v", src, err)
				}
			}
		})
	}
	group.Wait()
}
