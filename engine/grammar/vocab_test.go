package grammar_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"quern/bench/fixtures"
	. "quern/engine/grammar"
	"quern/engine/token"
	"quern/formats/gguf"
)

// real returns the vocabulary of a GGUF file.
func real(t *testing.T, path string) Vocab {
	set, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	spec, err := token.FromGGUF(&set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	v, err := token.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	var out Vocab
	for id := range token.ID(v.Size()) {
		out.Bytes = append(out.Bytes, bytes.Clone(v.Bytes(id)))
		switch v.Kind(id) {
		case token.Control, token.Unknown, token.Unused:
			out.Special = append(out.Special, int32(id))
		}
	}
	for _, id := range v.Ending() {
		out.EOG = append(out.EOG, int32(id))
	}
	return out
}

// TestRealVocabularies compares masks with Allows on published vocabularies.
func TestRealVocabularies(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Path(t, "vocab"), "*.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	if !fixtures.Whole {
		files = files[:min(2, len(files))]
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			v := real(t, file)
			trie, err := NewTrie(v)
			if err != nil {
				t.Fatal(err)
			}
			mask := make([]uint32, trie.Words())
			for _, tt := range []struct {
				name  string
				start string // as far as tokens spell it
				make  func(b *Builder) *Node
			}{
				{"json", `{"a`, jsonGrammar},
				{"short strings", "", func(b *Builder) *Node {
					return b.Seq(b.Lexeme(Concat(Lit(`"`), Repeat(Chars(OneOf("\"\\\n").Negate()), 0, 12), Lit(`"`))), b.Choice(",", " and"))
				}},
				{"words", "th", func(b *Builder) *Node {
					word := b.Rule("word")
					b.Define(word, b.Lexeme(Plus(Chars(Runes(RuneRange{'a', 'z'}, RuneRange{0xC0, 0x2FF})))))
					return b.Repeat(b.Alt(word, b.Literal(" "), b.Literal(", ")), 1, Unbounded)
				}},
				{"lazy", "I ca", func(b *Builder) *Node {
					return b.Alt(b.Text("<call>"), b.Seq(until(b, "<call>"), b.Literal("{}")))
				}},
			} {
				rng := rand.New(rand.NewPCG(1, 1))
				g := compile(t, trie, Limits{}, tt.make)
				s := g.New()
				for round := range 6 {
					if round == 1 { // from within something
						for _, c := range []byte(tt.start) {
							if i := slices.IndexFunc(v.Bytes, func(x []byte) bool { return string(x) == string(c) }); i >= 0 && s.Allows(int32(i)) {
								if err := s.Accept(int32(i)); err != nil {
									t.Fatal(err)
								}
							}
						}
					}
					if err := s.Mask(mask); err != nil {
						t.Fatal(err)
					}
					var next []int32
					for id := range v.Bytes {
						// All that are allowed, and a part of the others.
						on := bit(mask, id)
						if (on || (id+round)%5 == 0) && s.Allows(int32(id)) != on {
							t.Fatalf("%s, after %d tokens: the mask says %v of %q", tt.name, s.Tokens(), on, v.Bytes[id])
						}
						if on && !slices.Contains(v.EOG, int32(id)) {
							next = append(next, int32(id))
						}
					}
					if len(next) == 0 {
						break
					}
					if err := s.Accept(next[rng.IntN(len(next))]); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// FuzzMask walks grammars of the table by masks, as the input says, and compares
// them with Allows.
func FuzzMask(f *testing.F) {
	for i := range grammars {
		f.Add(byte(i), "abc")
	}
	trie, texts := small(f, pieces...)
	f.Fuzz(func(t *testing.T, which byte, choices string) {
		tt := grammars[int(which)%len(grammars)]
		g := compile(t, trie, Limits{}, tt.make)
		s := g.New()
		mask := make([]uint32, trie.Words())
		for _, c := range []byte(choices[:min(len(choices), 40)]) {
			if err := s.Mask(mask); err != nil {
				t.Fatal(err)
			}
			var next []int32
			for id := range texts {
				on := bit(mask, id)
				if on != s.Allows(int32(id)) {
					t.Fatalf("%s: the mask says %v of %q", tt.name, on, texts[id])
				}
				if on {
					next = append(next, int32(id))
				}
			}
			if c >= 250 {
				s.Rollback(min(int(c)-249, s.Tokens()))
				continue
			}
			id := next[int(c)*len(next)/256]
			if err := s.Accept(id); err != nil {
				t.Fatal(err)
			}
			if id == eog {
				break
			}
		}
		if forced := string(s.Forced()); forced != "" {
			for i := range len(forced) {
				if err := s.Accept(int32(forced[i]) + 3); err != nil {
					t.Fatalf("%s: forced %q is barred: %v", tt.name, forced, err)
				}
			}
		}
	})
}
