package pretoken

import (
	"fmt"
	"regexp/syntax"
	"strings"
)

// What \s, \d and \w are in the engine of tokenizers.
const (
	reSpace = `\t-\r \x{85}\p{Z}`
	reDigit = `\p{Nd}`
	reWord  = `\p{L}\p{M}\p{Nd}\p{Pc}`
)

// TranslateRegex writes a pattern in Go's language, where \s and its like know
// ASCII only. (?!\S), the one look-ahead that a dfa has, becomes (?m:$); ahead
// says that there is one. A class may have others taken out, [A&&[^B]]. What
// else Go lacks is refused.
func TranslateRegex(text string) (_ string, ahead bool, err error) {
	if len(text) > maxRegex {
		return "", false, fmt.Errorf("%w: a pattern of %d bytes", ErrUnsupported, len(text))
	}
	refuse := func(what string) (string, bool, error) {
		return "", false, fmt.Errorf("%w: %s in the pattern %.100q of a tokenizer", ErrUnsupported, what, text)
	}
	var b strings.Builder
	b.WriteString("(?s)")
	class := -1 // where a class begins in b
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\':
			i++
			if i == len(text) {
				return refuse("a backslash at the end")
			}
			set, negated := "", false
			switch text[i] {
			case 's', 'S':
				set, negated = reSpace, text[i] == 'S'
			case 'd', 'D':
				set, negated = reDigit, text[i] == 'D'
			case 'w', 'W':
				set, negated = reWord, text[i] == 'W'
			case 'b', 'B', 'h', 'H', 'R', 'X', 'K', 'G', 'Z', 'k', 'g', 'A':
				return refuse(`\` + text[i:i+1])
			}
			switch {
			case set == "":
				b.WriteString(text[i-1 : i+1])
			case class >= 0 && negated:
				return refuse(`\` + text[i:i+1] + " in a class")
			case class >= 0:
				b.WriteString(set)
			case negated:
				b.WriteString("[^" + set + "]")
			default:
				b.WriteString("[" + set + "]")
			}
		case class >= 0 && strings.HasPrefix(text[i:], "&&[^"):
			out, rest, ok := strings.Cut(text[i+4:], "]]")
			if !ok || strings.ContainsAny(out, "[&") {
				return refuse("an intersection of classes")
			}
			left, err := less(b.String()[class:]+"]", "["+out+"]")
			if err != nil {
				return refuse("an intersection of classes")
			}
			all := b.String()[:class] + left
			b.Reset()
			b.WriteString(all)
			class, i = -1, len(text)-len(rest)-1
		case class >= 0:
			if c == '[' {
				return refuse("a class in a class")
			}
			if c == '&' && strings.HasPrefix(text[i:], "&&") {
				return refuse("an intersection of classes")
			}
			if c == ']' {
				class = -1
			}
			b.WriteByte(c)
		case c == '[':
			class = b.Len()
			b.WriteByte(c)
			if strings.HasPrefix(text[i+1:], "^") {
				i++
				b.WriteByte('^')
			}
		case strings.HasPrefix(text[i:], `(?!\S)`):
			ahead = true
			b.WriteString("(?m:$)")
			i += len(`(?!\S)`) - 1
		case c == '(':
			switch rest := text[i+1:]; {
			case strings.HasPrefix(rest, "?:"), strings.HasPrefix(rest, "?i:"), strings.HasPrefix(rest, "?i)"):
			case strings.HasPrefix(rest, "?"):
				return refuse("(?" + rest[1:min(2, len(rest))])
			}
			b.WriteByte(c)
		case c == '^' || c == '$':
			return refuse(string(c))
		default:
			b.WriteByte(c)
		}
	}
	if class >= 0 {
		return refuse("an open class")
	}
	return b.String(), ahead, nil
}

// less writes the class of what is in the first of two classes and not in the
// second.
func less(class, out string) (string, error) {
	var sets [2][]rune
	for i, text := range []string{class, out} {
		re, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return "", err
		}
		if re.Op != syntax.OpCharClass {
			return "", ErrUnsupported
		}
		sets[i] = re.Rune
	}
	var b strings.Builder
	b.WriteByte('[')
	in, minus := sets[0], sets[1]
	for i := 0; i < len(in); i += 2 {
		from, to := in[i], in[i+1]
		for j := 0; j < len(minus) && from <= to; j += 2 {
			if minus[j+1] < from || minus[j] > to {
				continue
			}
			if minus[j] > from {
				fmt.Fprintf(&b, `\x{%X}-\x{%X}`, from, minus[j]-1)
			}
			from = minus[j+1] + 1
		}
		if from <= to {
			fmt.Fprintf(&b, `\x{%X}-\x{%X}`, from, to)
		}
	}
	b.WriteByte(']')
	return b.String(), nil
}
