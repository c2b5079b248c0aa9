package grammar_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	. "quern/engine/grammar"
)

// A cfg is a grammar for the oracle: rules of alternatives of symbols. A symbol that
// is a key is a rule; others are regular expressions of package regexp.
type cfg map[string][][]string

// build makes the same grammar with the Builder, spelling symbols by lexemes.
func (c cfg) build(b *Builder, lexemes map[string]*Regex) *Node {
	rules := map[string]*Node{}
	for name := range c {
		rules[name] = b.Rule(name)
	}
	for name, alternatives := range c {
		var alts []*Node
		for _, syms := range alternatives {
			var seq []*Node
			for _, s := range syms {
				if r := rules[s]; r != nil {
					seq = append(seq, r)
				} else if l := lexemes[s]; l != nil {
					seq = append(seq, b.Lexeme(l))
				} else {
					seq = append(seq, b.Literal(s))
				}
			}
			alts = append(alts, b.Seq(seq...))
		}
		b.Define(rules[name], b.Alt(alts...))
	}
	return rules["S"]
}

// accepts says by the definition whether text is of the language: which rule derives
// which part of the text, by iterating until nothing new is found.
func (c cfg) accepts(text string, patterns map[string]*regexp.Regexp) bool {
	type part struct {
		name   string
		lo, hi int
	}
	derived := map[part]bool{}
	fits := func(sym string, lo, hi int) bool {
		if _, ok := c[sym]; ok {
			return derived[part{sym, lo, hi}]
		}
		if p := patterns[sym]; p != nil {
			return p.MatchString(text[lo:hi])
		}
		return text[lo:hi] == sym
	}
	// ends returns where a sequence that begins at lo may end.
	ends := func(syms []string, lo int) map[int]bool {
		at := map[int]bool{lo: true}
		for _, s := range syms {
			next := map[int]bool{}
			for i := range at {
				for j := i; j <= len(text); j++ {
					if fits(s, i, j) {
						next[j] = true
					}
				}
			}
			at = next
		}
		return at
	}
	for changed := true; changed; {
		changed = false
		for name, alternatives := range c {
			for _, syms := range alternatives {
				for lo := range len(text) + 1 {
					for hi := range ends(syms, lo) {
						if p := (part{name, lo, hi}); !derived[p] {
							derived[p] = true
							changed = true
						}
					}
				}
			}
		}
	}
	return derived[part{"S", 0, len(text)}]
}

var oracles = []struct {
	name    string
	grammar cfg
}{
	{"sums", cfg{"S": {{"S", "+", "P"}, {"P"}}, "P": {{"P", "*", "F"}, {"F"}}, "F": {{"(", "S", ")"}, {"num"}}}},
	{"right", cfg{"S": {{"a", "S"}, {"b", "S"}, {}}}},
	{"right with an end", cfg{"S": {{"a", "b", "S"}, {"a", "S", ""}, {"b"}}}},
	{"left", cfg{"S": {{"S", "a"}, {"S", "b", "a"}, {"b"}, {}}}},
	{"both ends", cfg{"S": {{"S", "a", "S"}, {"b"}}}},
	{"inside", cfg{"S": {{"a", "S", "a"}, {"b", "S", "b"}, {}, {"a"}}}},
	{"words", cfg{"S": {{"word", "S"}, {"num", "S"}, {"word"}, {"num"}}}},
	{"empty in many ways", cfg{"S": {{"A", "B", "A"}, {"S", "S"}}, "A": {{}, {"B"}, {"a"}}, "B": {{}, {"A"}, {"b", "A"}}}},
	{"cycles", cfg{"S": {{"A"}, {"S"}}, "A": {{"B"}, {"a", "A"}}, "B": {{"A"}, {"S"}, {"b"}}}},
	{"never", cfg{"S": {{"a", "N"}, {"a", "b"}, {"N"}}, "N": {{"a", "N"}, {"M", "b"}}, "M": {{"M"}}}},
	{"maybe", cfg{"S": {{"maybe", "S", "maybe"}, {"x"}, {"maybe", "+"}}}},
	{"tail through another", cfg{"S": {{"a", "T"}, {"b"}}, "T": {{"b", "S"}, {"(", "S", ")", "T"}, {"a"}}}},
	{"lists", cfg{"S": {{"(", "L", ")"}, {"num"}}, "L": {{"L", "*", "S"}, {"S"}, {}}}},
}

var oracleLexemes = map[string]*Regex{
	"num":   Plus(Chars(OneOf("01"))),
	"word":  Or(Lit("a"), Lit("ab"), Concat(Lit("b"), Star(Lit("a")))),
	"maybe": Opt(Lit("a")),
}

var oraclePatterns = map[string]*regexp.Regexp{
	"num": regexp.MustCompile(`^[01]+$`), "word": regexp.MustCompile(`^(a|ab|ba*)$`), "maybe": regexp.MustCompile(`^a?$`),
}

// TestOracle compares with the definition of a context-free grammar: which short
// texts are of the language, and which beginnings can go on to one.
func TestOracle(t *testing.T) {
	trie, _ := small(t)
	for _, tt := range oracles {
		t.Run(tt.name, func(t *testing.T) {
			g := compile(t, trie, Limits{}, func(b *Builder) *Node { return tt.grammar.build(b, oracleLexemes) })
			oracle(t, g, "ab01+*()x", 5, func(text string) bool { return tt.grammar.accepts(text, oraclePatterns) })
		})
	}
}

// oracle tries every text over the alphabet up to a length, as far as its beginning
// is allowed, and some of those that are not.
func oracle(t *testing.T, g *Grammar, alphabet string, length int, accepts func(string) bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	possible := map[string]bool{}
	seen := 0
	var visit func(s *State, text string)
	visit = func(s *State, text string) {
		seen++
		want := accepts(text)
		if s.MayEnd() != want {
			t.Fatalf("%q: MayEnd is %v, the definition says %v", text, !want, want)
		}
		if want {
			for i := range len(text) + 1 {
				possible[text[:i]] = true
			}
		}
		if len(text) == length || seen > 4000 {
			return
		}
		for _, c := range []byte(alphabet) {
			if s.Allows(int32(c) + 3) {
				if err := s.Accept(int32(c) + 3); err != nil {
					t.Fatal(err)
				}
				visit(s, text+string(c))
				s.Rollback(1)
			} else if rng.IntN(4) == 0 && len(text) < 4 {
				// No text that begins so may be of the language.
				for range 20 {
					longer := text + string(c)
					for range rng.IntN(4) {
						longer += string(alphabet[rng.IntN(len(alphabet))])
					}
					if accepts(longer) {
						t.Fatalf("%q is of the language, and barred after %q", longer, text)
					}
				}
			}
		}
	}
	s := g.New()
	visit(s, "")
	if len(possible) == 0 && s.MayEnd() {
		t.Error("no text was tried")
	}
}

// TestRandomGrammars does the same with random grammars.
func TestRandomGrammars(t *testing.T) {
	trie, _ := small(t)
	symbols := []string{"S", "A", "B", "C", "a", "b", "x", "word", "maybe", "S", "A", "ab"}
	seeds := 60
	if fixtures.Whole {
		seeds = 300
	}
	empty := 0
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		c := cfg{}
		for _, name := range []string{"S", "A", "B", "C"} {
			for range 1 + rng.IntN(3) {
				var syms []string
				for range rng.IntN(4) {
					syms = append(syms, symbols[rng.IntN(len(symbols))])
				}
				c[name] = append(c[name], syms)
			}
		}
		b := NewBuilder(Limits{})
		g, err := b.Compile(c.build(b, oracleLexemes), trie)
		if err == ErrNothing {
			for _, text := range []string{"", "a", "b", "x", "ab", "ax", "aab", "xab"} {
				if c.accepts(text, oraclePatterns) {
					t.Fatalf("%v: %q is of the language; Compile found none", c, text)
				}
			}
			empty++
			continue
		}
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) {
			oracle(t, g, "abx", 4, func(text string) bool { return c.accepts(text, oraclePatterns) })
		}) {
			t.Fatalf("%v", c)
		}
	}
	if empty > seeds/2 {
		t.Errorf("%d of %d grammars are empty", empty, seeds)
	}
}

// TestRandomMasks compares masks of random grammars with Allows.
func TestRandomMasks(t *testing.T) {
	trie, texts := small(t, pieces...)
	symbols := []string{"S", "A", "B", "a", "b", "word", "maybe", ",", "ab", "aa", "[", "]", "x", "y", "--", "-"}
	for seed := range 150 {
		rng := rand.New(rand.NewPCG(uint64(seed), 9))
		c := cfg{}
		for _, name := range []string{"S", "A", "B"} {
			for range 1 + rng.IntN(4) {
				var syms []string
				for range rng.IntN(4) {
					syms = append(syms, symbols[rng.IntN(len(symbols))])
				}
				c[name] = append(c[name], syms)
			}
		}
		b := NewBuilder(Limits{})
		g, err := b.Compile(c.build(b, oracleLexemes), trie)
		if err == ErrNothing {
			continue
		}
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		mask := make([]uint32, trie.Words())
		s := g.New()
		var past strings.Builder
		for range 8 {
			if err := s.Mask(mask); err != nil {
				t.Fatalf("%v after %q: %v", c, past.String(), err)
			}
			var next []int32
			for id := range texts {
				if bit(mask, id) != s.Allows(int32(id)) {
					t.Fatalf("%v after %q: the mask says %v of %q", c, past.String(), bit(mask, id), texts[id])
				}
				if bit(mask, id) && id != eog {
					next = append(next, int32(id))
				}
			}
			if len(next) == 0 {
				break
			}
			id := next[rng.IntN(len(next))]
			if rng.IntN(2) == 0 {
				id = slices.MaxFunc(next, func(a, b int32) int { return len(texts[a]) - len(texts[b]) })
			}
			if err := s.Accept(id); err != nil {
				t.Fatal(err)
			}
			past.Write(texts[id])
		}
	}
}
