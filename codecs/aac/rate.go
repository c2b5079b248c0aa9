package aac

import (
	"math"

	"quern/codecs/internal/bitio"
)

// A rate decides how many bits a unit gets.
type rate struct {
	bits, rest, per int     // a unit's share is bits and rest/per of one
	sum             int     // of rests
	most            int     // bits of a unit
	room            int     // of the reservoir
	fill            int     // bits in it
	usual           float64 // level
	heard           int     // units that were not silent, up to patience
}

const (
	// Levels are eighths of a power of two of noise over its target.
	finest, coarsest = -240, 480

	// Of the bits by which a unit differs from its share at the usual level, it gets
	// this part; the reservoir comes back to where it rests in so many units; and the
	// usual level is the mean of about so many.
	elastic  = 0.5
	horizon  = 12
	patience = 24
)

func (r *rate) init(hz, channels, bitrate, overhead int) {
	r.bits, r.rest, r.per = bitrate*maxFrame/hz-overhead, bitrate*maxFrame%hz, hz
	r.most = maxBits * channels
	r.room = max(0, r.most-r.bits-8)
}

// level is the usual one, as a factor.
func (r *rate) level() float64 { return math.Exp2(r.usual / 8) }

// share adds a unit's bits to the reservoir and returns how many it may have.
func (r *rate) share() int {
	r.fill += r.bits
	if r.sum += r.rest; r.sum >= r.per {
		r.sum -= r.per
		r.fill++
	}
	return min(r.fill, r.most)
}

// fit chooses the scalefactors and codebooks of a unit.
func (e *Encoder) fit() {
	r := &e.rate
	limit := r.share() &^ 7
	usual := int(math.Round(r.usual))
	needs := e.cost(usual)
	before, rest := r.fill-r.bits, min(r.room/2, 2*r.bits)
	want := r.bits + int(elastic*float64(needs-r.bits)) + (before-rest)/horizon
	want = max(min(want, limit), min(limit, r.fill-r.room)) // no more than fits is left over
	if level := e.search(usual, needs, want); level > finest {
		r.heard = min(r.heard+1, patience)
		r.usual += (float64(level) - r.usual) / float64(r.heard)
	}
}

// search finds the finest level that takes no more than want bits, beginning at one that
// takes bits, and leaves what is chosen at it.
func (e *Encoder) search(level, bits, want int) int {
	lo, hi := finest-1, coarsest // too dear, and not
	below, above := 0, 0         // bits at them
	width := 1 + max(bits-want, want-bits)/64
	for {
		if bits <= want {
			hi, above = level, bits
		} else {
			lo, below = level, bits
		}
		if hi-lo <= 1 {
			break
		}
		switch {
		case lo < finest:
			level = max(hi-width, finest)
			width *= 2
		case hi == coarsest:
			level = min(lo+width, coarsest-1)
			width *= 2
		default: // where a line between them has it
			level = min(max(lo+(hi-lo)*(below-want)/max(below-above, 1), lo+1), hi-1)
		}
		bits = e.cost(level)
	}
	if level != hi {
		e.cost(hi)
	}
	return hi
}

// cost chooses scalefactors and codebooks for a level and returns the bits of the unit.
func (e *Encoder) cost(level int) int {
	bits := e.headBits()
	e.bands = 0
	d := &e.division
	for c := range e.channels {
		s := &e.pair[c]
		bits += s.choose(e.words, level)
		for p := range d.parts {
			if s.chosen[p].largest > 0 {
				e.bands = max(e.bands, p%d.bands+1)
			}
		}
	}
	for c := range e.channels {
		s := &e.pair[c]
		for g := range d.groups {
			from := g * d.bands
			bits += e.sections.choose(s.books[from:][:e.bands], s.chosen[from:][:e.bands], d.windows == 8)
		}
	}
	if e.mask == 1 {
		bits += d.groups * e.bands
	}
	return bits
}

// settle ends a unit, fills it up where the reservoir has no room for what it leaves, and
// takes its bits out of that.
func (r *rate) settle(w *bitio.Writer) {
	for {
		spare := r.fill - r.room - (w.Len()+endBits+7)&^7
		if spare < 8 {
			break
		}
		r.writeFill(w, spare/8)
	}
	w.Write(elementEnd, endBits)
	w.Align()
	r.fill -= w.Len()
}

// writeFill writes fill_element() of no more than n bytes in all, and as many as one may
// have.
func (r *rate) writeFill(w *bitio.Writer, n int) {
	const long, most = 15, 15 + 255 - 1
	n = min(n-1, most) // beside the element's own bits
	if n >= long {
		n--
	}
	w.Write(elementFill, 3)
	if n < long {
		w.Write(uint64(n), 4)
	} else {
		w.Write(long, 4)
		w.Write(uint64(n-long+1), 8)
	}
	for i := range n {
		if i == 0 {
			w.Write(0, 8) // EXT_FILL
		} else {
			w.Write(0xa5, 8)
		}
	}
}
