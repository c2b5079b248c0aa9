// Package pretoken cuts text into the pieces that a tokenizer encodes apart.
//
// A pre-tokenizer is a list of patterns, each of which cuts the pieces that the one
// before leaves. New compiles them to tables that read a character once, and a Cursor
// walks over the pieces. All holds the lists that model files have names for.
package pretoken

import "unicode/utf8"

// A Splitter cuts text into the pieces that are encoded apart: each of its
// passes cuts the pieces of the one before. What a pass does not recognise
// it leaves in one piece.
//
// A piece is a text of its own: \s+(?!\S) at the end of a piece matches even
// when more text follows the piece.
type Splitter struct {
	passes []cutter
}

// A cutter is one pass: a pattern whose matches become pieces, or a function
// for what no dfa can do.
type cutter struct {
	dfa  *dfa
	cuts func(p *place) (start, end int)
}

// New compiles patterns as tokenizers write them.
func New(patterns []string) (*Splitter, error) {
	s := &Splitter{passes: make([]cutter, len(patterns))}
	var texts []string
	for i, text := range patterns {
		if s.passes[i].cuts = byHand[text]; s.passes[i].cuts != nil {
			continue
		}
		text, _, err := TranslateRegex(text)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	list, err := newDFAs(texts)
	if err != nil {
		return nil, err
	}
	for i := range s.passes {
		if s.passes[i].cuts == nil {
			s.passes[i].dfa, list = list[0], list[1:]
		}
	}
	return s, nil
}

// MaxPasses bounds the passes of a splitter.
const MaxPasses = 16

// A place is how far a pass has come in one piece.
type place struct {
	pass       int
	text       string
	at         int
	start, end int    // the next match, if end is beyond at
	gap, match uint64 // Classes in the text before the match and in the match
	within     uint64 // Classes in text

	hopeless      hopeless
	digits, limit int // see grouped and groupedWord
}

// A Cursor walks over the pieces of a text, without storing them. It holds
// one place for each pass that a piece is in.
type Cursor struct {
	splitter *Splitter
	depth    int
	places   [MaxPasses]place
	Steps    int // characters read, which tests bound
}

// Begin starts on a text.
func (c *Cursor) Begin(s *Splitter, text string) {
	c.splitter, c.depth = s, 0
	c.places[0] = place{text: text, within: ^uint64(0)}
}

// Next returns the next piece, "" after the last.
func (c *Cursor) Next() string {
	passes := c.splitter.passes
	for {
		p := &c.places[c.depth]
		if p.at >= len(p.text) {
			if c.depth == 0 {
				p.text = "" // the text may be large, and the cursor is kept
				return ""
			}
			c.depth--
			continue
		}
		if p.end <= p.at {
			c.find(p, &passes[p.pass])
		}
		piece, classes := "", uint64(0)
		if p.start > p.at {
			piece, classes = p.text[p.at:p.start], p.gap
			p.at = p.start
		} else {
			piece, classes = p.text[p.at:p.end], p.match
			p.at = p.end
		}
		k := p.pass + 1
		for k < len(passes) && passes[k].idle(classes) {
			k++
		}
		if k == len(passes) || len(piece) == 1 {
			return piece
		}
		c.depth++
		c.places[c.depth] = place{pass: k, text: piece, within: classes}
	}
}

// idle reports that a pass has no match in text of the given classes.
func (x *cutter) idle(classes uint64) bool { return x.dfa != nil && x.dfa.matters&classes == 0 }

// find finds the next match of a pass at or after p.at. Where there is none it
// is the empty one at the end.
func (c *Cursor) find(p *place, x *cutter) {
	if x.cuts != nil {
		p.start, p.end = x.cuts(p)
		p.gap, p.match = p.within, p.within
		return
	}
	d := x.dfa
	var gap uint64
	i := p.at
	for i < len(p.text) {
		b := p.text[i]
		if d.skip[b] {
			gap |= 1 << (d.chars.ascii[b&0x7F] & 63)
			i++
			continue
		}
		class, w := uint8(0), 1
		if b < utf8.RuneSelf {
			class = d.chars.ascii[b]
		} else {
			class, w = d.chars.wide(p.text, i)
		}
		if d.begins&bit(int(class)) != 0 {
			if end, classes := d.match(p.text, i, &p.hopeless, &c.Steps); end > i {
				c.Steps += i - p.at
				p.start, p.end, p.gap, p.match = i, end, gap, classes
				return
			}
		}
		gap |= bit(int(class))
		i += w
	}
	c.Steps += i - p.at
	p.start, p.end, p.gap = len(p.text), len(p.text), gap
}
