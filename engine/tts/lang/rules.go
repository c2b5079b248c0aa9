package lang

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// A table rewrites strings by rules that depend on what stands around: letters into
// sounds, and sounds into the sounds they become beside others.
//
// A line is "left [letters] right = sounds". At every place of a word the first rule
// whose letters and surroundings match is taken; without one, a character stays as it
// is. left and right are made of
//
//	a       this character
//	{abc}   one of these, {^abc} any but these
//	V       one of a class, which a line "V = aeiou" declares
//	#       the border of the word, which may stand in braces too
//	_       a space
//	x* x?   any number of x, or one or none
//
// Spaces mean nothing. A line that begins with ";" is a remark.
type table struct {
	rules func() map[rune][]rule
}

// A rule is one line of a table.
type rule struct {
	letters     []rune
	left, right []element // left is in the order of reading backwards
	sounds      string
}

// An element is what one place of a rule's surroundings may be.
type element struct {
	set    string
	not    bool
	repeat byte // '*', '?' or 0
}

// border stands before and behind a word.
const border = '#'

// newTable makes a table of lines, which are read when it is first used.
func newTable(lines string) table {
	return table{sync.OnceValue(func() map[rune][]rule {
		rules, err := parseRules(lines)
		if err != nil {
			panic("lang: " + err.Error()) // the tables are constants; a test reads them all
		}
		return rules
	})}
}

func parseRules(lines string) (map[rune][]rule, error) {
	out := map[rune][]rule{}
	classes := map[rune]string{}
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == ';' {
			continue
		}
		from, to, ok := strings.Cut(line, "=")
		from, to = strings.ReplaceAll(strings.ReplaceAll(from, " ", ""), "_", " "), strings.TrimSpace(to)
		left, rest, open := strings.Cut(from, "[")
		letters, right, closed := strings.Cut(rest, "]")
		switch {
		case ok && !open && utf8.RuneCountInString(from) == 1:
			r, _ := utf8.DecodeRuneInString(from)
			classes[r] = to
			continue
		case !ok || !open || !closed || letters == "":
			return nil, fmt.Errorf("%q is no rule", line)
		}
		r := rule{letters: []rune(letters), sounds: to}
		var err error
		if r.left, err = elements(left, classes); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		for i, j := 0, len(r.left)-1; i < j; i, j = i+1, j-1 {
			r.left[i], r.left[j] = r.left[j], r.left[i]
		}
		if r.right, err = elements(right, classes); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		out[r.letters[0]] = append(out[r.letters[0]], r)
	}
	return out, nil
}

func elements(s string, classes map[rune]string) ([]element, error) {
	var out []element
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		e := element{set: string(r)}
		switch {
		case r == '*' || r == '?':
			if len(out) == 0 || out[len(out)-1].repeat != 0 {
				return nil, fmt.Errorf("nothing stands before %c", r)
			}
			out[len(out)-1].repeat = byte(r)
			continue
		case r == '{':
			set, rest, ok := strings.Cut(s, "}")
			if !ok {
				return nil, fmt.Errorf("a brace is not closed")
			}
			e.set, e.not = strings.CutPrefix(set, "^")
			s = rest
		default:
			if class, ok := classes[r]; ok {
				e.set = class
			}
		}
		out = append(out, e)
	}
	return out, nil
}

func (e *element) matches(r rune) bool { return strings.ContainsRune(e.set, r) != e.not }

// around reports whether what stands at i of w, going by step, is as elements say.
func around(elements []element, w []rune, i, step int) bool {
	for k := range elements {
		e := &elements[k]
		at := rune(border)
		if i >= 0 && i < len(w) {
			at = w[i]
		}
		switch e.repeat {
		case 0:
			if !e.matches(at) {
				return false
			}
			i += step
			continue
		}
		for {
			if around(elements[k+1:], w, i, step) {
				return true
			}
			if i < 0 || i >= len(w) || !e.matches(w[i]) {
				return false
			}
			i += step
			if e.repeat == '?' {
				return around(elements[k+1:], w, i, step)
			}
		}
	}
	return true
}

// rewrite returns a word as the rules write it.
func (t *table) rewrite(word string) string {
	if t.rules == nil {
		return word
	}
	rules := t.rules()
	w := []rune(word)
	var b strings.Builder
next:
	for i := 0; i < len(w); {
		for k := range rules[w[i]] {
			r := &rules[w[i]][k]
			end := i + len(r.letters)
			if end > len(w) || string(w[i:end]) != string(r.letters) || !around(r.left, w, i-1, -1) || !around(r.right, w, end, 1) {
				continue
			}
			b.WriteString(r.sounds)
			i = end
			continue next
		}
		b.WriteRune(w[i])
		i++
	}
	return b.String()
}
