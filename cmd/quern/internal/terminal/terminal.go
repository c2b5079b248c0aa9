// Package terminal has the output on terminals: its width, lines broken between words,
// text that cannot drive it, and a line that shows how far work is.
package terminal

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Is reports whether stream is a terminal.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns a function of the columns of a terminal, 0 when they are unknown. It is nil when stream
// is no terminal.
func Width(stream any) func() int {
	if !Is(stream) {
		return nil
	}
	f := stream.(*os.File)
	return func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0
		}
		return width
	}
}

// A PlainWriter drops control characters other than line breaks and tabs, so that
// a model cannot drive the terminal it is printed on.
type PlainWriter struct{ W io.Writer }

func (p *PlainWriter) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.W, Plain(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Plain is s without control characters other than line breaks and tabs.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}
