package aac

import (
	"math"
	"slices"
)

// A path is the search for the scalefactors of a spectrum. What a part costs depends on
// the scalefactor before, of which a difference is coded: so the best way to every
// scalefactor is kept from part to part (Viterbi).
type path struct {
	cost, next [257]float32 // the last for no scalefactor yet
	live, then []int16      // scalefactors there is a way to
	back       [maxParts][257]step
}

// A step is how a scalefactor was reached.
type step struct {
	from  int16
	coded bool // the part has this scalefactor; else it is zero
}

const (
	unset = 256 // no scalefactor yet

	finer, coarser = 2, 2 // scalefactors tried on either side of what the target asks for

	longestScale = 19 // bits of a difference
)

// choose finds scalefactors for noise of 2^(level/8) times the targets, and returns their
// bits. What is made least is bits plus the price of noise.
func (s *coding) choose(w *words, level int) int {
	f := &s.path
	f.live = append(f.live[:0], unset)
	f.cost[unset] = 0
	noise := math.Exp2(float64(level) / 8)
	for p := range s.parts {
		price := float32(s.price[p] / noise)
		back := &f.back[p]
		f.then = f.then[:0]
		// Nothing is left of the part.
		nothing := float32(s.energy[p]*float64(s.lines[p])) * price
		low := float32(math.Inf(1))
		for _, at := range f.live {
			c := f.cost[at] + nothing
			f.next[at], back[at] = c, step{at, false}
			f.then = append(f.then, at)
			low = min(low, c)
		}
		if !s.silent[p] && 3*s.energy[p] > noise*s.target[p] {
			middle := int(math.Round(s.middle[p] + float64(level)/3))
			first := max(min(middle-finer, 255), s.limit[p], 0)
			for scale := first; scale <= min(max(middle+coarser, first), 255); scale++ {
				t := s.try(w, p, scale)
				if t.largest == 0 {
					break
				}
				c := float32(t.least) + t.noise*price
				if before, from := f.reach(w, scale); from >= 0 && f.arrive(scale, c+before) {
					back[scale] = step{from, true}
					low = min(low, c+before)
				}
			}
		}
		// What is dearer than the best way and any difference is no part of the best.
		f.live = f.live[:0]
		for _, at := range f.then {
			if f.next[at] <= low+longestScale {
				f.cost[at] = f.next[at]
				f.live = append(f.live, at)
			}
		}
	}
	best := f.live[0]
	for _, at := range f.live {
		if f.cost[at] < f.cost[best] {
			best = at
		}
	}
	return s.follow(w, best)
}

// reach returns the least cost of a way to a scalefactor, with the bits of the difference,
// and where it comes from; -1 if no difference is small enough.
func (f *path) reach(w *words, scale int) (least float32, from int16) {
	least, from = float32(math.Inf(1)), -1
	for _, at := range f.live {
		bits := float32(1)
		if at != unset {
			d := scale - int(at) + 60
			if uint(d) >= uint(len(w.scale)) {
				continue
			}
			bits = float32(w.scale[d].n)
		}
		if c := f.cost[at] + bits; c < least {
			least, from = c, at
		}
	}
	return least, from
}

// arrive adds a way to a scalefactor, and reports whether it is the best there is.
func (f *path) arrive(scale int, cost float32) bool {
	here := int16(scale)
	if !slices.Contains(f.then, here) {
		f.then = append(f.then, here)
	} else if f.next[here] <= cost {
		return false
	}
	f.next[here] = cost
	return true
}

// follow takes the way back from a scalefactor, and returns the bits of scalefactors.
func (s *coding) follow(w *words, at int16) int {
	bits := 0
	for p := s.parts - 1; p >= 0; p-- {
		b := s.path.back[p][at]
		s.chosen[p] = &s.zeros[p]
		if b.coded {
			s.scales[p] = int(at)
			s.chosen[p] = s.try(w, p, int(at))
			if b.from == unset {
				bits++
			} else {
				bits += int(w.scale[int(at)-int(b.from)+60].n)
			}
		}
		at = b.from
	}
	return bits
}
