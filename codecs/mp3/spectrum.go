package mp3

import "math"

// spectrum is one channel of one granule.
type spectrum struct {
	x   [lines]float32 // in the order of the bitstream
	end int            // lines from here on are zero
}

// bandGains returns 2^(q/4) for every band of g, q gathering all gains and
// scalefactors. The standard, 2.4.3.4.7.
func (t *tables) bandGains(gains *[39]float32, l *layout, g *granule, sf *scalefactors) {
	step := 2 << g.scale
	for i := range l.n {
		q := g.gain - 210
		s := int(sf.v[i])
		if i >= l.long {
			q -= 8 * g.subGain[l.win[i]]
		} else if g.preflag {
			s += int(pretab[i])
		}
		// At least -210 - 56 - 4·(15+3), at most 45.
		gains[i] = t.gain[q-step*s+gainZero]
	}
}

// decode reads the lines of g, from b to bit end, and scales them.
func (s *spectrum) decode(t *tables, b *bits, end int, g *granule, l *layout, gains *[39]float32) {
	x := &s.x
	big := 2 * g.bigValues
	band, bandEnd := 0, int(l.width[0])
	gain := gains[0]
	i := 0
	for region := range 3 {
		stop := big
		if region < 2 {
			stop = min(g.regions[region], big)
		}
		k := &t.books[g.tables[region]]
		if k.table == nil { // table 0: zeros, and the two that do not exist
			for ; i < stop; i++ {
				x[i] = 0
			}
			for i >= bandEnd && i < lines {
				band++
				bandEnd += int(l.width[band])
			}
			gain = gains[band]
			continue
		}
		for i < stop {
			for i >= bandEnd {
				band++
				bandEnd += int(l.width[band])
				gain = gains[band]
			}
			if b.pos >= end {
				stop, big = i, i
				break
			}
			w := b.peek()
			v, n := k.next(w)
			w <<= n
			p, q := v>>4, v&15
			// One word holds the longest code, 19 bits, twice 13 linbits and two signs.
			if k.linbits > 0 && p == 15 {
				p += uint32(w >> (64 - k.linbits))
				w <<= k.linbits
				n += k.linbits
			}
			var a, c float32
			if p != 0 {
				a = math.Float32frombits(math.Float32bits(t.pow43[p]*gain) | uint32(w>>32)&(1<<31))
				w <<= 1
				n++
			}
			if k.linbits > 0 && q == 15 {
				q += uint32(w >> (64 - k.linbits))
				w <<= k.linbits
				n += k.linbits
			}
			if q != 0 {
				c = math.Float32frombits(math.Float32bits(t.pow43[q]*gain) | uint32(w>>32)&(1<<31))
				n++
			}
			x[i&^1], x[i|1] = a, c
			i += 2
			b.pos += int(n)
		}
	}
	k := &t.books[32+g.count1]
	for i <= lines-4 && b.pos < end {
		w := b.peek()
		v, n := k.next(w)
		w <<= n
		var quad [4]float32
		for j := range quad {
			if v>>(3-j)&1 == 0 {
				continue
			}
			at := i + j
			for at >= bandEnd {
				band++
				bandEnd += int(l.width[band])
			}
			quad[j] = math.Float32frombits(math.Float32bits(gains[band]) | uint32(w>>32)&(1<<31))
			w <<= 1
			n++
		}
		b.pos += int(n)
		if b.pos > end { // the rest of a stuffed granule is no quadruple
			break
		}
		copy(x[i:i+4], quad[:])
		i += 4
	}
	s.end = i
	clear(x[i:])
}

// reorder brings the lines of short blocks from windows one after another into
// the order of the filter bank: the windows of each line together.
func (s *spectrum) reorder(l *layout) {
	var tmp [lines]float32
	for i := l.long; i < l.n; i += 3 {
		at, w := int(l.start[i]), int(l.width[i])
		if at >= s.end {
			break
		}
		in, out := s.x[at:at+3*w], tmp[:3*w]
		for j := range w {
			out[3*j] = in[j]
			out[3*j+1] = in[w+j]
			out[3*j+2] = in[2*w+j]
		}
		copy(in, out)
		s.end = max(s.end, at+3*w)
	}
}
