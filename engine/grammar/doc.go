// Package grammar computes which tokens may come next, so that a text fits a
// grammar. It does not depend on JSON or on tokenizers' files.
//
// A front end builds a grammar with a Builder: rules over lexemes, which are
// regular expressions, and over special tokens. Compile makes a Grammar for one
// vocabulary, which many sequences use at once; each has a State.
//
//	b := grammar.NewBuilder(grammar.Limits{})
//	digits := grammar.Plus(grammar.Chars(grammar.Runes(grammar.RuneRange{Lo: '0', Hi: '9'})))
//	list := b.Rule("list")
//	value := b.Alt(b.Lexeme(digits), list)
//	b.Define(list, b.Seq(
//		b.Literal("["),
//		b.Opt(b.Seq(value, b.Repeat(b.Seq(b.Literal(","), value), 0, grammar.Unbounded))),
//		b.Literal("]")))
//	g, err := b.Compile(list, trie) // trie: grammar.NewTrie(grammar.Vocab{...}), once a model
//	s := g.New()
//	err = s.Mask(mask)   // one bit a token
//	err = s.Accept(id)   // the token that was drawn
//
// A State also reports whether one token fits (Allows), which bytes must come
// (Forced) and whether the text may end (MayEnd); it goes back (Rollback) and forks
// (Clone).
//
// For a front end:
//
//   - The meaning is that of a context-free grammar. Lexemes are not greedy and
//     are not ranked; the compiler joins small regular parts into one lexeme.
//   - Use one *Regex or *Node for what is the same: masks are remembered by lexeme.
//     A string of JSON should be one Lexeme, with its quotes, used everywhere.
//   - Alternatives of literals become one lexeme that is read like a trie. Prefer
//     Repeat to recursion: it costs the same for any bound.
//   - And, Not and Shortest are for lexemes. Not is over bytes, so intersect it.
//   - A rule that can never end, like a ::= "x" a, has no texts: alternatives that
//     need it are dropped, and a root without texts is an error (ErrNothing).
package grammar
