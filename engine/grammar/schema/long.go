package schema

import "quern/engine/grammar"

// Strings with a bound on their length that is no small one are read in pieces of so many characters,
// which the grammar counts. One lexeme for all of it would have states of its own, and masks,
// for every character that is left: 5 kB and 0.1 ms each, of which a grammar may have 32 MiB.
const (
	piece     = 64
	shortOnes = 2 * piece // bounds up to this one are counted by the lexeme
)

// long returns the strings that n matches if it bounds only their length, by more characters than
// a lexeme counts; otherwise nil.
func (c *compiler) long(n *node) *grammar.Node {
	if n.op != repeat || n.list[0] != anyChar || max(n.min, n.max) <= shortOnes {
		return nil
	}
	chars := func(low, high int, end string) *grammar.Node {
		k := part{low, high, end}
		if c.pieces[k] == nil {
			c.pieces[k] = c.b.Lexeme(grammar.Concat(grammar.Repeat(c.texts.spell(anyChar, false), low, high), grammar.Lit(end)))
		}
		return c.pieces[k]
	}
	count := func(low, high int) *grammar.Node { return c.b.Repeat(chars(piece, piece, ""), low, high) }
	rest := func(low, high int) *grammar.Node { return chars(low, high, `"`) } // what is behind whole pieces
	first, over := n.min/piece, n.min%piece
	begin := c.b.Seq(c.lexeme(quote), count(first, first))
	if n.max < 0 {
		return c.b.Seq(begin, rest(over, grammar.Unbounded))
	}
	more, last := n.max/piece-first, n.max%piece // pieces that may follow the first, and characters behind all of them
	if more == 0 {
		return c.b.Seq(begin, rest(over, last))
	}
	ways := []*grammar.Node{c.b.Seq(count(more, more), rest(0, last))}
	if over > 0 {
		ways = append(ways, rest(over, piece-1))
	} else {
		ways = append(ways, rest(0, piece-1))
	}
	if more > 1 {
		ways = append(ways, c.b.Seq(count(1, more-1), rest(0, piece-1)))
	}
	return c.b.Seq(begin, c.b.Alt(ways...))
}

var quote = grammar.Lit(`"`)

// A part is from low to high characters, and what stands behind them.
type part struct {
	low, high int
	end       string
}
