package mp3

// granule is the side information of one channel of one granule. The
// standard, 2.4.1.7.
type granule struct {
	bits      int // of scalefactors and lines: part2_3_length
	bigValues int // pairs
	gain      int // global_gain
	compress  uint
	blockType int
	mixed     bool
	tables    [3]uint8
	subGain   [3]int // subblock_gain
	regions   [2]int // first line of regions 1 and 2
	preflag   bool
	scale     uint // scalefac_scale
	count1    int  // table of the quadruples, 0 or 1
	shared    uint // scfsi of the channel, a bit a group
}

func (g *granule) kind() blockKind {
	switch {
	case g.blockType != 2:
		return kindLong
	case g.mixed:
		return kindMixed
	}
	return kindShort
}

// sideInfo is what a frame's side information says.
type sideInfo struct {
	back int // main_data_begin: bytes of main data in earlier frames
	gr   [2][2]granule
}

// read parses the side information of a frame; false means it cannot be true.
func (s *sideInfo) read(b *bits, h header) bool {
	nch := h.channels()
	*s = sideInfo{}
	var groups [2]uint
	if h.lsf() {
		s.back = int(b.read(8))
		b.read(uint(nch)) // private
	} else {
		s.back = int(b.read(9))
		b.read(uint(7 - 2*nch)) // private
		for ch := range nch {
			groups[ch] = b.read(4)
		}
	}
	r := h.bands()
	for gr := range h.granules() {
		for ch := range nch {
			g := &s.gr[gr][ch]
			g.bits = int(b.read(12))
			g.bigValues = int(b.read(9))
			g.gain = int(b.read(8))
			if h.lsf() {
				g.compress = b.read(9)
			} else {
				g.compress = b.read(4)
			}
			if gr > 0 {
				g.shared = groups[ch]
			}
			if b.read(1) != 0 {
				g.blockType = int(b.read(2))
				g.mixed = b.read(1) != 0
				for i := range 2 {
					g.tables[i] = uint8(b.read(5))
				}
				for i := range 3 {
					g.subGain[i] = int(b.read(3))
				}
				if g.blockType == 0 {
					return false
				}
				g.regions = [2]int{implicitRegion(h, g), lines}
			} else {
				for i := range 3 {
					g.tables[i] = uint8(b.read(5))
				}
				r0 := int(b.read(4)) + 1
				r1 := r0 + int(b.read(3)) + 1
				g.regions = [2]int{sfBands[r].long[r0], sfBands[r].long[min(r1, 22)]}
			}
			if !h.lsf() {
				g.preflag = b.read(1) != 0
			}
			g.scale = b.read(1)
			g.count1 = int(b.read(1))
			if g.bigValues > lines/2 {
				return false
			}
		}
	}
	return true
}

// implicitRegion is the first line of region 1 where block types other than 0
// leave it unsaid.
func implicitRegion(h header, g *granule) int {
	long := &sfBands[h.bands()].long
	switch {
	case h.version() == mpeg1, h.version() == mpeg2 && g.blockType == 2:
		return 36
	case g.kind() == kindShort:
		return long[6]
	}
	return long[8]
}
