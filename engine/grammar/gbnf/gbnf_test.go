package gbnf_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/grammar"
	"quern/engine/grammar/gbnf"
)

// letters returns a vocabulary of all bytes and an end token.
func letters(t testing.TB) *grammar.Trie {
	v := grammar.Vocab{EOG: []int32{256}}
	for b := range 257 {
		v.Bytes = append(v.Bytes, []byte{byte(b)})
	}
	trie, err := grammar.NewTrie(v)
	if err != nil {
		t.Fatal(err)
	}
	return trie
}

type fixture struct {
	ID       string
	Grammar  string
	Root     string
	Compiles *bool
	Accept   []string
	Reject   []string
	Left     bool `json:"left_recursive"`
}

func grammars(t testing.TB) []fixture {
	text, err := os.ReadFile(fixtures.Path(t, "grammars", "gbnf.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var list []fixture
	for line := range bytes.Lines(text) {
		var f fixture
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		list = append(list, f)
	}
	return list
}

// TestFixtures reads the grammars of the fixtures, and with them texts byte by
// byte: what is accepted is possible to the end, and what is rejected is not.
func TestFixtures(t *testing.T) {
	trie := letters(t)
	for _, f := range grammars(t) {
		t.Run(f.ID, func(t *testing.T) {
			b := grammar.NewBuilder(grammar.Limits{})
			root, err := gbnf.Parse(b, f.Grammar, gbnf.Options{Root: f.Root})
			var g *grammar.Grammar
			if err == nil {
				g, err = b.Compile(root, trie)
			}
			if f.Compiles != nil && !*f.Compiles {
				if err == nil {
					t.Errorf("no error for %s", f.Grammar)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range f.Accept {
				if n, ok := read(g, text); !ok {
					t.Errorf("%.60q is cut off at byte %d of %d", text, n, len(text))
				}
			}
			for _, text := range f.Reject {
				if _, ok := read(g, text); ok {
					t.Errorf("%.60q is accepted", text)
				}
			}
		})
	}
}

func read(g *grammar.Grammar, text string) (int, bool) {
	s := g.New()
	for i := range len(text) {
		if s.Accept(int32(text[i])) != nil {
			return i, false
		}
	}
	return len(text), s.MayEnd()
}

// TestErrors checks that a mistake is named with its place.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		text string
		line int
		col  int
		want string
	}{
		{`root ::= "a" "`, 1, 14, "closing quote"},
		{`root ::= "\@"`, 1, 11, `unknown escape \@`},
		{`root ::= "\uFF"`, 1, 11, "hexadecimal"},
		{`root ::= "\uD800"`, 1, 11, "hexadecimal"},
		{`root ::= "\`, 1, 11, "unknown escape"},
		{`::= "a"`, 1, 1, "name of a rule"},
		{`root ::= a b`, 1, 10, `"a" is not defined`},
		{"# é\nroot ::= [Z-A]", 2, 11, "ends before it begins"},
		{"root ::= \"é\" [a", 1, 14, "closing bracket"},
		{"root ::= []", 1, 10, "empty character class"},
		{"root ::= [^]", 1, 10, "empty character class"},
		{"root ::= \"a\"\nroot ::= \"b\"", 2, 1, "defined twice"},
		{`root ::= "a" (="a")`, 1, 15, "want a symbol, | or )"},
		{`root ::= ("a"`, 1, 14, "want a symbol, | or )"},
		{`root ::= "a")`, 1, 13, `unexpected ")"`},
		{`root ::= *`, 1, 10, "nothing to repeat"},
		{`root ::= "a"{,3}`, 1, 14, "want a number"},
		{`root ::= "a"{3,2}`, 1, 13, "ends before it begins"},
		{`root ::= "a"{5000}`, 1, 14, "more than 4096 repetitions"},
		{`root ::= "a"{99999999999999999999}`, 1, 14, "more than 4096 repetitions"},
		{`root ::= "a"{3`, 1, 15, "want , or }"},
		{`root = "a"`, 1, 6, "want ::="},
		{`root ::= a b ::= "x"`, 1, 14, `unexpected ":"`},
		{`root ::= [a\-z]`, 1, 12, "unknown escape"},
		{`root ::= !<[3]>`, 1, 10, "not supported"},
		{`root ::= <[x]>`, 1, 10, "number of a token"},
		{`root ::= <no>`, 1, 10, "no token <no>"},
		{`root ::= <no`, 1, 10, "closing >"},
		{"root ::= \"\xff\"", 1, 11, "broken UTF-8"},
		{"root ::= " + strings.Repeat("(", 300) + strings.Repeat(")", 300), 1, 210, "more than 200 groups"},
	} {
		b := grammar.NewBuilder(grammar.Limits{})
		_, err := gbnf.Parse(b, tt.text, gbnf.Options{})
		var e *gbnf.Error
		if !errors.As(err, &e) || e.Line != tt.line || e.Column != tt.col || !strings.Contains(e.Message, tt.want) {
			t.Errorf("%.40q: %v; want line %d, column %d, %q", tt.text, err, tt.line, tt.col, tt.want)
		}
	}
	for _, tt := range []struct{ text, want string }{
		{"", `no rule "root"`},
		{`a ::= "b"`, `no rule "root"`},
		{strings.Repeat(" ", 1<<20+1), "at most"},
	} {
		if _, err := gbnf.Parse(grammar.NewBuilder(grammar.Limits{}), tt.text, gbnf.Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: %v; want %q", tt.text, err, tt.want)
		}
	}
}

// TestSyntax reads what the format allows beside the fixtures.
func TestSyntax(t *testing.T) {
	trie := letters(t)
	named := func(text string) (int32, bool) { return 'x', text == "<|x|>" }
	for _, tt := range []struct{ grammar, yes, no string }{
		{"root ::= # comment\n \"a\" | # more\n \"b\" #\n\n other ::= root", "b", "ab"},
		{"root ::= \"a\"\r\n | \"b\"\r\n", "b", "ab"},
		{"root ::= (\n\"a\"\n\"b\" # x\n|\n\"c\"\n)+", "abcab", "a"},
		{`root ::= "\x41\u00e9\U0001F600\t\"\\\[\]"`, "Aé😀\t\"\\[]", "A"},
		{`root ::= [-a]+`, "-a-", "b"},
		{`root ::= [a-]+`, "a-", "b"},
		{`root ::= [\]\\]+`, `]\`, "["},
		{`root ::= [^\n"]+`, "é日", "\n"},
		{`root ::= "ab"{2}`, "abab", "abb"},
		{`root ::= "a"?+`, "aaa", "b"},
		{`root ::= `, "", "a"},
		{`root ::= | "a"`, "a", "b"},
		{`root ::= ()`, "", "a"},
		{`root ::= <[97]> <|x|>`, "ax", "xa"},
		{"root ::= a-b_C1\na-b_C1 ::= \"x\"", "x", ""},
	} {
		b := grammar.NewBuilder(grammar.Limits{})
		root, err := gbnf.Parse(b, tt.grammar, gbnf.Options{Token: named})
		if err != nil {
			t.Errorf("%q: %v", tt.grammar, err)
			continue
		}
		g, err := b.Compile(root, trie)
		if err != nil {
			t.Errorf("%q: %v", tt.grammar, err)
			continue
		}
		if n, ok := read(g, tt.yes); !ok {
			t.Errorf("%q: %q is cut off at byte %d", tt.grammar, tt.yes, n)
		}
		if _, ok := read(g, tt.no); ok {
			t.Errorf("%q: %q is accepted", tt.grammar, tt.no)
		}
	}
}

// TestHostile reads grammars made to be expensive: each works, or passes a limit that
// the error names.
func TestHostile(t *testing.T) {
	trie := letters(t)
	rules := func(n int, f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "r%d ::= %s\n", i, f(i))
		}
		return b.String()
	}
	for _, tt := range []struct{ name, grammar, limit string }{
		{"states by the million", `root ::= [ab]* "a" [ab]{20}`, ""},
		{"any, a, any", `root ::= .* "a" .{100}`, ""},
		{"counts in counts", `root ::= ((("a"{0,4000}){0,4000}){0,4000}){0,4000}`, ""},
		{"counts of many ways", `root ::= ("a" | "aa" | "aaa"){0,4000}`, ""},
		{"words without ends", "w ::= [a-z ]+\nroot ::= (w | w w | w w w)*", ""},
		{"everything twice", `root ::= root root | [a-z] | root root root | ""`, ""},
		{"parentheses of all kinds", `root ::= "(" root ")" | "[" root "]" | root root | "" | " " root`, ""},
		{"a web of rules", "root ::= r0\n" + rules(5000, func(i int) string {
			return fmt.Sprintf(`"a" r%d "b" | r%d | "x"`, (i+1)%5000, i*7%5000)
		}), ""},
		{"a web of names", "root ::= r0\n" + rules(3000, func(i int) string {
			return fmt.Sprintf(`r%d | r%d | "(" r%d ")" | [a-z]`, (i+1)%3000, (i+11)%3000, i*3%3000)
		}), "3000000 steps for one token or one mask"},
		{"literals", "root ::= " + strings.Repeat(`"abcdefghij" | "klmnop" | `, 30000) + `"z"`, "100000 nodes"},
		{"options", "root ::= " + strings.Repeat(`[a-z]? `, 5000), "1000000 steps for one state of the lexer"},
		{"loops", "root ::= " + strings.Repeat(`([a-z]* " "*)* `, 2000), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := grammar.NewBuilder(grammar.Limits{})
			root, err := gbnf.Parse(b, tt.grammar, gbnf.Options{})
			var g *grammar.Grammar
			if err == nil {
				g, err = b.Compile(root, trie)
			}
			if err == nil {
				err = walk(g, trie, 20)
			}
			var limit *grammar.LimitError
			if tt.limit == "" && err != nil || tt.limit != "" && (!errors.As(err, &limit) || !strings.Contains(err.Error(), tt.limit)) {
				t.Errorf("%v; want %q", err, tt.limit)
			}
		})
	}
}

// walk accepts up to n tokens that masks allow, here and there in the vocabulary.
func walk(g *grammar.Grammar, trie *grammar.Trie, n int) error {
	s := g.New()
	mask := make([]uint32, trie.Words())
	for i := range n {
		if err := s.Mask(mask); err != nil {
			return err
		}
		var next []int32
		for id := range int32(256) {
			if mask[id>>5]>>(id&31)&1 != 0 {
				next = append(next, id)
			}
		}
		if len(next) == 0 {
			return nil
		}
		if err := s.Accept(next[i*7919%len(next)]); err != nil {
			return err
		}
	}
	return nil
}

// FuzzParse looks for grammars that panic, and for those that compile but stop at
// once.
func FuzzParse(f *testing.F) {
	for _, x := range []string{"root ::= \"a\" b* \n b ::= [^x-z]{2,3} | root | .", `root ::= ("\x41" | <[3]>)+ # x`, "root ::= root root | \"a\" | \"\""} {
		f.Add(x)
	}
	trie := letters(f)
	f.Fuzz(func(t *testing.T, text string) {
		b := grammar.NewBuilder(grammar.Limits{Nodes: 2000, Expressions: 20_000, Compile: 200_000, Fuel: 10_000, States: 2000, Items: 2000})
		root, err := gbnf.Parse(b, text, gbnf.Options{})
		if err != nil {
			return
		}
		g, err := b.Compile(root, trie)
		if err != nil {
			return
		}
		s := g.New()
		mask := make([]uint32, trie.Words())
		for range 10 {
			if err := s.Mask(mask); err != nil {
				var limit *grammar.LimitError
				if !errors.As(err, &limit) {
					t.Fatal(err)
				}
				return
			}
			id := int32(-1)
			for i := range int32(257) {
				on := mask[i>>5]>>(i&31)&1 != 0
				if on != s.Allows(i) && s.Err() == nil {
					t.Fatalf("%q: the mask says %v of %d", text, on, i)
				}
				if on && i < 256 {
					id = i
				}
			}
			if id < 0 {
				if !s.MayEnd() && s.Err() == nil {
					t.Fatalf("%q: a dead end", text)
				}
				return
			}
			if err := s.Accept(id); err != nil && s.Err() == nil {
				t.Fatal(err)
			}
		}
	})
}

// TestTooLarge: a grammar past a limit of its Builder is refused by the limit's name,
// wherever reading it stopped.
func TestTooLarge(t *testing.T) {
	for name, text := range map[string]string{
		"characters": "root ::= " + strings.Repeat("[a-z] ", 300),
		"groups":     "root ::= " + strings.Repeat("(\"a\" | \"b\")+ ", 300),
		"rules": "root ::= r0\n" + func() (s string) {
			for i := range 300 {
				s += fmt.Sprintf("r%d ::= \"a\" r%d | \"b\"\n", i, i+1)
			}
			return s
		}() + "r300 ::= \"c\"",
		"alternatives": "root ::= x" + strings.Repeat(" | x", 300) + "\nx ::= \"a\"",
	} {
		for nodes := 2; nodes < 200; nodes += 7 {
			_, err := gbnf.Parse(grammar.NewBuilder(grammar.Limits{Nodes: nodes}), text, gbnf.Options{})
			var limit *grammar.LimitError
			if !errors.As(err, &limit) || limit.Name != "nodes" || limit.Max != nodes {
				t.Fatalf("%s: %v; want the limit of %d nodes", name, err, nodes)
			}
		}
	}
}
