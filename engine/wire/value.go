package wire

import (
	"bytes"
	"unicode/utf8"
)

// A Dialect is how values of arguments are written.
type Dialect uint8

const (
	JSON   Dialect = iota
	Python         // 'a', "a", True, None, [1], {'k': 1}; the words of JSON too
	Gemma          // bare keys, and strings between quotes of the format's own
)

// A status says how far a part was read.
type status uint8

const (
	more status = iota // the part continues in bytes that have not come yet
	done               // the part ended; bytes after it are not consumed
	bad                // the bytes cannot be that part
	wait               // of a step: too few bytes to decide
)

// The states of a transcoder: the next element.
type expect uint8

const (
	expValue       expect = iota
	expFirstKey           // a key or the end of an object
	expKey                // a key
	expColon              // the colon after a key
	expFirstItem          // a value or the end of an array
	expNext               // a comma or the end of the open array or object
	expString             // the inside of a string
	expNumber             // the inside of a number
	expWord               // the inside of true, null and so on
	expBareKey            // the inside of a key without quotes
	expBareValue          // the inside of a value without quotes
	expTripleQuote        // the inside of a string between three quotes
)

// A transcoder reads one value in a dialect, in pieces, and writes it as JSON.
// JSON itself is passed on as it was written, but for control characters in
// strings, which are escaped. Nothing else is repaired: what is no value of the
// dialect is bad, and what was written until then stays.
type transcoder struct {
	dialect  Dialect
	quotes   string // that of Gemma's strings, in the bytes of this reader
	maxDepth int
	spell    func(symbol byte) string

	out   []byte // JSON, to be taken by the caller
	open  []byte // '{' and '[', outermost first
	state expect
	quote string // the quote that ends the string being read
	isKey bool   // that string is a key
	raw   bool   // that string has no escapes
	word  []byte // of a number, a word or a bare key
}

func (v *transcoder) reset() {
	v.out, v.open, v.word, v.state, v.isKey = v.out[:0], v.open[:0], v.word[:0], expValue, false
}

// run reads from buf, and says how many bytes it consumed. At the end of the
// reply last is true, and nothing is waited for.
func (v *transcoder) run(buf []byte, last bool) (int, status) {
	for i := 0; i < len(buf); {
		n, st := v.step(buf[i:], last)
		i += n
		if st == wait {
			return i, more
		}
		if st != more {
			return i, st
		}
	}
	if last && len(v.open) == 0 && (v.state == expNumber || v.state == expWord) {
		return len(buf), v.endWord()
	}
	return len(buf), more
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// step reads a little of buf, which is not empty.
func (v *transcoder) step(buf []byte, last bool) (int, status) {
	c := buf[0]
	switch v.state {
	case expString, expTripleQuote:
		return v.inString(buf, last)
	case expNumber:
		if c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-' {
			return v.letter(c)
		}
		return 0, v.endWord()
	case expWord:
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return v.letter(c)
		}
		return 0, v.endWord()
	case expBareValue:
		if c == ',' || c == '}' || c == ']' || c == '\n' {
			return 0, v.endBare()
		}
		if c == symbol || bytes.IndexByte([]byte("{[\"<"), c) >= 0 {
			return 0, bad
		}
		return v.letter(c)
	case expBareKey:
		if c == ':' {
			v.writeString(bytes.TrimRight(v.word, " \t\r\n"))
			v.word = v.word[:0]
			return 1, v.colon(c)
		}
		if c == symbol || bytes.IndexByte([]byte(",{}[]\"\n"), c) >= 0 {
			return 0, bad
		}
		return v.letter(c)
	}
	if isBlank(c) {
		if v.dialect == JSON && len(v.open) > 0 {
			v.out = append(v.out, c)
		}
		return 1, more
	}
	switch v.state {
	case expColon:
		return 1, v.colon(c)
	case expFirstKey, expKey:
		if c == '}' && v.state == expFirstKey {
			return 1, v.close(c)
		}
		return v.key(buf, last)
	case expNext:
		switch {
		case c == '}' || c == ']':
			return 1, v.close(c)
		case c != ',':
			return 0, bad
		}
		v.out = append(v.out, ',')
		v.state = expValue
		if v.open[len(v.open)-1] == '{' {
			v.state = expKey
		}
		return 1, more
	case expFirstItem:
		if c == ']' {
			return 1, v.close(c)
		}
	}
	return v.value(buf, last)
}

func (v *transcoder) colon(c byte) status {
	if c != ':' {
		return bad
	}
	v.out = append(v.out, ':')
	v.isKey, v.state = false, expValue
	return more
}

func (v *transcoder) letter(c byte) (int, status) {
	if len(v.word) >= maxWord {
		return 0, bad
	}
	v.word = append(v.word, c)
	return 1, more
}

// maxWord is the longest number or bare key.
const maxWord = 256

// value takes the beginning of a value.
func (v *transcoder) value(buf []byte, last bool) (int, status) {
	c := buf[0]
	switch {
	case c == '{' || c == '[':
		if len(v.open) >= v.maxDepth {
			return 0, bad
		}
		v.open = append(v.open, c)
		v.out = append(v.out, c)
		v.state = expFirstItem
		if c == '{' {
			v.state = expFirstKey
		}
		return 1, more
	case v.dialect == Gemma && c != '"' && c != symbol && c != v.quotes[0] && bytes.IndexByte([]byte(",}]"), c) < 0:
		v.state = expBareValue
		return v.letter(c)
	case c >= '0' && c <= '9' || c == '-':
		v.state = expNumber
		return v.letter(c)
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		// A word is known by its first letter, so that what cannot be one is
		// bad at once.
		if bytes.IndexByte([]byte("tfnTFN"), c) < 0 || v.dialect == JSON && c < 'a' {
			return 0, bad
		}
		v.state = expWord
		return v.letter(c)
	}
	return v.startString(buf, last)
}

// key takes the beginning of a key.
func (v *transcoder) key(buf []byte, last bool) (int, status) {
	v.isKey = true
	c := buf[0]
	if v.dialect == Gemma && c != '"' && !bytes.HasPrefix([]byte(v.quotes), buf[:min(len(buf), len(v.quotes))]) {
		if c == symbol {
			return 0, bad
		}
		v.state = expBareKey
		return v.letter(c)
	}
	return v.startString(buf, last)
}

func (v *transcoder) startString(buf []byte, last bool) (int, status) {
	c := buf[0]
	v.raw = false
	switch {
	case c == '"' || v.dialect == Python && c == '\'':
		if v.dialect == Python && len(buf) < 3 && !last && (len(buf) == 1 || buf[1] == c) {
			return 0, wait
		}
		v.quote, v.state = string(buf[:1]), expString
		if v.dialect == Python {
			if len(buf) >= 3 && buf[1] == c && buf[2] == c {
				v.quote, v.state = string(buf[:3]), expTripleQuote
			}
		}
	case v.dialect == Gemma && v.quotes != "":
		switch n, m := prefixed(buf, v.quotes, last); m {
		case matchYes:
			v.quote, v.raw, v.state = v.quotes, true, expString
			v.out = append(v.out, '"')
			return n, more
		case matchMaybe:
			return 0, wait
		}
		return 0, bad
	default:
		return 0, bad
	}
	v.out = append(v.out, '"')
	return len(v.quote), more
}

// inString reads some of a string.
func (v *transcoder) inString(buf []byte, last bool) (int, status) {
	switch n, m := prefixed(buf, v.quote, last); m {
	case matchYes:
		v.out = append(v.out, '"')
		return n, v.endValue()
	case matchMaybe:
		return 0, wait
	}
	c := buf[0]
	switch {
	case c == '\\' && !v.raw:
		return v.escape(buf)
	case c == symbol:
		if len(buf) < 2 {
			return 0, wait
		}
		v.writeText([]byte(v.spell(buf[1])))
		return 2, more
	case c < 0x20 || v.raw && (c == '"' || c == '\\') || c == '"':
		v.writeText(buf[:1])
		return 1, more
	}
	n := 1
	for n < len(buf) && buf[n] >= 0x20 && buf[n] != '"' && buf[n] != '\\' && buf[n] != symbol && buf[n] != v.quote[0] {
		n++
	}
	v.out = append(v.out, buf[:n]...)
	return n, more
}

// escape reads an escape, which begins with a backslash.
func (v *transcoder) escape(buf []byte) (int, status) {
	if len(buf) < 2 {
		return 0, wait
	}
	c := buf[1]
	if c == 'u' || c == 'x' && v.dialect == Python || c == 'U' && v.dialect == Python {
		digits := map[byte]int{'u': 4, 'x': 2, 'U': 8}[c]
		r := rune(0)
		for i := range digits {
			if 2+i >= len(buf) {
				return 0, wait
			}
			d := hexDigit(buf[2+i])
			if d < 0 {
				return 0, bad
			}
			r = r<<4 | rune(d)
		}
		if c == 'u' {
			v.out = append(v.out, buf[:6]...)
		} else {
			v.writeText(utf8.AppendRune(nil, r))
		}
		return 2 + digits, more
	}
	if bytes.IndexByte([]byte(`"\/bfnrt`), c) >= 0 {
		v.out = append(v.out, '\\', c)
		return 2, more
	}
	if v.dialect != Python {
		return 0, bad
	}
	switch c {
	case '\'':
		v.out = append(v.out, '\'')
	case '\n':
	case 'a':
		v.writeText([]byte{7})
	case 'v':
		v.writeText([]byte{11})
	case '0':
		v.writeText([]byte{0})
	default: // Python keeps the backslash of escapes it does not know
		v.out = append(v.out, '\\', '\\')
		return 1, more
	}
	return 2, more
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// writeText writes text as the inside of a JSON string.
func (v *transcoder) writeText(text []byte) { v.out = appendEscaped(v.out, text) }

func (v *transcoder) writeString(text []byte) {
	v.out = append(v.out, '"')
	v.writeText(text)
	v.out = append(v.out, '"')
}

// appendEscaped appends text as the inside of a JSON string.
func appendEscaped(out, text []byte) []byte {
	const hex = "0123456789abcdef"
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, `\n`...)
		case c == '\r':
			out = append(out, `\r`...)
		case c == '\t':
			out = append(out, `\t`...)
		case c < 0x20:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return out
}

// endWord ends a number or a word.
func (v *transcoder) endWord() status {
	word := string(v.word)
	v.word = v.word[:0]
	if v.state == expNumber {
		if !spellsNumber(word) {
			return bad
		}
		v.out = append(v.out, word...)
		return v.endValue()
	}
	switch word {
	case "true", "false", "null":
	case "True", "False", "None":
		if v.dialect == JSON {
			return bad
		}
		word = map[string]string{"True": "true", "False": "false", "None": "null"}[word]
	default:
		return bad
	}
	v.out = append(v.out, word...)
	return v.endValue()
}

// spellsNumber reports whether word is a number of JSON.
func spellsNumber(word string) bool {
	digits := func() bool {
		n := 0
		for n < len(word) && word[n] >= '0' && word[n] <= '9' {
			n++
		}
		word = word[n:]
		return n > 0
	}
	if word != "" && word[0] == '-' {
		word = word[1:]
	}
	if len(word) > 1 && word[0] == '0' && word[1] >= '0' && word[1] <= '9' {
		return false
	}
	if !digits() {
		return false
	}
	if word != "" && word[0] == '.' {
		word = word[1:]
		if !digits() {
			return false
		}
	}
	if word != "" && (word[0] == 'e' || word[0] == 'E') {
		word = word[1:]
		if word != "" && (word[0] == '+' || word[0] == '-') {
			word = word[1:]
		}
		if !digits() {
			return false
		}
	}
	return word == ""
}

// endBare ends a value of Gemma without quotes: a number, a word, or a string
// that should have had them.
func (v *transcoder) endBare() status {
	word := bytes.TrimRight(v.word, " \t\r")
	v.word = v.word[:0]
	if text := string(word); spellsNumber(text) || text == "true" || text == "false" || text == "null" {
		v.out = append(v.out, word...)
	} else {
		v.writeString(word)
	}
	return v.endValue()
}

func (v *transcoder) endValue() status {
	if v.isKey {
		v.state = expColon
		return more
	}
	v.state = expNext
	if len(v.open) == 0 {
		return done
	}
	return more
}

func (v *transcoder) close(c byte) status {
	if v.open[len(v.open)-1] != c-2 { // '{' and '}', '[' and ']' are two apart
		return bad
	}
	v.open = v.open[:len(v.open)-1]
	v.out = append(v.out, c)
	return v.endValue()
}
