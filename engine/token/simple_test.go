package token_test

import (
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/token"
	"quern/engine/token/internal/pretoken"
)

// TestEncodeSimple holds whole encoding, with its caches and seams, against the
// oracle: with and without words taken whole, and every text twice.
func TestEncodeSimple(t *testing.T) {
	texts := fixtures.Awkward()[:400]
	for i := range 40 {
		text := mixedText[i*37%len(mixedText):]
		texts = append(texts, strings.ToValidUTF8(text[:min(len(text), 90)], "\xff"))
	}
	for _, name := range []string{"llama-spm", "phi-3"} {
		v, _ := golden(t, name)
		for _, text := range texts {
			if strings.Contains(text, "<") {
				continue // might be a special token
			}
			want := token.SimpleEncodeSPM(v, text)
			for range 2 {
				if got := v.Encode(nil, text, false); !slices.Equal(got, want) {
					t.Fatalf("%s: %q becomes\n%q; want\n%q", name, text, pieces(v, got), pieces(v, want))
				}
			}
		}
	}
	base, _ := goldenSpec(t, "gpt-2")
	if !fixtures.Whole { // fewer words are quicker to put into order
		base = shortened(base, 10_000)
	}
	for i, pre := range distinctPretokenizers() {
		if pretoken.All[pre].Raw {
			continue
		}
		s := base
		s.Pre, s.IgnoreMerges = pre, i%2 == 0
		v := newVocab(t, s)
		for k, text := range texts {
			if !fixtures.Whole && (i+k)%3 != 0 {
				continue
			}
			want := token.SimpleEncode(v, text)
			for range 2 {
				if got := v.Encode(nil, text, false); !slices.Equal(got, want) {
					t.Fatalf("%s: %q becomes\n%q; want\n%q", pre, text, pieces(v, got), pieces(v, want))
				}
			}
		}
	}
}

// shortened is a BPE with n of its merges, whose tokens are in their order behind single bytes.
func shortened(s token.Spec, n int) token.Spec {
	s.Merges = s.Merges[:n]
	s.Tokens, s.Kinds = s.Tokens[:256+n], s.Kinds[:256+n]
	s.Special, s.AddBOS, s.AddEOS = nil, false, false
	return s
}

const mixedText = "石臼は車輪よりも古い。穀物は穴から入れ、粉は縁から出る。小麦を挽くのに一時間かかった。Мельница старше колеса; зерно сыплют в отверстие. الرحى أقدم من العجلة، والحبوب تدخل من الثقب. " +
	"चक्की पहिये से पुरानी है। โม่หินเก่าแก่กว่าล้อ 맷돌은 바퀴보다 오래되었다. Ο μύλος είναι παλαιότερος. 第3章，共12页 ½ → 🦙🚀👩‍🌾"
