package mp3

import "quern/codecs/internal/bitio"

// bitWriter makes frames.
type bitWriter struct{ bitio.Writer }

// pad appends zeros up to size bytes.
func (w *bitWriter) pad(size int) {
	w.Align()
	for len(w.Buf) < size {
		w.Buf = append(w.Buf, 0)
	}
}

// frame writes header, side information and parts, which are in the order of
// granules, then channels. The standard, 2.4.1.
func (w *bitWriter) frame(h header, parts []*part, size int) {
	w.Reset()
	w.Write(uint64(h), 32)
	nch := h.channels()
	if h.lsf() {
		w.Write(0, 8+nch) // main_data_begin, private bits
	} else {
		w.Write(0, 9+7-2*nch+4*nch) // and scfsi
	}
	for _, p := range parts {
		c := &p.code
		w.Write(uint64(p.bits), 12)
		w.Write(uint64(c.bigValues/2), 9)
		w.Write(uint64(p.gain), 8)
		if h.lsf() {
			w.Write(uint64(p.compress), 9)
		} else {
			w.Write(uint64(p.compress), 4)
		}
		w.Flag(p.blockType != 0)
		if p.blockType != 0 {
			w.Write(uint64(p.blockType), 2)
			w.Write(0, 1) // mixed_block_flag
			w.Write(uint64(c.tables[0])<<5|uint64(c.tables[1]), 10)
			w.Write(0, 9) // subblock_gain
		} else {
			w.Write(uint64(c.tables[0])<<10|uint64(c.tables[1])<<5|uint64(c.tables[2]), 15)
			w.Write(uint64(c.regions[0])<<3|uint64(c.regions[1]), 7)
		}
		if !h.lsf() {
			w.Flag(p.preflag)
		}
		w.Write(uint64(p.scale), 1)
		w.Write(uint64(c.quads), 1)
	}
	for _, p := range parts {
		w.scalefactors(p, h.lsf())
		w.lines(p)
	}
	w.pad(size)
}

func (w *bitWriter) scalefactors(p *part, lsf bool) {
	if lsf {
		at := 0
		for k, n := range slenCounts[0][p.kind()] {
			for _, f := range p.factors[at : at+int(n)] {
				w.Write(uint64(f), int(p.slen[k]))
			}
			at += int(n)
		}
		return
	}
	low, n := 11, 21
	if p.l.long == 0 {
		low, n = 18, 36
	}
	for i, f := range p.factors[:n] {
		if i < low {
			w.Write(uint64(f), int(p.slen[0]))
		} else {
			w.Write(uint64(f), int(p.slen[1]))
		}
	}
}

func (w *bitWriter) lines(p *part) {
	c := &p.code
	var ends [3]int
	if p.blockType != 0 {
		ends = [3]int{p.regions[0], lines, lines}
	} else {
		r0 := c.regions[0] + 1
		ends = [3]int{p.edges[r0], p.edges[min(r0+c.regions[1]+1, 22)], lines}
	}
	sign := func(i int) uint64 {
		if p.x[i] < 0 {
			return 1
		}
		return 0
	}
	i := 0
	for region, end := range ends {
		t := int(c.tables[region])
		extra := int(linbits[t])
		book := t
		if t >= 24 {
			book = 24
		} else if t >= 16 {
			book = 16
		}
		b := codebooks[book]
		for ; i < min(end, c.bigValues); i += 2 {
			if t == 0 {
				continue
			}
			x, y := int(p.ix[i]), int(p.ix[i+1])
			at := min(x, 15)*b.size + min(y, 15)
			w.Write(uint64(b.words[at]), int(b.bits[at]))
			for j, v := range [2]int{x, y} {
				if v >= 15 && extra > 0 {
					w.Write(uint64(v-15), extra)
				}
				if v > 0 {
					w.Write(sign(i+j), 1)
				}
			}
		}
	}
	b := codebooks[32+c.quads]
	for range c.count1 {
		at := uint64(0)
		for j := range 4 {
			at = at<<1 | uint64(p.ix[i+j])
		}
		w.Write(uint64(b.words[at]), int(b.bits[at]))
		for j := range 4 {
			if p.ix[i+j] > 0 {
				w.Write(sign(i+j), 1)
			}
		}
		i += 4
	}
}
