package terminal

import (
	"strings"
	"testing"
)

func TestWrapper(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		width            int
	}{
		{"words", "one two three four", "one two\nthree four", 10},
		{"exactly", "12345 7890 x", "12345 7890\nx", 10},
		{"lines", "one\ntwo three\n\nfour\n", "one\ntwo three\n\nfour\n", 10},
		{"a long word", "a 123456789012345 b c", "a\n123456789012345 b c", 10},
		{"indented", "  - one two three", "  - one\ntwo three", 10},
		{"spaces at the end", "one   \ntwo", "one\ntwo", 10},
		{"tabs", "a\tb c", "a\tb\nc", 10},
		{"no width", "one two three four", "one two three four", 0},
		{"wide", "世界世界世界 ab", "世界世界世\n界 ab", 10},
		{"accents", "e\u0301tude e\u0301tude", "e\u0301tude\ne\u0301tude", 10},
		{"code", "see this:\n```\nlong line of code here\n```\nlong line of text here", "see this:\n```\nlong line of code here\n```\nlong line\nof text\nhere", 10},
		{"not code", "`a` bbbbbbbbb c", "`a`\nbbbbbbbbb\nc", 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for size := range 4 { // in pieces of so many characters; 0 is at once
				var out strings.Builder
				w := &wrapper{w: &out, width: func() int { return tt.width }}
				text := []rune(tt.text)
				for len(text) > 0 {
					n := min(len(text), size)
					if size == 0 {
						n = len(text)
					}
					if _, err := w.Write([]byte(string(text[:n]))); err != nil {
						t.Fatal(err)
					}
					text = text[n:]
				}
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
				if out.String() != tt.want {
					t.Errorf("in pieces of %d: %q; want %q", size, out.String(), tt.want)
				}
			}
		})
	}
}

func TestPlain(t *testing.T) {
	const in = "a\x1b[31mb\n\tc\u009bd\x7f\u00e9"
	if got, want := Plain(in), "a[31mb\n\tcd\u00e9"; got != want {
		t.Errorf("Plain = %q; want %q", got, want)
	}
}
