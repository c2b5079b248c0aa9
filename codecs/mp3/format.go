package mp3

// bitWriter appends bits to buf.
type bitWriter struct {
	buf []byte
	acc uint64
	n   uint
}

// write appends the low n bits of v, at most 32.
func (w *bitWriter) write(v uint, n uint) {
	w.acc = w.acc<<n | uint64(v)&(1<<n-1)
	w.n += n
	for w.n >= 8 {
		w.n -= 8
		w.buf = append(w.buf, byte(w.acc>>w.n))
	}
}

func (w *bitWriter) flag(v bool) {
	if v {
		w.write(1, 1)
	} else {
		w.write(0, 1)
	}
}

// pad appends zeros up to size bytes.
func (w *bitWriter) pad(size int) {
	if w.n > 0 {
		w.write(0, 8-w.n)
	}
	for len(w.buf) < size {
		w.buf = append(w.buf, 0)
	}
}

// frame writes header, side information and parts, which are in the order of
// granules, then channels. The standard, 2.4.1.
func (w *bitWriter) frame(h header, parts []*part, size int) {
	w.buf, w.acc, w.n = w.buf[:0], 0, 0
	w.write(uint(h), 32)
	nch := uint(h.channels())
	if h.lsf() {
		w.write(0, 8+nch) // main_data_begin, private bits
	} else {
		w.write(0, 9+7-2*nch+4*nch) // and scfsi
	}
	for _, p := range parts {
		c := &p.code
		w.write(uint(p.bits), 12)
		w.write(uint(c.bigValues/2), 9)
		w.write(uint(p.gain), 8)
		if h.lsf() {
			w.write(p.compress, 9)
		} else {
			w.write(p.compress, 4)
		}
		w.flag(p.blockType != 0)
		if p.blockType != 0 {
			w.write(uint(p.blockType), 2)
			w.write(0, 1) // mixed_block_flag
			w.write(uint(c.tables[0])<<5|uint(c.tables[1]), 10)
			w.write(0, 9) // subblock_gain
		} else {
			w.write(uint(c.tables[0])<<10|uint(c.tables[1])<<5|uint(c.tables[2]), 15)
			w.write(uint(c.regions[0])<<3|uint(c.regions[1]), 7)
		}
		if !h.lsf() {
			w.flag(p.preflag)
		}
		w.write(p.scale, 1)
		w.write(uint(c.quads), 1)
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
				w.write(uint(f), p.slen[k])
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
			w.write(uint(f), p.slen[0])
		} else {
			w.write(uint(f), p.slen[1])
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
	sign := func(i int) uint {
		if p.x[i] < 0 {
			return 1
		}
		return 0
	}
	i := 0
	for region, end := range ends {
		t := int(c.tables[region])
		extra := uint(linbits[t])
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
			w.write(uint(b.words[at]), uint(b.bits[at]))
			for j, v := range [2]int{x, y} {
				if v >= 15 && extra > 0 {
					w.write(uint(v-15), extra)
				}
				if v > 0 {
					w.write(sign(i+j), 1)
				}
			}
		}
	}
	b := codebooks[32+c.quads]
	for range c.count1 {
		at := uint(0)
		for j := range 4 {
			at = at<<1 | uint(p.ix[i+j])
		}
		w.write(uint(b.words[at]), uint(b.bits[at]))
		for j := range 4 {
			if p.ix[i+j] > 0 {
				w.write(sign(i+j), 1)
			}
		}
		i += 4
	}
}
