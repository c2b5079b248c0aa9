package mp3

// scalefactors are those of one channel, in the order of layout. Those of the
// last band, or three, are not sent and zero.
type scalefactors struct {
	v       [39]uint8
	illegal [39]bool // as an intensity position
}

// shareGroups are the bands that one bit of scfsi covers.
var shareGroups = [5]int{0, 6, 11, 16, 21}

// readMPEG1 reads the scalefactors of g; s holds those of the granule before.
func (s *scalefactors) readMPEG1(b *bits, g *granule) {
	slen := slens[g.compress]
	s.illegal = [39]bool{}
	if g.kind() == kindLong {
		for k := range 4 {
			if g.shared<<k&8 != 0 {
				continue
			}
			n := slen[k/2]
			for i := shareGroups[k]; i < shareGroups[k+1]; i++ {
				s.v[i] = uint8(b.read(uint(n)))
			}
		}
		for i := 21; i < 39; i++ {
			s.v[i] = 0
		}
	} else {
		// Six short bands have the first length, mixed blocks eight long and three short.
		low, n := 18, 36
		if g.kind() == kindMixed {
			low, n = 17, 35
		}
		for i := range s.v {
			switch {
			case i < low:
				s.v[i] = uint8(b.read(uint(slen[0])))
			case i < n:
				s.v[i] = uint8(b.read(uint(slen[1])))
			default:
				s.v[i] = 0
			}
		}
	}
	// 7 says that a band is not of intensity stereo.
	for i, v := range s.v {
		s.illegal[i] = v == 7
	}
}

// slensMPEG2 splits scalefac_compress into a class and four lengths; right
// says it is that of the right channel of intensity stereo. preflag is set by
// the third class. ISO/IEC 13818-3, 2.4.3.2.
func slensMPEG2(c uint, right bool) (class int, slen [4]uint, preflag bool) {
	if right {
		c >>= 1
		switch {
		case c < 180:
			return 3, [4]uint{c / 36, c % 36 / 6, c % 6, 0}, false
		case c < 244:
			c -= 180
			return 4, [4]uint{c >> 4, c >> 2 & 3, c & 3, 0}, false
		}
		c -= 244
		return 5, [4]uint{c / 3, c % 3, 0, 0}, false
	}
	switch {
	case c < 400:
		return 0, [4]uint{(c >> 4) / 5, (c >> 4) % 5, c >> 2 & 3, c & 3}, false
	case c < 500:
		c -= 400
		return 1, [4]uint{(c >> 2) / 5, (c >> 2) % 5, c & 3, 0}, false
	}
	c -= 500
	return 2, [4]uint{c / 3, c % 3, 0, 0}, true
}

// readMPEG2 reads the scalefactors of g.
func (s *scalefactors) readMPEG2(b *bits, g *granule, right bool) {
	class, slen, preflag := slensMPEG2(g.compress, right)
	g.preflag = preflag
	*s = scalefactors{}
	i := 0
	for k, n := range slenCounts[class][g.kind()] {
		for range n {
			s.v[i] = uint8(b.read(slen[k]))
			s.illegal[i] = right && slen[k] > 0 && uint(s.v[i]) == 1<<slen[k]-1
			i++
		}
	}
}
