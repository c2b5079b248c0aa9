package g2p

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
	"unicode/utf8"
)

// An expression is a regular expression with what its text shows of every match: which
// characters it may begin with, sets of which it holds one each, and how long it is at most.
// That tells of most texts, for less than a try, that it does not match.
type expression struct {
	*regexp.Regexp
	first runes
	needs []runes
	size  int // of windows, in which it is tried
}

// runes is a set of characters; those that are not ASCII are in it together or not at all.
type runes struct {
	ascii [2]uint64
	other bool
}

func (s *runes) add(lo, hi rune) {
	for r := lo; r <= min(hi, 0x7f); r++ {
		s.ascii[r>>6] |= 1 << (r & 63)
	}
	s.other = s.other || hi > 0x7f
}

func (s *runes) join(t runes) {
	s.ascii[0] |= t.ascii[0]
	s.ascii[1] |= t.ascii[1]
	s.other = s.other || t.other
}

func (s *runes) has(c byte) bool {
	return c >= 0x80 && s.other || c < 0x80 && s.ascii[c>>6]>>(c&63)&1 != 0
}

func (s *runes) meets(t *runes) bool {
	return s.ascii[0]&t.ascii[0]|s.ascii[1]&t.ascii[1] != 0 || s.other && t.other
}

// windows are how much of a text an expression may look at, in bytes.
var windows = [...]int{12, 24, 48, longest}

// A view is the beginning of a text, and what characters each window of it holds.
type view struct {
	text string
	held [len(windows)]runes
}

func (v *view) look(text string) {
	v.text = text[:min(len(text), longest)]
	k := 0
	for i := range len(v.text) {
		for i == windows[k] {
			v.held[k+1] = v.held[k]
			k++
		}
		v.held[k].add(rune(v.text[i]), rune(v.text[i]))
	}
	for k++; k < len(windows); k++ {
		v.held[k] = v.held[k-1]
	}
}

// match returns the groups of e where the view begins, or nil.
func (e *expression) match(v *view) []string {
	if v.text == "" || !e.first.has(v.text[0]) {
		return nil
	}
	for k := range e.needs {
		if !e.needs[k].meets(&v.held[e.size]) {
			return nil
		}
	}
	return e.FindStringSubmatch(v.text[:min(len(v.text), windows[e.size])])
}

// re compiles an expression, which is tried where a text begins, when it is first used. It is
// not inlined, as lazy is not.
//
//go:noinline
func re(s string) func() *expression {
	return sync.OnceValue(func() *expression {
		e := &expression{Regexp: regexp.MustCompile(`^(?:` + s + `)`)}
		tree, err := syntax.Parse(s, syntax.Perl)
		if err != nil {
			panic(err)
		}
		var empty bool
		if e.first, empty = begins(tree); empty {
			e.first = runes{[2]uint64{^uint64(0), ^uint64(0)}, true}
		}
		e.needs = needs(tree)
		length := longestMatch(tree) + utf8.UTFMax // and what \b looks at
		for e.size < len(windows)-1 && windows[e.size] < length {
			e.size++
		}
		return e
	})
}

// begins returns what a match may begin with, and whether it may be empty.
func begins(r *syntax.Regexp) (set runes, empty bool) {
	switch r.Op {
	case syntax.OpLiteral:
		return literal(r, r.Rune[0]), false
	case syntax.OpCharClass:
		return class(r), false
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		set.add(0, utf8.MaxRune)
		return set, false
	case syntax.OpCapture, syntax.OpPlus:
		return begins(r.Sub[0])
	case syntax.OpStar, syntax.OpQuest:
		set, _ = begins(r.Sub[0])
		return set, true
	case syntax.OpRepeat:
		set, empty = begins(r.Sub[0])
		return set, empty || r.Min == 0
	case syntax.OpConcat:
		for _, sub := range r.Sub {
			t, ok := begins(sub)
			if set.join(t); !ok {
				return set, false
			}
		}
		return set, true
	case syntax.OpAlternate:
		for _, sub := range r.Sub {
			t, ok := begins(sub)
			set.join(t)
			empty = empty || ok
		}
		return set, empty
	}
	return set, true
}

// needs returns sets of which a match holds one character each. Large sets tell little.
func needs(r *syntax.Regexp) []runes {
	switch r.Op {
	case syntax.OpLiteral:
		var out []runes
		for _, c := range r.Rune {
			out = append(out, literal(r, c))
		}
		return out
	case syntax.OpCharClass:
		return []runes{class(r)}
	case syntax.OpCapture, syntax.OpPlus:
		return needs(r.Sub[0])
	case syntax.OpRepeat:
		if r.Min > 0 {
			return needs(r.Sub[0])
		}
	case syntax.OpConcat:
		var out []runes
		for _, sub := range r.Sub {
			for _, n := range needs(sub) {
				if !slices.Contains(out, n) {
					out = append(out, n)
				}
			}
		}
		return out
	case syntax.OpAlternate:
		var set runes
		for _, sub := range r.Sub {
			n := needs(sub)
			if len(n) == 0 {
				return nil
			}
			set.join(n[0])
		}
		return []runes{set}
	}
	return nil
}

func literal(r *syntax.Regexp, c rune) (set runes) {
	set.add(c, c)
	if r.Flags&syntax.FoldCase != 0 {
		if l := c | 0x20; l >= 'a' && l <= 'z' {
			set.add(l, l)
			set.add(l-0x20, l-0x20)
		}
		set.other = true
	}
	return set
}

func class(r *syntax.Regexp) (set runes) {
	for k := 0; k+1 < len(r.Rune); k += 2 {
		set.add(r.Rune[k], r.Rune[k+1])
	}
	return set
}

// longestMatch is the most bytes a match takes, or more than any window has.
func longestMatch(r *syntax.Regexp) int {
	n := 0
	switch r.Op {
	case syntax.OpLiteral:
		for _, c := range r.Rune {
			if n += utf8.RuneLen(c); r.Flags&syntax.FoldCase != 0 {
				n += utf8.UTFMax
			}
		}
	case syntax.OpCharClass:
		if len(r.Rune) > 0 {
			n = utf8.RuneLen(r.Rune[len(r.Rune)-1])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = utf8.UTFMax
	case syntax.OpCapture, syntax.OpQuest:
		n = longestMatch(r.Sub[0])
	case syntax.OpStar, syntax.OpPlus:
		n = longest
	case syntax.OpRepeat:
		if n = longest; r.Max >= 0 {
			n = r.Max * longestMatch(r.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range r.Sub {
			n += longestMatch(sub)
		}
	case syntax.OpAlternate:
		for _, sub := range r.Sub {
			n = max(n, longestMatch(sub))
		}
	}
	return min(n, longest)
}
