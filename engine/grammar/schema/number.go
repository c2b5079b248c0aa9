package schema

import (
	"fmt"
	"math/big"
	"strings"
)

// Numbers are constrained as texts. A constraint allows plain decimals, -?1.50 and such;
// where there is any, exponents are not written. Bounds and divisors are automata over
// the digits, which the expressions' own intersection and complement combine.

var (
	zero      = chars('0', '0')
	digit     = chars('0', '9')
	wholePart = or(zero, seq(chars('1', '9'), times(digit, 0, -1)))
	minus     = times(chars('-', '-'), 0, 1)
	fraction  = seq(chars('.', '.'), times(digit, 1, -1))
	zeros     = seq(chars('.', '.'), times(zero, 1, -1))
	exponent  = seq(chars('E', 'E', 'e', 'e'), times(chars('+', '+', '-', '-'), 0, 1), times(digit, 1, -1))

	anyNumber = seq(minus, wholePart, times(fraction, 0, 1), times(exponent, 0, 1))
	decimal   = seq(minus, wholePart, times(fraction, 0, 1))
	whole     = seq(minus, wholePart, times(zeros, 0, 1))
)

// numeral are the texts of numbers that n allows; anything is any number.
func numeral(n *node) *node {
	switch n {
	case anything:
		return anyNumber
	case nothing:
		return nothing
	case whole:
		return whole
	}
	return and(decimal, n)
}

// exactly is one number, with zeros behind it or not.
func exactly(r *big.Rat) *node {
	text, point := plainDigits(r)
	n := seq(word(text), times(zeros, 0, 1))
	switch {
	case r.Sign() == 0:
		n = seq(minus, word("0"), times(zeros, 0, 1))
	case point:
		n = seq(word(text), times(zero, 0, -1))
	}
	n.number = r
	return n
}

// What is written is less than what is valid, so that every number comes to an end: a
// model that repeats itself would write digits as long as it may.
const (
	maxWritten = 64   // digits before and behind the point, beyond those that the schema has
	maxPower   = 4    // of an exponent
	maxCounted = 1000 // product of the divisors at which digits are counted as well
)

// writable are the texts of numerals that are written: whole numbers and enumerated ones
// without zeros behind the point, as clients read no others into integers, and others with so
// many digits. Digits of numbers under several large divisors are not counted: to tell which
// are left in how many digits takes too long.
func writable(n *node) *node {
	digits := maxWritten + n.digits()
	in := seq(minus, or(zero, seq(chars('1', '9'), times(digit, 0, digits-1))))
	part := times(seq(chars('.', '.'), times(digit, 1, digits)), 0, 1)
	switch {
	case n == anything:
		return seq(in, part, times(seq(chars('E', 'E', 'e', 'e'), times(chars('+', '+', '-', '-'), 0, 1), times(digit, 1, maxPower)), 0, 1))
	case n == whole:
		return integers(digits - 1)
	case n.divisors() > maxCounted:
		return and(decimal, shortest(n))
	}
	return and(seq(in, part), shortest(n))
}

// integers are whole numbers as programs write them, with so many digits behind the first at
// most; −1 is any number. There is no -0, which some read as a fraction.
func integers(digits int) *node {
	return or(zero, seq(minus, chars('1', '9'), times(digit, 0, digits)))
}

// shortest leaves out of n spellings with zeros at the end.
func shortest(n *node) *node {
	if n == whole {
		return integers(-1)
	}
	list := make([]*node, len(n.list))
	switch n.op {
	case both, either:
		for i, m := range n.list {
			list[i] = shortest(m)
		}
		if n.op == both {
			return and(list...)
		}
		return or(list...)
	case concat: // of exactly
		copy(list, n.list)
		if end := list[len(list)-1]; end.op == repeat && (end.list[0] == zeros || end.list[0] == zero) {
			list = list[:len(list)-1]
		}
		if list[0] == minus { // of 0
			list = list[1:]
		}
		return seq(list...)
	}
	return n
}

// digits is how many digits the numbers have that n was made of, at most.
func (n *node) digits() int {
	digits := max(n.figures, len(n.source))
	for _, m := range n.list {
		digits = max(digits, m.digits())
	}
	return digits
}

// divisors is the product of those of n, at most.
func (n *node) divisors() int {
	product := max(1, n.divisor)
	for _, m := range n.list {
		product = min(product*m.divisors(), maxCounted+1)
	}
	return product
}

// plainDigits writes r without exponent and without zeros at its end.
func plainDigits(r *big.Rat) (text string, point bool) {
	if r.IsInt() {
		return r.Num().String(), false
	}
	text = r.FloatString(2*maxDigits + 10)
	return strings.TrimRight(text, "0"), true
}

// An order is a set of outcomes of a comparison.
type order uint8

const (
	less order = 1 << iota
	same
	more
)

func outcome(sign int) order { return [3]order{less, same, more}[sign+1] }

// compared are the numbers that stand in one of the orders to b.
func compared(b *big.Rat, want order) (*node, error) {
	text, _ := plainDigits(new(big.Rat).Abs(b))
	in, frac, _ := strings.Cut(text, ".")
	// A state of reading: how far, and how what was read compares to as many digits of |b|.
	type state struct {
		negative, started, inFraction bool
		at                            int // digits read of this part, at most one more than b has
		cmp                           int
	}
	// magnitude compares what was read to |b|, if it ends here.
	magnitude := func(s state) int {
		switch {
		case s.cmp != 0 && s.inFraction:
			return s.cmp
		case !s.inFraction && s.at < len(in):
			return -1
		case !s.inFraction && s.at > len(in):
			return 1
		case s.cmp != 0:
			return s.cmp
		case !s.inFraction && frac != "", s.inFraction && s.at < len(frac):
			return -1
		}
		return 0
	}
	step := func(s state, c byte) (state, bool) {
		switch {
		case c == '-':
			ok := !s.negative && !s.started
			s.negative = true
			return s, ok
		case c == '.':
			ok := s.started && !s.inFraction
			if s.at != len(in) {
				s.cmp = magnitude(s)
			}
			s.inFraction, s.at = true, 0
			return s, ok
		}
		s.started = true
		part := in
		if s.inFraction {
			part = frac
		}
		if s.cmp == 0 {
			d := byte('0')
			if s.at < len(part) {
				d = part[s.at]
			}
			if s.inFraction || s.at < len(part) {
				s.cmp = sign(int(c) - int(d))
			}
		}
		limit := len(part)
		if !s.inFraction {
			limit++
		}
		s.at = min(s.at+1, limit)
		if s.inFraction && s.cmp != 0 {
			s.at = limit // nothing more matters
		}
		return s, true
	}
	accept := func(s state) bool {
		if !s.started {
			return false
		}
		m := magnitude(s)
		switch {
		case s.negative && b.Sign() > 0:
			m = -1
		case s.negative:
			m = -m
		case b.Sign() < 0:
			m = 1
		}
		return outcome(m)&want != 0
	}
	return automaton(len(in)+len(frac), state{}, step, accept)
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

var one = big.NewRat(1, 1)

// multiples are the numbers that d divides.
func multiples(d *big.Rat) (*node, error) {
	text, _ := plainDigits(d)
	in, frac, _ := strings.Cut(text, ".")
	p, ok := new(big.Int).SetString(in+frac, 10)
	if !ok || !p.IsInt64() || p.Int64() > maxStates {
		return nil, fmt.Errorf("%s has too many digits to divide by", text)
	}
	div := int(p.Int64())
	// d is div/10^len(frac): digits beyond those are zeros, and the number of all
	// digits up to there is divisible by div.
	type state struct {
		started, inFraction bool
		at, rest            int
	}
	step := func(s state, c byte) (state, bool) {
		switch {
		case c == '-':
			return s, !s.started
		case c == '.':
			ok := s.started && !s.inFraction
			s.inFraction = true
			return s, ok
		}
		s.started = true
		if s.inFraction {
			if s.at == len(frac) {
				return s, c == '0'
			}
			s.at++
		}
		s.rest = (10*s.rest + int(c-'0')) % div
		return s, true
	}
	accept := func(s state) bool {
		r := s.rest
		for range len(frac) - s.at {
			r = 10 * r % div
		}
		return s.started && r == 0
	}
	n, err := automaton(len(in)+len(frac), state{}, step, accept)
	if err == nil {
		n.divisor = div
	}
	return n, err
}

// maxStates bounds an automaton.
const maxStates = 20000
