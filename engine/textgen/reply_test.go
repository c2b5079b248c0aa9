package textgen

import (
	"fmt"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/token"
)

// byteVocab has one token per byte, then the given pieces, then <end>.
func byteVocab(t *testing.T, pieces ...string) *token.Vocab {
	t.Helper()
	s := token.Spec{Model: "llama"}
	add := func(text string, kind token.Kind) {
		s.Tokens = append(s.Tokens, text)
		s.Kinds = append(s.Kinds, kind)
		s.Scores = append(s.Scores, float32(-len(s.Tokens)))
	}
	for i := range 256 {
		add(fmt.Sprintf("<0x%02X>", i), token.Byte)
	}
	for _, p := range pieces {
		add(p, token.Normal)
	}
	add("<end>", token.Control)
	v, err := token.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestReply(t *testing.T) {
	pieces := []string{"ab", "cd", "▁the", "END", "x"}
	id := func(s string) token.ID {
		for i, p := range pieces {
			if p == s {
				return token.ID(256 + i)
			}
		}
		return token.ID(s[0])
	}
	for _, tt := range []struct {
		name   string
		stops  []string
		tokens []string
		takes  []string // what may be shown after each token, joined by "|"
		flush  string   // and at the end
		stop   string
		kept   int // entries that come out
	}{
		{"plain", nil, []string{"ab", "cd"}, []string{"ab", "cd"}, "", "", 2},
		{"leading space stays", nil, []string{"▁the", "x"}, []string{" the", "x"}, "", "", 2},
		{"half a character", nil, []string{"\xf0", "\x9f", "\xa6", "\x8a", "x"}, []string{"", "", "", "🦊", "x"}, "", "", 5},
		{"never whole", nil, []string{"ab", "\xf0", "\x9f"}, []string{"ab", "", ""}, "\ufffd\ufffd", "", 3},
		{"stop in one token", []string{"END"}, []string{"ab", "END"}, []string{"ab", ""}, "", "END", 1},
		{"stop over tokens", []string{"bcd"}, []string{"ab", "cd"}, []string{"a", ""}, "", "bcd", 1},
		{"start of a stop comes to nothing", []string{"bcx"}, []string{"ab", "cd", "x"}, []string{"a", "bcd", "x"}, "", "", 3},
		{"held to the end", []string{"cdE"}, []string{"ab", "cd"}, []string{"ab", ""}, "cd", "", 2},
		{"first of two stops", []string{"x", "cd"}, []string{"ab", "cd", "x"}, []string{"ab", "", ""}, "", "cd", 1},
		{"overlapping start", []string{"aab"}, []string{"x", "a", "ab"}, []string{"x", "", ""}, "", "aab", 1},
		{"stop inside a character run", []string{"🦊"}, []string{"x", "\xf0", "\x9f", "\xa6", "\x8a"}, []string{"x", "", "", "", ""}, "", "🦊", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := newReply(byteVocab(t, pieces...), tt.stops, nil)
			var got []string
			entries := 0
			for _, s := range tt.tokens {
				if !q.stopped {
					q.push(id(s), -1, &engine.Logprob{Bytes: []byte(s)})
				}
				text, e := q.take()
				got, entries = append(got, text), entries+len(e)
			}
			if g, w := strings.Join(got, "|"), strings.Join(tt.takes, "|"); g != w {
				t.Errorf("shown %q, want %q", g, w)
			}
			q.flush(token.None)
			text, e := q.take()
			entries += len(e)
			if text != tt.flush || q.stop != tt.stop || q.stopped != (tt.stop != "") || entries != tt.kept {
				t.Errorf("at the end %q, stop %q, %d entries; want %q, %q, %d", text, q.stop, entries, tt.flush, tt.stop, tt.kept)
			}
		})
	}
}

// However a text is cut into tokens, what is shown is the text up to the first
// stop string.
func FuzzReply(f *testing.F) {
	f.Add("hello 🦊 world", "wor", "o 🦊")
	f.Add("aaaaab", "aab", "b")
	f.Fuzz(func(t *testing.T, text, stop1, stop2 string) {
		text, stop1, stop2 = strings.ToValidUTF8(text, "?"), strings.ToValidUTF8(stop1, "?"), strings.ToValidUTF8(stop2, "?")
		if stop1 == "" || stop2 == "" || len(text) > 1000 {
			return
		}
		want := text
		for _, s := range []string{stop1, stop2} {
			if i := strings.Index(text, s); i >= 0 && i < len(want) {
				want = text[:i]
			}
		}
		q := newReply(byteVocab(t), []string{stop1, stop2}, nil)
		var shown strings.Builder
		for i := 0; i < len(text) && !q.stopped; i++ {
			q.push(token.ID(text[i]), 0, nil)
			s, _ := q.take()
			shown.WriteString(s)
		}
		q.flush(token.None)
		s, _ := q.take()
		shown.WriteString(s)
		got := shown.String()
		// A stop string that ends earlier wins over one that starts earlier but
		// ends later: the longer one had not been met yet.
		if got != want && !(q.stopped && strings.HasPrefix(text, got+q.stop)) {
			t.Errorf("%q with stops %q %q shows %q, want %q", text, stop1, stop2, got, want)
		}
	})
}
