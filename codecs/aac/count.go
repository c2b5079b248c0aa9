package aac

// Counting what quantised coefficients cost under the codebooks.

// tooDear is the cost of a codebook that cannot hold a value.
const tooDear = 1 << 14

// largest are the magnitudes a codebook holds.
var largest = [12]int{0, 1, 1, 2, 2, 4, 4, 7, 7, 12, 12, maxQuantum}

// firstBook returns the first codebook that holds values up to m.
func firstBook(m int) int {
	for b := 1; ; b += 2 {
		if m <= largest[b] {
			return b
		}
	}
}

// beyond is how many codebooks after the first that holds a part are tried for it:
// those its neighbours may have.
const beyond = 4

// count sets bits to what the values q cost under each codebook, and returns the least. m
// is the largest of their magnitudes.
func (w *words) count(q, sizes []int16, m int, bits *[12]uint16) uint16 {
	for b := range bits {
		bits[b] = tooDear
	}
	if m == 0 {
		bits[zeroBook] = 0
	}
	least := uint16(tooDear)
	first := firstBook(m)
	for b := first; b <= min(first+beyond-1, escapeBook); b++ {
		shape := &shapes[b-1]
		v := sizes
		if shape.signed {
			v = q
		}
		bits[b] = uint16(min(w.cost[b-1].of(v, shape), tooDear))
		least = min(least, bits[b])
	}
	return least
}

// of is what the values q cost, escapes included. They are magnitudes where the codebook
// has no signs.
func (c costs) of(q []int16, s *bookShape) int {
	sum := 0
	switch {
	case s.values == 4:
		zero := s.zero()
		for ; len(q) >= 4; q = q[4:] {
			sum += int(c[27*int(q[0])+9*int(q[1])+3*int(q[2])+int(q[3])+zero])
		}
	case s.base <= escape:
		base, zero := s.base, s.zero()
		for ; len(q) >= 2; q = q[2:] {
			sum += int(c[base*int(q[0])+int(q[1])+zero])
		}
	default:
		for ; len(q) >= 2; q = q[2:] {
			x, y := int(q[0]), int(q[1])
			if x >= escape {
				sum += escapeBits(x)
				x = escape
			}
			if y >= escape {
				sum += escapeBits(y)
				y = escape
			}
			sum += int(c[17*x+y])
		}
	}
	return sum
}

func magnitude(v int16) int { return int(max(v, -v)) }
