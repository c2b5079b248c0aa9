package mp3

import "math"

// midSide turns the sum and difference in l and r into left and right.
func midSide(l, r []float32) {
	const half = 1 / math.Sqrt2
	r = r[:len(l)]
	for i, m := range l {
		s := r[i]
		l[i], r[i] = (m+s)*half, (m-s)*half
	}
}

// isRatios are the factors of left and right by intensity position in MPEG-1; 6
// is all left. The standard, 2.4.3.4.9.3; it has no positions above 7, and decoders
// continue the formula.
var isRatios = func() (r [16][2]float32) {
	for i := range r {
		t := math.Tan(float64(i) * math.Pi / 12)
		r[i] = [2]float32{float32(t / (1 + t)), float32(1 / (1 + t))}
	}
	r[6] = [2]float32{1, 0}
	return r
}()

// intensity spreads the left lines over both channels in the bands above the
// last of the right channel's lines that are not zero, and applies ms to the rest.
// sf are the right channel's: positions in place of scalefactors. scale is
// intensity_scale of MPEG-2, -1 in MPEG-1.
//
// ISO/IEC 11172-3, 2.4.3.4.9; ISO/IEC 13818-3, 2.4.3.2.
func intensity(left, right *spectrum, l *layout, sf *scalefactors, ms bool, scale int) {
	// last band with something in it: of the long ones, and of each window.
	lastLong, lastShort := -1, [3]int{-1, -1, -1}
	for i := range l.n {
		at := int(l.start[i])
		if at >= right.end {
			break
		}
		for _, v := range right.x[at : at+int(l.width[i])] {
			if v == 0 {
				continue
			}
			if i < l.long {
				lastLong = i
			} else {
				lastShort[l.win[i]] = i
			}
			break
		}
	}
	if max(lastShort[0], lastShort[1], lastShort[2]) >= 0 {
		lastLong = l.long
	}
	for i := range l.n {
		lo, hi := int(l.start[i]), int(l.start[i])+int(l.width[i])
		a, b := left.x[lo:hi], right.x[lo:hi]
		if i < l.long && i > lastLong || i >= l.long && i > lastShort[l.win[i]] {
			// The last band has no position of its own: it takes its neighbour's.
			from := i
			if l.n == l.long && i == l.n-1 {
				from--
			} else if l.n > l.long && i >= l.n-3 {
				from -= 3
			}
			if ratio, ok := isRatio(sf, from, scale); ok {
				for j, v := range a {
					a[j], b[j] = v*ratio[0], v*ratio[1]
				}
				continue
			}
		}
		if ms {
			midSide(a, b)
		}
	}
	right.end = max(left.end, right.end)
	left.end = right.end
}

// isRatio returns the factors of the position of band i, false if it has none.
func isRatio(sf *scalefactors, i, scale int) ([2]float32, bool) {
	pos := int(sf.v[i])
	if sf.illegal[i] {
		return [2]float32{}, false
	}
	if scale < 0 {
		if pos >= len(isRatios) {
			return [2]float32{}, false
		}
		return isRatios[pos], true
	}
	// A quarter of a power of two a step, or half a one.
	f := float32(math.Exp2(-float64((pos+1)/2) * 0.25 * float64(1+scale)))
	if pos&1 != 0 {
		return [2]float32{f, 1}, true
	}
	return [2]float32{1, f}, true
}
