package jinja

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape decodes the inside of a string literal as Python does. Unknown
// escapes stay as written; a pair of surrogate escapes becomes one character.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		c := s[i+1]
		i += 2
		if at := strings.IndexByte(`\'"abfnrtv`, c); at >= 0 {
			b.WriteByte("\\'\"\a\b\f\n\r\t\v"[at])
			continue
		}
		switch {
		case c == '\n':
		case c >= '0' && c <= '7':
			n := rune(c - '0')
			for k := 0; k < 2 && i < len(s) && s[i] >= '0' && s[i] <= '7'; k++ {
				n = n<<3 | rune(s[i]-'0')
				i++
			}
			b.WriteRune(n)
		case c == 'x' || c == 'u' || c == 'U':
			r, n, err := hexEscape(s[i:], c)
			if err != nil {
				return "", err
			}
			i += n
			if utf16.IsSurrogate(r) && strings.HasPrefix(s[i:], `\u`) {
				if low, n, err := hexEscape(s[i+2:], 'u'); err == nil {
					if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
						r = pair
						i += 2 + n
					}
				}
			}
			b.WriteRune(r)
		case c == 'N':
			return "", errors.New(`character names (\N{…}) are not supported`)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// hexEscape reads the digits after \x, \u or \U.
func hexEscape(s string, kind byte) (r rune, n int, err error) {
	n = map[byte]int{'x': 2, 'u': 4, 'U': 8}[kind]
	if len(s) < n {
		return 0, 0, errors.New("truncated escape in string")
	}
	v, err := strconv.ParseUint(s[:n], 16, 32)
	if err != nil || v > utf8.MaxRune {
		return 0, 0, errors.New("malformed escape in string")
	}
	return rune(v), n, nil
}

// parseFloatLiteral reads a float as the lexer found it.
func parseFloatLiteral(s string) Value {
	f, _ := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64) // too large is infinity, as in Python
	return Float(f)
}
