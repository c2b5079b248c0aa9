package vad

import (
	"context"
	"io"

	"quern/engine/asr/audio"
)

// A Cutter cuts the audio that a Gate passes on into chunks: at the end of the first stretch
// of speech that leaves at least so many samples. A chunk of the most samples there may
// be is cut at the end of a stretch where that leaves more than a third of it, else
// where it is quietest near the end.
type Cutter struct {
	g           *Gate
	least, most int     // samples of a chunk
	back        []Chunk // to be returned once more
	buf         []float32
	from        int   // place of buf[0] in the audio that the gate sent
	cuts        []int // ends of stretches in buf
	eof         bool
}

// A Chunk is audio with its place in the audio that a gate sent, and the source of that.
type Chunk struct {
	Audio  []float32
	At     int
	Pieces []Piece
}

// NewCutter returns a Cutter of the audio that g passes on.
func NewCutter(g *Gate, least, most int) *Cutter { return &Cutter{g: g, least: least, most: most} }

// Return has Next return chunks once more before others.
func (c *Cutter) Return(list []Chunk) { c.back = append(list, c.back...) }

// Next returns the next chunk; io.EOF after the last.
func (c *Cutter) Next(ctx context.Context) (Chunk, error) {
	if len(c.back) > 0 {
		ch := c.back[0]
		c.back = c.back[1:]
		return ch, nil
	}
	for len(c.buf) < c.most && !c.eof && !c.enough() {
		block := make([]float32, min(audio.Block, c.most-len(c.buf)))
		n, end, err := c.g.Read(ctx, block)
		c.buf = append(c.buf, block[:n]...)
		if end {
			c.cuts = append(c.cuts, len(c.buf))
		}
		if err == io.EOF {
			c.eof = true
		} else if err != nil {
			return Chunk{}, err
		}
	}
	if len(c.buf) == 0 {
		return Chunk{}, io.EOF
	}
	n := len(c.buf)
	switch {
	case c.eof:
	case c.enough():
		n = c.cuts[len(c.cuts)-1]
	default:
		n = Quietest(c.buf)
		for _, at := range c.cuts {
			if at > c.most/3 {
				n = at
			}
		}
	}
	c.g.Forget(c.from)
	out := Chunk{append([]float32(nil), c.buf[:n]...), c.from, append([]Piece(nil), c.g.Pieces()...)}
	c.buf = append(c.buf[:0], c.buf[n:]...)
	c.from += n
	var left []int
	for _, at := range c.cuts {
		if at > n {
			left = append(left, at-n)
		}
	}
	c.cuts = left
	return out, nil
}

// enough reports whether a stretch of speech ends where a chunk may.
func (c *Cutter) enough() bool {
	n := len(c.cuts)
	return n > 0 && c.cuts[n-1] >= c.least
}

// Quietest returns the middle of the tenth of a second with the least energy in
// the last three seconds of x.
func Quietest(x []float32) int {
	const span = audio.Rate / 10
	best, at := float32(-1), len(x)
	for from := max(0, len(x)-3*audio.Rate); from+span <= len(x); from += span / 2 {
		var sum float32
		for _, v := range x[from : from+span] {
			sum += v * v
		}
		if best < 0 || sum < best {
			best, at = sum, from+span/2
		}
	}
	return at
}
