package token

import (
	"strings"
	"unicode/utf8"
)

// A pass cuts s into pieces and emits them in order, none empty. A
// pre-tokenizer is a list of passes, each working on the pieces of the one
// before; what a pass does not recognise it emits as it found it.
//
// A piece is a text of its own: \s+(?!\S) at the end of a piece matches even
// when more text follows the piece.
type pass func(t *classTable, s string, emit func(string))

// isolate is the frame of a pass that recognises only some of the text: match
// returns the end of a match that starts at i, or i. Text between matches is
// emitted in one piece.
func isolate(s string, emit func(string), match func(i int) int) {
	from := 0
	for i := 0; i < len(s); {
		j := match(i)
		if j == i {
			i++
			for i < len(s) && !utf8.RuneStart(s[i]) {
				i++
			}
			continue
		}
		if from < i {
			emit(s[from:i])
		}
		emit(s[i:j])
		from, i = j, j
	}
	if from < len(s) {
		emit(s[from:])
	}
}

// groups isolates runs of x in groups of at most n characters, from the left:
// \p{N}{1,3} is groups(number, 3). n = 0 sets no limit.
func groups(x class, n int) pass {
	return func(t *classTable, s string, emit func(string)) {
		isolate(s, emit, func(i int) int { return t.group(s, i, set{in: x}, n) })
	}
}

// group is run with at most n characters, or any number if n is 0.
func (t *classTable) group(s string, i int, x set, n int) int {
	if n == 0 {
		return t.run(s, i, x)
	}
	for ; n > 0 && i < len(s); n-- {
		c, w := t.at(s, i)
		if !x.has(c) {
			break
		}
		i += w
	}
	return i
}

// runs isolates runs of the characters that in accepts. Some or all may have
// one white space character in front, which lead says.
func runs(lead bool, in func(r rune) bool) pass {
	return func(t *classTable, s string, emit func(string)) {
		isolate(s, emit, func(i int) int {
			j := i
			if lead {
				if c, w := t.at(s, i); c&space != 0 {
					j += w
				}
			}
			if end := runeRun(s, j, in); end > j {
				return end
			}
			return runeRun(s, i, in)
		})
	}
}

func runeRun(s string, i int, in func(r rune) bool) int {
	for i < len(s) {
		r, w := utf8.DecodeRuneInString(s[i:])
		if !in(r) {
			break
		}
		i += w
	}
	return i
}

// classRuns is runs for a class.
func classRuns(lead bool, x class) pass {
	return func(t *classTable, s string, emit func(string)) {
		isolate(s, emit, func(i int) int {
			if lead {
				if c, w := t.at(s, i); c&space != 0 && t.peek(s, i+w)&x != 0 {
					return t.run(s, i+w, set{in: x})
				}
			}
			return t.run(s, i, set{in: x})
		})
	}
}

// symbolRuns isolates runs of punctuation and of the ASCII symbols listed.
func symbolRuns(listed string) pass {
	return func(t *classTable, s string, emit func(string)) {
		isolate(s, emit, func(i int) int {
			for i < len(s) {
				c, w := t.at(s, i)
				if c&punct == 0 && strings.IndexByte(listed, s[i]) < 0 {
					break
				}
				i += w
			}
			return i
		})
	}
}

// each isolates single characters.
func each(in func(t *classTable, s string, i int) bool) pass {
	return func(t *classTable, s string, emit func(string)) {
		isolate(s, emit, func(i int) int {
			if !in(t, s, i) {
				return i
			}
			_, w := t.at(s, i)
			return i + w
		})
	}
}

// lines divides text into runs without and runs of line feeds.
func lines(_ *classTable, s string, emit func(string)) {
	for s != "" {
		n := strings.IndexByte(s, '\n')
		if n == 0 {
			n = len(s) - len(strings.TrimLeft(s, "\n"))
		} else if n < 0 {
			n = len(s)
		}
		emit(s[:n])
		s = s[n:]
	}
}

// threes isolates [0-9][0-9][0-9].
func threes(_ *classTable, s string, emit func(string)) {
	isolate(s, emit, func(i int) int {
		if i+3 <= len(s) && isDigit(s[i]) && isDigit(s[i+1]) && isDigit(s[i+2]) {
			return i + 3
		}
		return i
	})
}

// trailing isolates \s+$.
func trailing(t *classTable, s string, emit func(string)) {
	n := len(s)
	for n > 0 {
		r, w := utf8.DecodeLastRuneInString(s[:n])
		if t.of(r)&space == 0 {
			break
		}
		n -= w
	}
	if n > 0 {
		emit(s[:n])
	}
	if n < len(s) {
		emit(s[n:])
	}
}

// thousands cuts at (?=(\d{3})+(?!\d)): decimal digits fall into groups of
// three counted from the right, and the first group starts a piece.
func thousands(t *classTable, s string, emit func(string)) {
	from := 0
	for i := 0; i < len(s); {
		c, w := t.at(s, i)
		if c&digit == 0 {
			i += w
			continue
		}
		end := t.run(s, i, set{in: digit})
		for left := utf8.RuneCountInString(s[i:end]); i < end; left-- {
			if left%3 == 0 && from < i {
				emit(s[from:i])
				from = i
			}
			_, w := t.at(s, i)
			i += w
		}
	}
	if from < len(s) {
		emit(s[from:])
	}
}

// thousandsWord isolates \d{1,3}(?=(?:\d{3})*\b): the same groups, each a
// piece, but only where no letter, mark or underscore follows the digits.
func thousandsWord(t *classTable, s string, emit func(string)) {
	left := 0
	stop := 0 // digits before it are known to be followed by a word character
	isolate(s, emit, func(i int) int {
		if i < stop {
			return i
		}
		if left == 0 {
			end := t.run(s, i, set{in: digit})
			if end == i {
				return i
			}
			if t.peek(s, end)&(letter|mark|joiner) != 0 {
				stop = end
				return i
			}
			left = utf8.RuneCountInString(s[i:end])
		}
		n := left % 3
		if n == 0 {
			n = 3
		}
		left -= n
		return t.group(s, i, set{in: digit}, n)
	})
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isAlpha(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// sentinels isolates <sentinel:[0-9]+>.
func sentinels(_ *classTable, s string, emit func(string)) {
	const open = "<sentinel:"
	isolate(s, emit, func(i int) int {
		if !strings.HasPrefix(s[i:], open) {
			return i
		}
		j := i + len(open)
		for j < len(s) && isDigit(s[j]) {
			j++
		}
		if j == i+len(open) || j == len(s) || s[j] != '>' {
			return i
		}
		return j + 1
	})
}

// images isolates IMGIMG[A-I]{1,4}Z.
func images(_ *classTable, s string, emit func(string)) {
	const open = "IMGIMG"
	isolate(s, emit, func(i int) int {
		if !strings.HasPrefix(s[i:], open) {
			return i
		}
		j := i + len(open)
		for j < len(s) && j < i+len(open)+4 && 'A' <= s[j] && s[j] <= 'I' {
			j++
		}
		if j == i+len(open) || j == len(s) || s[j] != 'Z' {
			return i
		}
		return j + 1
	})
}

// indents isolates tabs, line feeds and pairs and fours of spaces.
func indents(_ *classTable, s string, emit func(string)) {
	isolate(s, emit, func(i int) int {
		switch {
		case s[i] == '\t' || s[i] == '\n':
			return i + 1
		case strings.HasPrefix(s[i:], "    "):
			return i + 4
		case strings.HasPrefix(s[i:], "  "):
			return i + 2
		}
		return i
	})
}
