package pretoken

import "unicode/utf8"

// What no dfa can do: these two patterns count digits to the end of their run.
const (
	thousandsPattern     = `(?=(\d{3})+(?!\d))`
	thousandsWordPattern = `\d{1,3}(?=(?:\d{3})*\b)`
)

// byHand are the functions that stand for patterns. Each finds the first match
// at or after p.at.
var byHand = map[string]func(p *place) (start, end int){
	thousandsPattern:     thousands,
	thousandsWordPattern: thousandsWord,
}

// thousands cuts where groups of three decimal digits, counted from the right,
// begin. All it cuts are matches.
func thousands(p *place) (start, end int) {
	t := Classes()
	i := p.at
	for i < len(p.text) {
		if i >= p.limit {
			c, w := t.at(p.text, i)
			if c&digit == 0 {
				i += w
				continue
			}
			p.countDigits(t, i)
		}
		if p.digits%3 == 0 && i > p.at {
			break
		}
		_, w := t.at(p.text, i)
		i += w
		p.digits--
	}
	return p.at, i
}

// thousandsWord finds the same groups, but only where no letter, mark or
// underscore follows the digits.
func thousandsWord(p *place) (start, end int) {
	t := Classes()
	i := p.at
	for i < len(p.text) {
		if i >= p.limit {
			c, w := t.at(p.text, i)
			if c&digit == 0 {
				i += w
				continue
			}
			p.countDigits(t, i)
			if t.Peek(p.text, p.limit)&(letter|Mark|joiner) != 0 {
				i = p.limit
				continue
			}
		}
		n := p.digits % 3
		if n == 0 {
			n = 3
		}
		p.digits -= n
		return i, t.group(p.text, i, set{in: digit}, n)
	}
	return i, i
}

// countDigits notes how many digits there are from i on, and where they end.
func (p *place) countDigits(t *Table, i int) {
	p.limit = t.run(p.text, i, set{in: digit})
	p.digits = utf8.RuneCountInString(p.text[i:p.limit])
}
