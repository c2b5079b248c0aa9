package pretoken

import (
	"strings"
	"unicode/utf8"
)

// The passes that cut words.

// gpt2Words is the pattern of GPT-2:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func gpt2Words(t *Table, s string, emit func(string)) {
	for i := 0; i < len(s); {
		j := gpt2Next(t, s, i)
		emit(s[i:j])
		i = j
	}
}

func gpt2Next(t *Table, s string, i int) int {
	if s[i] == '\'' {
		if n := slowContraction(s[i:], false); n > 0 {
			return i + n
		}
	}
	c, j := t.Peek(s, i), i
	if s[i] == ' ' && i+1 < len(s) {
		j++
		c = t.Peek(s, j)
	}
	switch {
	case c&letter != 0:
		return t.run(s, j, set{in: letter})
	case c&number != 0:
		return t.run(s, j, set{in: number})
	case c&Space == 0:
		return t.runOut(s, j, Space|letter|number)
	}
	end, last, _ := t.blanks(s, i)
	return blankEnd(s, i, last, end)
}

// blanks measures the white space at s[i:]: its end, the start of its last
// character, and the end of its last \r or \n (0 if there is none).
func (t *Table) blanks(s string, i int) (end, last, newline int) {
	last = i
	for i < len(s) {
		c, w := t.at(s, i)
		if c&Space == 0 {
			break
		}
		last = i
		if s[i] == '\n' || s[i] == '\r' {
			newline = i + 1
		}
		i += w
	}
	return i, last, newline
}

// blankEnd applies \s+(?!\S)|\s+ to the white space s[i:end]: its last
// character stays with what follows, if anything does.
func blankEnd(s string, i, last, end int) int {
	if end < len(s) && last > i {
		return last
	}
	return end
}

// contraction returns the length of 's|'t|'re|'ve|'m|'ll|'d at the start of s,
// which begins with an apostrophe, or 0. fold also takes capitals.
func slowContraction(s string, fold bool) int {
	at := func(i int) byte {
		if i >= len(s) {
			return 0
		}
		if fold && isAlpha(s[i]) {
			return s[i] | 0x20
		}
		return s[i]
	}
	switch at(1) {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if at(2) == 'e' {
			return 3
		}
	case 'l':
		if at(2) == 'l' {
			return 3
		}
	}
	return 0
}

// A wordRule is the family of patterns that cl100k began:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//	 ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// Its zero value has none of the first two alternatives' variants.
type wordRule struct {
	lead   bool  // contractions come first
	tail   bool  // contractions end a word instead
	han    bool  // \p{Han}+ comes first and words hold no Han
	cased  bool  // words break before capitals, as in o200k
	spaced bool  // words may hold single spaces between letters
	marks  bool  // [\p{L}\p{M}]+ instead of \p{L}+
	digits int   // most digits in a piece; 0: no limit
	after  after // what may follow symbols
	ladder bool  // white space goes by powers of two
	not    class // what symbols are not, besides white space, letters, numbers
}

// An after says what a run of symbols takes along.
type after uint8

const (
	newlines     after = iota // [\r\n]*
	slashes                   // [\r\n/]*
	oneSlash                  // [\r\n/]?
	nothingAfter              // and neither do symbols hold \r or \n, which are white space
)

func (w *wordRule) split(t *Table, s string, emit func(string)) {
	var b blank
	for i := 0; i < len(s); {
		j := w.next(t, s, i, &b)
		emit(s[i:j])
		i = j
	}
}

// A blank remembers white space already measured, so that cutting a long run
// into many pieces stays linear.
type blank struct{ end, last, newline int }

func (w *wordRule) next(t *Table, s string, i int, b *blank) int {
	c, n := t.at(s, i)
	if w.lead && s[i] == '\'' {
		if n := slowContraction(s[i:], true); n > 0 {
			return i + n
		}
	}
	if w.han && c&han != 0 {
		return t.run(s, i, set{in: han})
	}
	if end := w.word(t, s, i, c, n); end > i {
		return end
	}
	if c&number != 0 {
		return t.group(s, i, set{in: number}, w.digits)
	}
	j := i
	if s[i] == ' ' && i+1 < len(s) {
		j++
	}
	if end := t.runOut(s, j, Space|letter|number|w.not); end > j {
		switch w.after {
		case newlines:
			for end < len(s) && (s[end] == '\n' || s[end] == '\r') {
				end++
			}
		case slashes:
			for end < len(s) && (s[end] == '\n' || s[end] == '\r' || s[end] == '/') {
				end++
			}
		case oneSlash:
			if end < len(s) && (s[end] == '\n' || s[end] == '\r' || s[end] == '/') {
				end++
			}
		}
		return end
	}
	if c&Space == 0 {
		return i + n
	}
	if b.end <= i {
		b.end, b.last, b.newline = t.blanks(s, i)
	}
	switch {
	case b.newline > i:
		return b.newline
	case w.ladder:
		return slowLadder(s, i, b.end)
	}
	return blankEnd(s, i, b.last, b.end)
}

// word matches the alternatives that hold letters and returns the end of the
// match, or i. The character at i has class c and width n.
func (w *wordRule) word(t *Table, s string, i int, c class, n int) int {
	start := i
	if c&(letter|number) == 0 && s[i] != '\r' && s[i] != '\n' {
		start += n
	}
	end := i
	switch {
	case w.cased:
		end = w.casedWord(t, s, i, start)
	case w.spaced:
		if t.Peek(s, start)&letter != 0 {
			end = spacedWord(t, s, start)
		}
	case w.marks:
		// A mark is a possible first character and a possible body.
		if c&Mark != 0 {
			start = i
		}
		if j := t.run(s, start, set{in: letter | Mark}); j > start {
			end = j
		}
	default:
		if j := t.run(s, start, set{in: letter}); j > start {
			end = j
		}
	}
	if w.tail && end > i && end < len(s) && s[end] == '\'' {
		end += slowContraction(s[end:], true)
	}
	return end
}

// casedWord matches p?U*L+|p?U+L*, where U is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}],
// L is [\p{Ll}\p{Lm}\p{Lo}\p{M}] and p is s[i:start].
func (w *wordRule) casedWord(t *Table, s string, i, start int) int {
	var out class
	if w.han {
		out = han
	}
	capital := set{upper | caseless | Mark, out}
	small := set{lower | caseless | Mark, out}
	// The first alternative gives back capitals until it ends on a character
	// that is in both sets.
	first := func(from int) int {
		j, both := from, from
		for j < len(s) {
			c, n := t.at(s, j)
			if !capital.has(c) {
				break
			}
			j += n
			if small.has(c) {
				both = j
			}
		}
		if end := t.run(s, j, small); end > j {
			return end
		}
		return both
	}
	if end := first(start); end > start {
		return end
	}
	if start > i {
		if end := first(i); end > i {
			return end
		}
	}
	if end := t.run(s, start, capital); end > start {
		return end
	}
	return i
}

// spacedWord matches (?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+ at a letter.
func spacedWord(t *Table, s string, i int) int {
	for {
		_, n := t.at(s, i)
		i = t.run(s, i+n, set{in: Mark})
		switch {
		case t.Peek(s, i)&letter != 0:
		case i < len(s) && s[i] == ' ' && t.Peek(s, i+1)&letter != 0:
			i++
		default:
			return i
		}
	}
}

// ladder matches \s{512}(?!\S)|\s{256}(?!\S)|…|\s{4}(?!\S)|\s{1,2}(?!\S)|\s in
// the white space s[i:end].
func slowLadder(s string, i, end int) int {
	// Only as much of the run is counted as the longest step can use.
	var ends [514]int
	n := 0
	for j := i; j < end && n < 513; n++ {
		_, w := utf8.DecodeRuneInString(s[j:])
		j += w
		ends[n+1] = j
	}
	for _, step := range []int{512, 256, 128, 64, 32, 16, 8, 4, 2, 1} {
		if n > step || n == step && end == len(s) {
			return ends[step]
		}
	}
	return ends[1]
}

// slowDeepseekWords is the last pass of DeepSeek V3:
//
//	[!-/:-@[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
//	 ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func slowDeepseekWords(t *Table, s string, emit func(string)) {
	isolate(s, emit, func(i int) int { return deepseekNext(t, s, i, true) })
}

// sparkWords differs in that symbols take no line ends along and every \r and
// \n at the start of white space stands alone.
func sparkWords(t *Table, s string, emit func(string)) {
	isolate(s, emit, func(i int) int { return deepseekNext(t, s, i, false) })
}

func deepseekNext(t *Table, s string, i int, newlines bool) int {
	c, n := t.at(s, i)
	sign := set{in: Punct | Symbol}
	body := set{in: letter | Mark}
	if s[i] < utf8.RuneSelf && sign.has(c) && i+1 < len(s) && isAlpha(s[i+1]) {
		for i++; i < len(s) && isAlpha(s[i]); i++ {
		}
		return i
	}
	switch {
	case body.has(c):
		return t.run(s, i, body)
	case !sign.has(c) && s[i] != '\r' && s[i] != '\n':
		if end := t.run(s, i+n, body); end > i+n {
			return end
		}
	}
	j := i
	if s[i] == ' ' {
		j++
	}
	if end := t.run(s, j, sign); end > j {
		for newlines && end < len(s) && (s[end] == '\n' || s[end] == '\r') {
			end++
		}
		return end
	}
	if c&Space == 0 {
		return i
	}
	if !newlines && (s[i] == '\n' || s[i] == '\r') {
		return i + 1
	}
	end, last, newline := t.blanks(s, i)
	if newlines && newline > 0 {
		return newline
	}
	return blankEnd(s, i, last, end)
}

// slowBloomWords isolates ` ?[^(\s|.,!?…。，、।۔،)]+`.
func slowBloomWords(t *Table, s string, emit func(string)) {
	isolate(s, emit, func(i int) int {
		j := i
		if s[i] == ' ' {
			j++
		}
		end := j
		for end < len(s) {
			r, n := utf8.DecodeRuneInString(s[end:])
			if t.Of(r)&Space != 0 || strings.ContainsRune("(|).,!?…。，、।۔،", r) {
				break
			}
			end += n
		}
		if end == j {
			return i
		}
		return end
	})
}
