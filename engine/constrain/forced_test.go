package constrain

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/token"
)

// spelling has every byte, the end, token 0, a control token, <tool>, and words, which are
// merged in the order they are listed.
func spelling(t *testing.T, words ...string) *token.Vocab {
	t.Helper()
	spec := token.Spec{
		Model:   "llama",
		Tokens:  []string{"<end>", "<tool>"},
		Kinds:   []token.Kind{token.Control, token.Control},
		Special: map[token.Role]token.ID{token.EOS: 0},
	}
	for b := range 256 {
		spec.Tokens, spec.Kinds = append(spec.Tokens, fmt.Sprintf("<0x%02X>", b)), append(spec.Kinds, token.Byte)
	}
	for _, w := range words {
		spec.Tokens, spec.Kinds = append(spec.Tokens, w), append(spec.Kinds, token.Normal)
	}
	for i := range spec.Tokens {
		spec.Scores = append(spec.Scores, -float32(i))
	}
	v, err := token.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// letters are tokens of one character, which merge to the words behind them.
func letters(words ...string) []string {
	var out []string
	for c := byte('a'); c <= 'z'; c++ {
		out = append(out, string(c))
	}
	return append(append(out, ":", "!", "{"), words...)
}

func written(v *token.Vocab, ids []token.ID) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, string(v.Bytes(id)))
	}
	return strings.Join(parts, "|")
}

// TestForced: bytes that are certain come in the tokens that all of the text is split into,
// but for the last ones that the grammar would let a longer token span.
func TestForced(t *testing.T) {
	v := spelling(t, letters("na", "me", "name", ":y", "e:")...)
	joined := spelling(t, letters("{n", "na", "me", "name")...)
	plain := spelling(t, letters("na", "me", "name", "e:")...)
	for _, tt := range []struct {
		name    string
		v       *token.Vocab
		choices []string
		prompt  string // tokens before the reply, by |
		reply   string // accepted first
		want    string
	}{
		{"up to what may differ", plain, []string{"name:y", "name:n"}, "<tool>", "", "name|:"},
		{"a longer token may come", v, []string{"name:y", "name:n"}, "<tool>", "", "name"},
		{"a longer token is not allowed", v, []string{"name:x", "name:n"}, "<tool>", "", "name|:"},
		{"nothing is certain", v, []string{"name", "other"}, "", "", ""},
		{"behind a token of the reply", v, []string{"xname:a", "xname:b"}, "", "x", "name|:"},
		{"within a token, as it is split otherwise", v, []string{"name:a", "name:b"}, "", "n", ""},
		{"within a token of the prompt", v, []string{"ame:a", "ame:b"}, "x|n", "", ""},
		{"behind a control token", v, []string{"ame:a", "ame:b"}, "n|<tool>", "", "a|me|:"},
		{"the prompt ends a word", v, []string{"name:a", "name:b"}, "x|!", "", "name|:"},
		{"the prompt is part of a word", joined, []string{"name:a", "name:b"}, "!|{", "", ""},
		{"to the end", v, []string{"name!"}, "", "", "name|!"},
		{"to where it may end", v, []string{"name!", "name!name"}, "", "", "name|!"},
		{"text that spells a control token", v, []string{"a<tool>b", "a<tool>c"}, "", "", "a|<|t|o|o|l|>"},
		{"characters of several bytes", plain, []string{"é日", "é本"}, "", "", "\xc3|\xa9|\xe6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := New(tt.v)
			g, err := c.Compile(t.Context(), choice(tt.choices...))
			if err != nil {
				t.Fatal(err)
			}
			m := g.Mask()
			ids := func(list string) (out []token.ID) {
				for p := range strings.SplitSeq(list, "|") {
					if id, ok := tt.v.Lookup(p); ok {
						out = append(out, id)
					}
				}
				return out
			}
			reply := ids(tt.reply)
			for _, id := range reply {
				if err := m.Accept(id); err != nil {
					t.Fatal(err)
				}
			}
			before := append(ids(tt.prompt), reply...)
			words, err := m.Bits()
			if err != nil {
				t.Fatal(err)
			}
			words = slices.Clone(words)
			for range 2 {
				got := m.Forced(nil, before)
				if written(tt.v, got) != tt.want {
					t.Errorf("got %q, want %q", written(tt.v, got), tt.want)
				}
				if again, err := m.Bits(); err != nil || !slices.Equal(words, again) {
					t.Fatalf("the mask has moved: %v", err)
				}
			}
			for _, id := range m.Forced(nil, before) {
				if err := m.Accept(id); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestForcedWalks: on random ways through a schema, what is forced is allowed token by token,
// is all that may be said there, and its tokens are those that Encode makes of the text so far,
// wherever what was drawn before was split so too.
func TestForcedWalks(t *testing.T) {
	v := spelling(t, append(letters("na", "me", "name", "co", "un", "tr", "y_", "try_", "coun", "country_"), "\"", "_", ",", "\":", "\",\"", "true", "}")...)
	c := New(v)
	g, err := c.Compile(t.Context(), &engine.Constraint{Form: engine.FormSchema, Source: `{"type":"object","properties":{
		"country_name":{"enum":["tuvalu","tuna"]},"counter":{"type":"boolean"},"country_of_origin_name":{"type":"string","maxLength":5}},
		"required":["country_name","counter","country_of_origin_name"],"additionalProperties":false}`})
	if err != nil {
		t.Fatal(err)
	}
	forced, all := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		m := g.Mask()
		var reply []token.ID
		accept := func(id token.ID) {
			if words, err := m.Bits(); err != nil || !set(words).has(id) {
				t.Fatalf("seed %d: %q is barred behind %q, %v", seed, v.Bytes(id), written(v, reply), err)
			}
			if err := m.Accept(id); err != nil {
				t.Fatal(err)
			}
			reply = append(reply, id)
		}
		for !m.Ended() && len(reply) < 300 {
			at := len(reply)
			for _, id := range m.Forced(nil, reply) {
				accept(id)
				forced++
			}
			if text := written(v, nil); at < len(reply) {
				for _, id := range reply {
					text += string(v.Bytes(id))
				}
				if whole := v.Encode(nil, text, false); len(whole) < len(reply)-at || !slices.Equal(whole[len(whole)-(len(reply)-at):], reply[at:]) {
					t.Fatalf("seed %d: %q is forced, and %q is the split", seed, written(v, reply[at:]), written(v, whole))
				}
				continue
			}
			words, err := m.Bits()
			if err != nil {
				t.Fatal(err)
			}
			var may []token.ID
			for id := range token.ID(v.Size()) {
				if set(words).has(id) {
					may = append(may, id)
				}
			}
			accept(may[rng.IntN(len(may))])
		}
		all += len(reply)
	}
	if forced*10 < all {
		t.Errorf("%d of %d tokens were forced, want a tenth", forced, all)
	}
	t.Logf("%d of %d tokens were forced", forced, all)
}

// TestForcedAllocatesNothing once its memory has grown.
func TestForcedAllocatesNothing(t *testing.T) {
	c := New(spelling(t, letters("na", "me", "name", "e:")...))
	g, err := c.Compile(t.Context(), choice("name:y", "name:n"))
	if err != nil {
		t.Fatal(err)
	}
	m, dst := g.Mask(), make([]token.ID, 0, 10)
	one := func() {
		if len(m.Forced(dst, nil)) != 2 {
			t.Fatal("nothing is forced")
		}
	}
	one()
	if n := testing.AllocsPerRun(1000, one); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
