package g2p

import "strings"

// Unclosed returns where the first formula or link of text begins that is read in another way
// once what follows closes it, and len(text) if there is none. What stands before is read as
// it would be of a longer text, but for the words at its end.
func Unclosed(text string) int {
	for i := 0; i < len(text); {
		k := strings.IndexAny(text[i:], `\$[`)
		if k < 0 {
			break
		}
		i += k
		n, open := closes(text[i:], i > 0 && joins(runeBefore(text[:i])))
		if open {
			return i
		}
		i += n
	}
	return len(text)
}

// closes returns how many bytes the formula or link rest begins with takes, or that of its sign
// where there is none. open says that more text may decide that. inside is set where a letter
// or a digit stands before.
func closes(rest string, inside bool) (n int, open bool) {
	if rest[0] == '[' {
		return 1, linkOpen(rest)
	}
	if rest == `\` || rest == "$" {
		return 1, true
	}
	head := rest[:min(len(rest), longestFormula)]
	for _, edge := range formulaEdges {
		inner, ok := strings.CutPrefix(head, edge[0])
		if !ok || edge[0][0] == '$' && inside {
			continue
		}
		inner, _, ok = strings.Cut(inner, edge[1])
		switch n := len(inner) + 2*len(edge[0]); {
		case ok && edge[0] == "$" && !formal(inner):
			continue
		case ok:
			return n, n == len(rest) && edge[1][0] == '$' // it may not end here
		case len(rest) < longestFormula && (edge[0] != "$" || formalYet(inner)):
			return 1, true
		}
	}
	return 1, false
}

// formalYet reports whether what stands behind a dollar sign may become a formula.
func formalYet(t string) bool {
	if t == "" || strings.ContainsAny(t, "\n") || strings.ContainsAny(t[:1], " ,.;") {
		return t == ""
	}
	return strings.ContainsAny(t, `\^_{}`) || longestRun(t) < 3 && !isDigit(t[0])
}

// linkOpen reports whether what rest begins with may become a link, or another mark in brackets.
func linkOpen(rest string) bool {
	head := rest[:min(len(rest), longestLabel)]
	mid := strings.IndexByte(head, ']')
	switch {
	case mid < 0:
		return len(rest) < longestLabel && strings.IndexByte(head[1:], '[') < 0
	case strings.IndexByte(head[1:mid], '[') >= 0:
		return false
	case mid+1 == len(rest):
		return true
	case rest[mid+1] != '(':
		return false
	}
	target := rest[mid+2:]
	return len(target) < longestTarget && strings.IndexByte(target, ')') < 0
}
