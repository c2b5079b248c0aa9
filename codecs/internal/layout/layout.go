// Package layout gives the order of channels when there are more than two.
//
// Every decoder under codecs returns channels in the order of
// WAVE_FORMAT_EXTENSIBLE (left, right, centre, LFE, back, side), whatever the
// order of its bit stream, so that one table of down-mixing weights is enough.
package layout

// FromVorbis[n] lists, for n channels in WAVE order, which channel of the order
// that Vorbis and Opus share each one is. Counts without an entry are left in
// their own order.
//
// Vorbis I specification, section 4.3.9; RFC 7845, section 5.1.1.2.
var FromVorbis = [9][]int{
	3: {0, 2, 1},
	5: {0, 2, 1, 3, 4},
	6: {0, 2, 1, 5, 3, 4},
	7: {0, 2, 1, 6, 5, 3, 4},
	8: {0, 2, 1, 7, 5, 6, 3, 4},
}

// Reorder puts the interleaved frames of x, of len(order) channels each, into
// the order given: channel i becomes what channel order[i] was.
func Reorder(x []float32, order []int) {
	n := len(order)
	var tmp [8]float32
	for len(x) >= n && n > 0 {
		copy(tmp[:n], x)
		for i, from := range order {
			x[i] = tmp[from]
		}
		x = x[n:]
	}
}
