package live

import (
	"slices"
	"strings"
	"testing"

	"quern/engine"
)

func texts(list []unit) (out []string) {
	for _, u := range list {
		out = append(out, u.text)
	}
	return out
}

func TestUnits(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{" And so, my fellow", []string{" And", " so", ",", " my", " fellow"}},
		{" “Don't,” he said…", []string{" “", "Don't", ",”", " he", " said", "…"}},
		{" well-known 3.5% U.S.", []string{" well-known", " 3.5", "%", " U.S", "."}},
		{"今日は晴れ。", []string{"今", "日", "は", "晴", "れ", "。"}},
		{" น้ำ", []string{" น้", "ำ"}},
		{" été naïve", []string{" été", " naïve"}},
		{"a  ", []string{"a", "  "}},
		{" \ufffd\xff", []string{" \ufffd\xff"}},
	} {
		got := units(engine.Segment{Text: tt.text, End: 1}, 0)
		if !slices.Equal(texts(got), tt.want) {
			t.Errorf("%q: %q, want %q", tt.text, texts(got), tt.want)
		}
	}
}

func TestAfter(t *testing.T) {
	for _, tt := range []struct{ said, h, want string }{
		{"", " a b", " a b"},
		{"a b", " a b c", " c"},
		{"a b", " A, b. C", ". C"},
		{"a b c", " a x c d", " d"},
		{"a b c", " a c d e", " d e"},
		{"a b c", " a b b c d", " d"},
		{"a b c", " b c d", " d"},
		{"a b c", "", ""},
		{"a b c", " x y z w", " w"},
	} {
		if got := strings.Join(texts(after(strings.Fields(tt.said), units(engine.Segment{Text: tt.h, End: 1}, 0))), ""); got != tt.want {
			t.Errorf("after %q in %q: %q, want %q", tt.said, tt.h, got, tt.want)
		}
	}
}

// FuzzSettled: whatever hypotheses say, units are the text, what is given out is part of the
// hypothesis it is from, and the last is given out to its end.
func FuzzSettled(f *testing.F) {
	f.Add(" a b c", " a b d", " a b, d e.")
	f.Add("今日", "今日は", "今。日")
	f.Add("", "\xff\xf0 x", " ,.")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if len(a)+len(b)+len(c) > 1<<12 {
			return
		}
		var s settled
		for i, text := range []string{a, b, c} {
			h := units(engine.Segment{Text: text, End: 1}, 0)
			if got := strings.Join(texts(h), ""); got != text {
				t.Fatalf("the units of %q are %q", text, got)
			}
			if i < 2 {
				now, tail := s.agree(h)
				if !strings.HasSuffix(text, join(now).Text+tail) {
					t.Errorf("%q and %q of %q", join(now).Text, tail, text)
				}
				if n := len(now); n > 0 && now[n-1].folded == "" {
					t.Errorf("%q ends with punctuation", join(now).Text)
				}
			} else if rest := s.finish(h, false); !strings.HasSuffix(text, join(rest).Text) || s.any() {
				t.Errorf("%q of %q", join(rest).Text, text)
			}
		}
	})
}
