package grammar_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "quern/engine/grammar"
)

// eog and the markers of the small vocabulary.
const (
	eog    = 0
	marker = 1
	other  = 2
)

// small returns a vocabulary of three special tokens, all bytes, and texts.
func small(t testing.TB, texts ...string) (*Trie, [][]byte) {
	v := Vocab{Bytes: [][]byte{[]byte("<eog>"), []byte("<m>"), []byte("<o>")}, Special: []int32{marker, other}, EOG: []int32{eog}}
	for b := range 256 {
		v.Bytes = append(v.Bytes, []byte{byte(b)})
	}
	for _, s := range texts {
		v.Bytes = append(v.Bytes, []byte(s))
	}
	trie, err := NewTrie(v)
	if err != nil {
		t.Fatal(err)
	}
	return trie, v.Bytes
}

// pieces are tokens that cross lexemes, characters and each other.
var pieces = []string{
	"aa", "aaa", "aaaa", "ab", "aba", "abc", "ba", "bb", "bc", "b,", ",b", "[[", "]]", "],", ",[", "[]", "12", "123", "1,", ",1",
	"<m>", "<m", "m>", "<o>", "\"a", "a\"", "\":", "\",", "\"}", "{\"", "\"a\"", "a\":", "true", "tr", "ue", "null", "fal", "se", " ", "  ",
	"é", "日", "日本", "\xe6", "\xe6\x97", "\x97\xa5", "é\"", "word", "words", " word", "some longer text here", "more than thirty plain characters in one token",
	"x", "xx", "xy", "yx", "yy", "xyx", "((", "))", "()", "+1", "1+", "\n\n", "\\\"", "\\u", "ab", "", "--", "----", "--------",
	"aab1", "aab2", "aabx", strings.Repeat("-", 40), strings.Repeat("-", 40) + "a", strings.Repeat("-", 40) + "x",
}

func digit() *Regex { return Chars(Runes(RuneRange{'0', '9'})) }

// character is any but those that JSON escapes.
var character = Chars(OneOf("\"\\\n").Negate())

// freeNames are the strings in quotes that are none of the words.
func freeNames(words ...string) *Regex {
	var list []*Regex
	for _, w := range words {
		list = append(list, Lit(w))
	}
	return Concat(Lit(`"`), And(Star(character), Not(Or(list...))), Lit(`"`))
}

// grammars are small grammars of every kind of construct.
var grammars = []struct {
	name string
	make func(b *Builder) *Node
}{
	{"literal", func(b *Builder) *Node { return b.Literal("abc") }},
	{"empty", func(b *Builder) *Node { return b.Seq() }},
	{"list", func(b *Builder) *Node {
		list := b.Rule("list")
		value := b.Alt(b.Lexeme(Plus(digit())), list)
		b.Define(list, b.Seq(b.Literal("["), b.Opt(b.Seq(value, b.Repeat(b.Seq(b.Literal(","), value), 0, Unbounded))), b.Literal("]")))
		return list
	}},
	{"json", jsonGrammar},
	{"two ways", func(b *Builder) *Node {
		// Not folded, as each is recursive in the middle.
		r := b.Rule("r")
		b.Define(r, b.Alt(b.Seq(b.Literal("a"), r, b.Literal("a")), b.Seq(b.Literal("a"), r, b.Literal("b")), b.Literal("aa"), b.Literal("a")))
		return r
	}},
	{"ambiguous words", func(b *Builder) *Node {
		word := b.Rule("word")
		b.Define(word, b.Lexeme(Plus(Chars(Runes(RuneRange{'a', 'z'})))))
		return b.Repeat(b.Alt(word, b.Literal(" "), b.Literal("--"), b.Literal("-")), 0, Unbounded)
	}},
	{"left and right", func(b *Builder) *Node {
		l, r := b.Rule("l"), b.Rule("r")
		b.Define(l, b.Alt(b.Seq(l, b.Literal("x")), b.Literal("y")))
		b.Define(r, b.Alt(b.Seq(b.Literal("x"), r), b.Seq(b.Literal("y"), b.Opt(r)), b.Literal("")))
		return b.Seq(l, b.Literal(","), r)
	}},
	{"palindrome", func(b *Builder) *Node {
		p := b.Rule("p")
		b.Define(p, b.Alt(b.Seq(b.Literal("x"), p, b.Literal("x")), b.Seq(b.Literal("y"), p, b.Literal("y")), b.Seq()))
		return p
	}},
	{"counted", func(b *Builder) *Node {
		p := b.Rule("p")
		b.Define(p, b.Alt(b.Seq(b.Literal("("), b.Repeat(p, 2, 3), b.Literal(")")), b.Literal("x")))
		return b.Repeat(p, 1, 4)
	}},
	{"counted, maybe empty", func(b *Builder) *Node {
		p := b.Rule("p")
		b.Define(p, b.Alt(b.Seq(b.Literal("("), b.Opt(p), b.Literal(")")), b.Seq()))
		return b.Repeat(p, 2, 3)
	}},
	{"loops in loops", func(b *Builder) *Node {
		p := b.Rule("p")
		b.Define(p, b.Alt(b.Seq(b.Literal("("), p, b.Literal(")")), b.Repeat(b.Repeat(b.Literal("a"), 0, Unbounded), 0, Unbounded)))
		return b.Repeat(b.Repeat(p, 0, 2), 0, Unbounded)
	}},
	{"mutual", func(b *Builder) *Node {
		x, y := b.Rule("x"), b.Rule("y")
		b.Define(x, b.Alt(b.Seq(b.Literal("a"), y), b.Literal("x")))
		b.Define(y, b.Alt(b.Seq(x, b.Literal("b")), x, b.Seq()))
		return x
	}},
	{"dead ends", func(b *Builder) *Node {
		never := b.Rule("never")
		b.Define(never, b.Seq(b.Literal("a"), never))
		return b.Alt(b.Seq(b.Literal("a"), never), b.Seq(b.Literal("ab"), b.Lexeme(And(Lit("x"), Lit("y")))), b.Literal("aba"))
	}},
	{"and, not", func(b *Builder) *Node {
		word := Plus(Chars(Runes(RuneRange{'a', 'c'})))
		return b.Seq(b.Lexeme(And(word, Not(Concat(Star(AnyByte()), Lit("ab"), Star(AnyByte()))), Not(Lit("c")))), b.Literal(","), b.Lexeme(And(Repeat(AnyChar(), 2, 3), Not(Lit("日本")))))
	}},
	{"shortest", func(b *Builder) *Node {
		return b.Seq(b.Shortest(Concat(Star(AnyChar()), Lit(","))), b.Lexeme(Star(digit())))
	}},
	{"special", func(b *Builder) *Node {
		return b.Seq(b.Text("<m>"), b.Token(marker), b.Repeat(b.Alt(b.Literal("a"), b.Token(other)), 1, 3))
	}},
	{"sets of tokens", func(b *Builder) *Node {
		return b.Repeat(b.Alt(b.Text("<m>"), b.Token(other, marker, other, 'a'+3), b.Seq(b.Token(marker), b.Literal("[")), b.Token()), 0, Unbounded)
	}},
	{"token twice", func(b *Builder) *Node { // also a text
		return b.Alt(b.Seq(b.Token('a'+3), b.Literal("b")), b.Literal("aa"), b.Seq(b.Literal("x"), b.Token('a'+3)))
	}},
	{"lazy", func(b *Builder) *Node {
		call := b.Seq(until(b, "<m>"), b.Literal("["), b.Lexeme(Plus(digit())), b.Literal("]"))
		return b.Seq(b.Repeat(call, 0, Unbounded), b.Text("<m>"))
	}},
	{"characters", func(b *Builder) *Node {
		return b.Seq(b.Lexeme(Repeat(Chars(OneOf("é日本ab")), 1, 3)), b.Lexeme(Chars(OneOf("ab").Negate())))
	}},
	{"nullable lexemes", func(b *Builder) *Node {
		sp := b.Rule("sp")
		b.Define(sp, b.Lexeme(Star(Lit(" "))))
		p := b.Rule("p")
		b.Define(p, b.Seq(sp, b.Literal("("), sp, b.Opt(p), sp, b.Literal(")"), sp))
		return p
	}},
	{"cut twice", func(b *Builder) *Node { // aab2 begins with aa, or with a and then ab
		return b.Seq(b.Lexeme(Plus(Chars(Runes(RuneRange{'a', 'z'})))), b.Lexeme(Or(Lit("ab1"), Lit("b2"))))
	}},
	{"many ways", func(b *Builder) *Node {
		return b.Repeat(b.Alt(b.Shortest(Lit("-")), b.Shortest(Lit("--")), b.Literal("a")), 1, Unbounded)
	}},
	{"but some words", func(b *Builder) *Node { // any plain text may go on, also from where a word ends
		return b.Alt(b.Lexeme(freeNames("xy", "word", "some longer text here", "x", "aa")), b.Literal(`"xy",`))
	}},
	{"short, but some words", func(b *Builder) *Node { // a text of two characters cannot
		return b.Lexeme(Concat(Lit(`"`), And(Repeat(character, 0, 3), Not(Or(Lit("xyx"), Lit("xx"), Lit("ab")))), Or(Lit(`"`), Lit("---"))))
	}},
	{"but endless words", func(b *Builder) *Node {
		return b.Lexeme(Concat(Lit(`"`), And(Star(character), Not(Concat(Star(AnyByte()), Lit("ab"), Star(AnyByte()))), Not(Lit("word"))), Lit(`"`)))
	}},
	{"of one or another", func(b *Builder) *Node { // neither allows any text, both do
		x := Concat(Lit("x"), Star(character))
		return b.Seq(b.Lexeme(Or(And(Star(character), x, Not(Lit("xy"))), And(Star(character), Not(x), Repeat(character, 2, 40)))), b.Literal("\n"))
	}},
	{"ends early", func(b *Builder) *Node { // a shorter text than most may not go on
		return b.Alt(b.Shortest(Concat(Star(character), Lit("b"))), b.Lexeme(And(Star(character), Not(Concat(Star(character), Lit("b"), Star(character))))))
	}},
	{"text to the end", func(b *Builder) *Node { return b.Seq(b.Literal("ab"), b.Text()) }},
	{"prefixes", func(b *Builder) *Node {
		r := b.Rule("r")
		b.Define(r, b.Alt(b.Seq(b.Literal("a"), r, r), b.Literal("a"), b.Literal("ab"), b.Literal("aba")))
		return r
	}},
}

func jsonGrammar(b *Builder) *Node {
	str := b.Lexeme(Concat(Lit(`"`), Star(Or(Chars(Runes(RuneRange{0, 31}, RuneRange{'"', '"'}, RuneRange{'\\', '\\'}).Negate()),
		Concat(Lit(`\`), Or(Chars(OneOf(`"\/bfnrt`)), Concat(Lit("u"), Repeat(Chars(OneOf("0123456789abcdefABCDEF")), 4, 4)))))), Lit(`"`)))
	number := b.Lexeme(Concat(Opt(Lit("-")), Or(Lit("0"), Concat(Chars(Runes(RuneRange{'1', '9'})), Star(digit()))), Opt(Concat(Lit("."), Plus(digit())))))
	ws := b.Lexeme(Star(Chars(OneOf(" \n"))))
	value := b.Rule("value")
	comma := b.Seq(ws, b.Literal(","), ws)
	pair := b.Seq(str, ws, b.Literal(":"), ws, value)
	object := b.Seq(b.Literal("{"), ws, b.Opt(b.Seq(pair, b.Repeat(b.Seq(comma, pair), 0, Unbounded))), ws, b.Literal("}"))
	array := b.Seq(b.Literal("["), ws, b.Opt(b.Seq(value, b.Repeat(b.Seq(comma, value), 0, Unbounded))), ws, b.Literal("]"))
	b.Define(value, b.Alt(str, number, object, array, b.Literal("true"), b.Literal("false"), b.Literal("null")))
	return value
}

func compile(t testing.TB, trie *Trie, l Limits, f func(b *Builder) *Node) *Grammar {
	t.Helper()
	b := NewBuilder(l)
	g, err := b.Compile(f(b), trie)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func bit(mask []uint32, id int) bool { return mask[id>>5]>>(id&31)&1 != 0 }

// TestMask compares, on random walks, masks with what Allows and Accept say of every
// token, and with a fresh State that reads the same tokens.
func TestMask(t *testing.T) {
	trie, texts := small(t, pieces...)
	for _, tt := range grammars {
		t.Run(tt.name, func(t *testing.T) {
			g := compile(t, trie, Limits{}, tt.make)
			rng := rand.New(rand.NewPCG(1, 2))
			mask := make([]uint32, trie.Words())
			for walk := range 12 {
				s := g.New()
				var past []int32
				for range 25 {
					if err := s.Mask(mask); err != nil {
						t.Fatal(err)
					}
					var next []int32
					for id := range texts {
						if got, want := bit(mask, id), s.Allows(int32(id)); got != want {
							t.Fatalf("after %q: the mask says %v of %q, Allows says %v", spell(texts, past), got, texts[id], want)
						}
						if bit(mask, id) {
							next = append(next, int32(id))
						} else if err := s.Accept(int32(id)); !errors.Is(err, ErrToken) {
							t.Fatalf("after %q: Accept of %q: %v", spell(texts, past), texts[id], err)
						}
					}
					if bit(mask, eog) != s.MayEnd() {
						t.Fatalf("after %q: MayEnd is %v", spell(texts, past), s.MayEnd())
					}
					if len(next) == 0 {
						t.Fatalf("after %q: a dead end", spell(texts, past))
					}
					id := next[rng.IntN(len(next))]
					if rng.IntN(3) == 0 { // prefer long ones
						for _, n := range next {
							if len(texts[n]) > len(texts[id]) && n > other {
								id = n
							}
						}
					}
					if err := s.Accept(id); err != nil {
						t.Fatalf("after %q: Accept of %q: %v", spell(texts, past), texts[id], err)
					}
					past = append(past, id)
					if id == eog {
						break
					}
				}
				if walk == 0 {
					replay(t, g, s, past, trie)
				}
			}
		})
	}
}

func spell(texts [][]byte, ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.Write(texts[id])
	}
	return b.String()
}

// until is any bytes up to and with the first of the triggers.
func until(b *Builder, triggers ...string) *Node {
	var ends []*Regex
	for _, s := range triggers {
		ends = append(ends, Lit(s))
	}
	return b.Shortest(Concat(Star(AnyByte()), Or(ends...)))
}

// replay checks that a fresh State and one that went back come to the same masks.
func replay(t *testing.T, g *Grammar, s *State, past []int32, trie *Trie) {
	t.Helper()
	fresh := g.New()
	s.Rollback(len(past))
	for i := range len(past) + 1 {
		same(t, fresh, s, trie, fmt.Sprint("going again after ", i))
		if i == len(past) {
			break
		}
		for _, x := range []*State{fresh, s} {
			if err := x.Accept(past[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func same(t *testing.T, a, b *State, trie *Trie, where string) {
	t.Helper()
	x, y := make([]uint32, trie.Words()), make([]uint32, trie.Words())
	errA, errB := a.Mask(x), b.Mask(y)
	if errA != errB || !slices.Equal(x, y) || a.MayEnd() != b.MayEnd() || string(a.Forced()) != string(b.Forced()) {
		t.Fatalf("%s: masks %v and %v differ", where, errA, errB)
	}
}

// TestAbsorb reads a string that must not hold a word. That nothing is left behind
// the word is seen without a search through all escapes, which takes 100,000 steps.
func TestAbsorb(t *testing.T) {
	trie, _ := small(t)
	hex := Chars(OneOf("0123456789abcdefABCDEF"))
	char := Or(Chars(Runes(RuneRange{0, 31}, RuneRange{'"', '"'}, RuneRange{'\\', '\\'}).Negate()),
		Concat(Lit(`\`), Or(Chars(OneOf(`"\/bfnrt`)), Concat(Lit("u"), hex, hex, hex, hex))))
	text, dot := Star(char), Star(Or(char, Lit("x")))
	g := compile(t, trie, Limits{Fuel: 5000}, func(b *Builder) *Node {
		return b.Lexeme(And(text, Concat(text, dot, text), Not(Concat(text, Lit("stop"), text))))
	})
	s := g.New()
	for _, c := range []byte("non-sto") {
		if err := s.Accept(int32(c) + 3); err != nil {
			t.Fatal(err)
		}
	}
	if s.Allows('p'+3) || !s.Allows('x'+3) || s.Err() != nil {
		t.Errorf("after sto, p is %v, x is %v; %v", s.Allows('p'+3), s.Allows('x'+3), s.Err())
	}
}
