package terminal

import (
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
)

// A wrapper breaks lines between words where a terminal would break them anywhere. A
// word appears when it is whole. Lines of fenced code are left as they are.
type wrapper struct {
	w     io.Writer
	width func() int // columns; 0 leaves lines alone

	col   int    // columns of the line that are written
	space string // behind them, not written yet
	word  strings.Builder
	fence int  // characters of "```" that the line began with; −1 when it began otherwise
	code  bool // inside a fence
}

// Breaking is w, with lines broken between words where w is a terminal too narrow for
// them, and a function to call at the end.
func Breaking(w io.Writer) (io.Writer, func() error) {
	width := Width(w)
	if width == nil {
		return w, func() error { return nil }
	}
	b := &wrapper{w: w, width: width}
	return b, b.Flush
}

// Columns is how wide the terminal is that Breaking writes to, 0 when it is none.
func Columns(w io.Writer) int {
	if b, ok := w.(*wrapper); ok {
		return b.width()
	}
	return 0
}

// Write takes text in pieces of any size that hold whole characters.
func (w *wrapper) Write(b []byte) (int, error) {
	var out strings.Builder
	width := w.width()
	for _, r := range string(b) {
		switch {
		case r == '\n':
			w.put(&out, width)
			if w.fence >= 3 {
				w.code = !w.code
			}
			out.WriteByte('\n')
			w.col, w.space, w.fence = 0, "", 0
			continue
		case r == ' ' || r == '\t':
			w.put(&out, width)
			w.space += string(r)
		case runewidth.RuneWidth(r) > 1: // of a script without spaces
			w.put(&out, width)
			w.word.WriteRune(r)
			w.put(&out, width)
		default:
			w.word.WriteRune(r)
		}
		switch {
		case r == '`' && w.fence >= 0 && w.fence < 3:
			w.fence++
		case w.fence < 3:
			w.fence = -1
		}
	}
	_, err := io.WriteString(w.w, out.String())
	return len(b), err
}

// put writes the word, on the next line if it does not fit on this one.
func (w *wrapper) put(out *strings.Builder, width int) {
	if w.word.Len() == 0 {
		return
	}
	word := w.word.String()
	w.word.Reset()
	n, gap := runewidth.StringWidth(word), w.columns()
	if width > 0 && !w.code && w.col > 0 && w.col+gap+n > width {
		out.WriteByte('\n')
		w.col, w.space, gap = 0, "", 0
	}
	out.WriteString(w.space)
	out.WriteString(word)
	w.col, w.space = w.col+gap+n, ""
	if width > 0 && w.col > width { // the terminal has broken it
		w.col %= width
	}
}

// columns is how wide the space is.
func (w *wrapper) columns() int {
	col := w.col
	for _, r := range w.space {
		if r == '\t' {
			col += 8 - col%8
		} else {
			col++
		}
	}
	return col - w.col
}

// Flush writes the word that is not known to be whole, and the space behind it.
func (w *wrapper) Flush() error {
	var out strings.Builder
	w.put(&out, w.width())
	out.WriteString(w.space)
	w.col, w.space = w.col+w.columns(), ""
	_, err := io.WriteString(w.w, out.String())
	return err
}
