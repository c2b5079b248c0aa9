package aac

// escapeBits is how long the escape sequence of v is: n ones, a zero, and n+4 bits.
func escapeBits(v int) int {
	n := 4
	for v>>(n+1) != 0 {
		n++
	}
	return 2*n - 3
}

// A sectioning finds the codebooks of the parts of a group that are cheapest with the
// sections they make: a section is a run of parts with one codebook.
type sectioning struct {
	cost [12]int
	run  [12]int // of parts, in the section so far
	from [maxBands][12]uint8
}

// choose sets books for the bands of a group and returns the bits of sections and
// coefficients. bits are the costs of a band by codebook. A band of zeros under
// another codebook than 0 has a scalefactor, which repeats the one before for a bit.
func (s *sectioning) choose(books []uint8, parts []*trial, short bool) int {
	size, full := 5, 31
	if short {
		size, full = 3, 7
	}
	open := 4 + size
	total, best := 0, 0 // of all books after the band before
	for i, p := range parts {
		low, next := 1<<30, 0
		for b := range s.cost {
			c := int(p.bits[b])
			if c >= tooDear {
				s.cost[b], s.from[i][b] = 1<<29, uint8(b)
				continue
			}
			if p.largest == 0 && b != zeroBook {
				c++
			}
			// A new section, or the one that goes on; its length takes more bits
			// when it comes to a full field.
			begin, on := total+open, 1<<29
			if i > 0 {
				on = s.cost[b]
				if (s.run[b]+1)%full == 0 {
					on += size
				}
			}
			if begin < on {
				s.cost[b], s.run[b], s.from[i][b] = begin+c, 1, uint8(best)
			} else {
				s.cost[b], s.run[b], s.from[i][b] = on+c, s.run[b]+1, uint8(b)
			}
			if s.cost[b] < low {
				low, next = s.cost[b], b
			}
		}
		total, best = low, next
	}
	b := uint8(best)
	for i := len(parts) - 1; i >= 0; i-- {
		books[i] = b
		b = s.from[i][b]
	}
	return total
}
