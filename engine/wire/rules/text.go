package rules

import (
	"slices"
	"strings"

	"quern/engine/grammar"
)

// words are text and the markers a format may write around it, where those are
// special tokens, which text is not.
func (m *maker) words(text *grammar.Node) *grammar.Node {
	var marks []*grammar.Node
	list := slices.Concat(m.f.Content, m.f.Drop)
	if m.f.Think.Again {
		list = append(append(list, m.f.Think.Open...), m.f.Think.Close)
	}
	for _, s := range list {
		if m.hasToken(s) {
			marks = append(marks, m.text(s))
		}
	}
	if marks == nil {
		return text
	}
	return m.b.Seq(text, m.b.Repeat(m.b.Seq(m.b.Alt(marks...), text), 0, grammar.Unbounded))
}

var blank = grammar.Chars(grammar.OneOf(" \n"))

// gap is white space between elements: none, a blank, or a line break and a few
// blanks.
func (m *maker) gap() *grammar.Node {
	return m.b.Lexeme(grammar.Or(grammar.Lit(""), grammar.Lit(" "), grammar.Concat(grammar.Repeat(grammar.Lit("\n"), 1, 2), grammar.Repeat(grammar.Lit(" "), 0, 20))))
}

// hasToken reports whether a special token is part of a marker. Text cannot
// spell such a marker.
func (m *maker) hasToken(text string) bool {
	_, tokens := m.cut(text)
	return len(tokens) > 0
}

// cut takes a marker apart into texts and the tokens after each but the last.
func (m *maker) cut(text string) (texts []string, tokens []int32) {
	from := 0
	for i := 0; m.o.Token != nil && i < len(text); i++ {
		for j := len(text); j > i+1; j-- {
			if id, ok := m.o.Token(text[i:j]); ok {
				texts, tokens = append(texts, text[from:i]), append(tokens, id)
				from, i = j, j-1
				break
			}
		}
	}
	return append(texts, text[from:]), tokens
}

// text is a marker: its special tokens as such, and its white space as the
// template prints it or none.
func (m *maker) text(marker string) *grammar.Node {
	texts, tokens := m.cut(marker)
	var parts []*grammar.Node
	for i, text := range texts {
		if text != "" {
			// Beside a token white space may be missing as it may between tags.
			inner := strings.Trim(text, " \n")
			head := i == 0 || strings.HasPrefix(inner, "<") || inner == ""
			tail := i == len(tokens) || strings.HasSuffix(inner, ">")
			parts = append(parts, m.b.Lexeme(loose(text, head, tail)))
		}
		if i < len(tokens) {
			parts = append(parts, m.b.Token(tokens[i]))
		}
	}
	return m.b.Seq(parts...)
}

// loose is text whose white space between two tags may be missing, as readers
// take it, and that at its ends if head and tail say so.
func loose(text string, head, tail bool) *grammar.Regex {
	var parts []*grammar.Regex
	blanks := func(gap string, missing bool) {
		switch {
		case gap == "":
		case missing:
			parts = append(parts, grammar.Opt(grammar.Lit(gap)))
		default:
			parts = append(parts, grammar.Lit(gap))
		}
	}
	inner := strings.TrimLeft(text, " \n")
	blanks(text[:len(text)-len(inner)], head)
	body := strings.TrimRight(inner, " \n")
	end := inner[len(body):]
	for from, i := 0, 1; i <= len(body); i++ {
		if i == len(body) {
			parts = append(parts, grammar.Lit(body[from:]))
			break
		}
		if before := strings.TrimRight(body[from:i], " \n"); body[i] == '<' && strings.HasSuffix(before, ">") && len(before) < i-from {
			parts = append(parts, grammar.Lit(before))
			blanks(body[from+len(before):i], true)
			from = i
		}
	}
	blanks(end, tail)
	return grammar.Concat(parts...)
}
