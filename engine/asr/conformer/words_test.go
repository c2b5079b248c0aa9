package conformer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quern/engine/asr"
	"quern/engine/token"
)

// Words begin at spaces, punctuation belongs to the word before, and segments end with
// sentences and before pauses.
func TestSegments(t *testing.T) {
	for _, tt := range []struct {
		name   string
		tokens string // piece@frame+frames
		want   string
	}{
		{"pieces", marker + "mill@0+2 stone@2+1 s@3+0 .@5+1", " millstones.[0.00-0.48]"},
		{"two sentences", marker + "a@0+1 .@1+1 " + marker + "b@2+1 ?@3+1 \"@3+1 " + marker + "c@4+1", " a.[0.00-0.16]| b?\"[0.16-0.32]| c[0.32-0.40]"},
		{"a number", marker + "3@0+1 .@1+0 5@1+1 " + marker + "m@2+1", " 3.5[0.00-0.16] m[0.16-0.24]"},
		{"a pause", marker + "a@0+1 " + marker + "b@10+1 " + marker + "c@30+1", " a[0.00-0.08] b[0.80-0.88]| c[2.40-2.48]"},
		{"spaces before punctuation", marker + "a@0+1 " + marker + "@1+1 ,@2+1 " + marker + "b@3+1", " a,[0.00-0.24] b[0.24-0.32]"},
		{"a marker of its own", marker + "@0+1 a@1+1 " + marker + "@2+1 b@3+1", " a[0.08-0.16] b[0.24-0.32]"},
		{"no marker at first", "s@0+1 " + marker + "a@1+1", " s[0.00-0.08] a[0.08-0.16]"},
		{"bytes", marker + "M@0+1 <0xC3>@1+1 <0xBC>@1+1 hle@2+1", " Mühle[0.00-0.24]"},
		{"half a letter", marker + "M@0+1 <0xC3>@1+1", " M\ufffd[0.00-0.16]"},
		{"nothing of a text", "<|en|>@0+1 <unk>@1+1", ""},
		{"times without durations", marker + "a@0+-1 b@3+-1 " + marker + "c@5+-1", " ab[0.00-0.32] c[0.40-0.48]"},
		{"a script without spaces", "日@0+1 本語@1+1 。@2+1 は@5+1 ー@6+1 ok@7+1", " 日[0.00-0.08]本語。[0.08-0.24]|はーok[0.40-0.64]"},
		{"words of one frame", marker + "a@0+0 " + marker + "b@0+0 " + marker + "c@0+2 " + marker + "d@1+1", " a[0.00-0.00] b[0.00-0.00] c[0.00-0.08] d[0.08-0.16]"},
		{"a space at the end", marker + "a@0+1 " + marker + "@1+1", " a[0.00-0.08]"},
		{"a space alone", marker + "@1+1", ""},
		{"an end beyond the window", marker + "a@498+4", " a[39.84-40.00]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &Model{head: head{Kind: TDT, subsampling: 8}}
			w := &window{frames: 4000}
			var pieces []string
			for _, s := range strings.Fields(tt.tokens) {
				piece, times, _ := strings.Cut(s, "@")
				x := spoken{id: len(pieces)}
				if _, err := fmt.Sscanf(times, "%d+%d", &x.at, &x.frames); err != nil {
					t.Fatal(err)
				}
				pieces = append(pieces, piece)
				w.tokens = append(w.tokens, x)
			}
			m.vocab = &vocabulary{pieces: append(pieces, "<blk>")}
			m.vocab.understand()
			m.vocab.spaced = true
			r := &request{Options: asr.Options{Words: true}}
			var got []string
			for _, s := range m.segments(w, r) {
				var b strings.Builder
				var of []token.ID
				for _, x := range s.Words {
					of = append(of, x.Tokens...)
					fmt.Fprintf(&b, "%s[%.2f-%.2f]", x.Text, x.Start, x.End)
				}
				if !slices.Equal(of, s.Tokens) {
					t.Errorf("words have tokens %v, the segment %v", of, s.Tokens)
				}
				got = append(got, b.String())
			}
			if !slices.Equal(got, strings.Split(tt.want, "|")) && !(tt.want == "" && len(got) == 0) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			r.NoTimestamps = true
			if n := len(m.segments(w, r)); n > 1 {
				t.Errorf("%d segments without times", n)
			}
		})
	}
}
