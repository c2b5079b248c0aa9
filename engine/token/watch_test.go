package token_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"quern/engine/token"
)

// families are small vocabularies of every family.
func families(t testing.TB) map[string]*token.Vocab {
	t.Helper()
	list := make(map[string]*token.Vocab)
	for name, b := range map[string]*builder{"bpe": smallBPE(), "raw": smallRaw(), "spm": smallSPM(), "bert": smallBERT(), "unigram": smallUnigram()} {
		list[name] = newVocab(t, b.Spec)
	}
	for name, parts := range map[string]string{
		"hf": "", "hf nfkc": `,"normalizer":{"type":"NFKC"},"pre_tokenizer":{"type":"Digits","individual_digits":true}`,
		"hf lower":   `,"normalizer":{"type":"Lowercase"}`,
		"hf replace": `,"normalizer":{"type":"Replace","pattern":{"String":"abcdefgh"},"content":"ab"}`,
		"hf accents": `,"normalizer":{"type":"StripAccents"}`,
		"hf removed": `,"pre_tokenizer":{"type":"Split","pattern":{"String":"-"},"behavior":"Removed"}`,
	} {
		spec, err := token.FromHF(hfMeta(tiny(parts), "", ""))
		if err != nil {
			t.Fatal(err)
		}
		list[name] = newVocab(t, spec)
	}
	return list
}

// A watched encoding gives the same tokens, asks in proportion to the text and
// ends with the first error, with tokens the whole encoding begins with.
func TestWatched(t *testing.T) {
	errStop := errors.New("stop")
	for name, v := range families(t) {
		for _, text := range []string{"", "hello", strings.Repeat("ab a", 20000), strings.Repeat("a", 80000), strings.Repeat("a<s>", 20000), strings.Repeat("漢 ", 20000)} {
			want := v.EncodeSequence(text, true)
			asked := 0
			got, err := v.Watched(func(tokens int) error {
				if asked++; tokens > len(want) {
					t.Errorf("%s: asked about %d tokens of %d", name, tokens, len(want))
				}
				return nil
			}).EncodeSequence(text, true)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s: %.20q watched gives %d tokens and %v, want %d", name, text, len(got), err, len(want))
			}
			if asked < len(text)/8192 {
				t.Errorf("%s: %.20q of %d bytes asks %d times", name, text, len(text), asked)
			}
			for _, n := range []int{1, 3} {
				left := n
				got, err := v.Watched(func(int) error {
					if left--; left < 0 {
						t.Errorf("%s: %.20q goes on after it was stopped", name, text)
					}
					if left == 0 {
						return errStop
					}
					return nil
				}).EncodeSequence(text, true)
				if n > asked {
					continue
				}
				if !errors.Is(err, errStop) || !slices.Equal(got, want[:min(len(got), len(want))]) {
					t.Errorf("%s: %.20q stopped gives %d tokens and %v", name, text, len(got), err)
				}
			}
		}
	}
}

// A long word of words encoded one by one stops at the tokens wanted.
func TestWatchedHead(t *testing.T) {
	v := newVocab(t, smallBPE().Spec)
	text := strings.Repeat("hello ", 100000)
	want := v.Encode(nil, text, false)
	got, err := v.Watched(func(tokens int) error {
		if tokens > 1000 {
			return errors.New("enough")
		}
		return nil
	}).Encode(nil, text, false)
	if err == nil || len(got) <= 1000 || len(got) > 10000 || !slices.Equal(got, want[:len(got)]) {
		t.Errorf("%d tokens and %v; want a little more than 1000 and an error", len(got), err)
	}
}

// checkBounds checks what length alone says of a text.
func checkBounds(t *testing.T, v *token.Vocab, text string, special bool) {
	t.Helper()
	if got, least := len(v.Encode(nil, text, special)), v.LeastTokens(text); got < least {
		t.Errorf("%.40q of %d bytes is %d tokens, said to be at least %d", text, len(text), got, least)
	}
}

// leastTexts are texts that become few tokens for their length.
var leastTexts = []string{
	"", "a", strings.Repeat(" ", 3000), strings.Repeat("▁", 3000), strings.Repeat("a", 3000), strings.Repeat("?", 3000), strings.Repeat("\n", 3000),
	"<tool>" + strings.Repeat(" ", 3000), strings.Repeat("\u2003", 500) + "<tool>", strings.Repeat("z", 3000), strings.Repeat("\U0001D41A", 500),
	strings.Repeat("ａ", 500), strings.Repeat("a\u0301", 500), strings.Repeat("\u0301", 500), strings.Repeat("\u212A", 500), strings.Repeat("\u1FA7", 500),
	strings.Repeat("abcdefgh", 400), strings.Repeat("-", 500), strings.Repeat("한", 300), strings.Repeat("ﬁ", 300), strings.Repeat("\x00\uFFFD", 300),
}

// Nothing that fits may be taken for too long.
func TestLeastTokens(t *testing.T) {
	list := families(t)
	strips := smallBPE()
	for i := range strips.Tokens {
		if strips.Tokens[i] == "<tool>" {
			strips.LStrip, strips.RStrip = []token.ID{token.ID(i)}, []token.ID{token.ID(i)}
		}
	}
	list["strips"] = newVocab(t, strips.Spec)
	few := smallBPE()
	few.Kinds['a'-'!'] = token.Control // what spells a byte is none of the text's
	list["few"] = newVocab(t, few.Spec)
	for _, v := range list {
		for _, text := range leastTexts {
			checkBounds(t, v, text, true)
		}
	}
	for name, bounded := range map[string]bool{
		"bpe": true, "raw": true, "spm": true, "strips": true, "bert": false, "unigram": false,
		"hf": true, "hf nfkc": true, "hf lower": true, "hf replace": true, "hf accents": false, "hf removed": false,
	} {
		if got := list[name].LeastTokens(strings.Repeat("a", 1<<20)) > 0; got != bounded {
			t.Errorf("%s: bounded is %v, want %v", name, got, bounded)
		}
	}
}

// The vocabularies people use.
func TestLeastTokensOfRealOnes(t *testing.T) {
	for _, name := range vocabs {
		v, _ := golden(t, name)
		if bounded := v.LeastTokens(strings.Repeat("a", 1<<20)) > 0; bounded != (name != "bert-bge") {
			t.Errorf("%s: bounded is %v", name, bounded)
		}
		for _, text := range append(slices.Clone(leastTexts), english, code) {
			checkBounds(t, v, text, true)
		}
	}
}
