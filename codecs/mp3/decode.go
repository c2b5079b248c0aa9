package mp3

// decode turns the frame into samples in d.out.
func (d *Reader) decode(frame []byte, h header) {
	nch := h.channels()
	if nch == 2 && d.channels == 1 {
		d.hybrids[1], d.synths[1] = d.hybrids[0], d.synths[0]
	}
	d.channels = nch
	d.outR, d.outW = 0, 0

	at := h.head() - h.side()
	// The buffer has 8 bytes behind any frame.
	side := bits{buf: d.buf[d.r+at : d.r+at+maxSide+8]}
	good := d.side.read(&side, h)
	main, ok := d.mainData(frame[h.head():])
	good = good && ok

	end := 8 * (len(main.buf) - 8)
	for gr := range h.granules() {
		good = good && d.readGranule(&main, end, h, gr)
		if !good { // nor can what follows be found
			for ch := range nch {
				d.side.gr[gr][ch] = granule{}
				d.spectra[ch].end = 0
				clear(d.spectra[ch].x[:])
			}
		} else {
			d.stereo(h, gr)
		}
		d.synthesise(nch, gr)
	}
}

// mainData adds the main data of a frame to the reservoir and returns all of it
// from main_data_begin on; false means that it is not there.
func (d *Reader) mainData(data []byte) (bits, bool) {
	if old := d.mainLen - 511; old > 0 {
		copy(d.main[:], d.main[old:d.mainLen])
		d.mainLen = 511
	}
	begin := d.mainLen - d.side.back
	d.mainLen += copy(d.main[d.mainLen:len(d.main)-8], data)
	return bits{buf: d.main[:d.mainLen+8], pos: 8 * begin}, begin >= 0
}

// readGranule decodes the spectra of granule gr from main, which ends at bit end.
func (d *Reader) readGranule(main *bits, end int, h header, gr int) bool {
	for ch := range h.channels() {
		g := &d.side.gr[gr][ch]
		stop := main.pos + g.bits
		if stop > end {
			return false
		}
		l := &d.t.layouts[h.bands()][g.kind()]
		if l.n == 0 {
			return false
		}
		sf := &d.factors[ch]
		if h.lsf() {
			sf.readMPEG2(main, g, ch == 1 && h.intens())
		} else {
			sf.readMPEG1(main, g)
		}
		var gains [39]float32
		d.t.bandGains(&gains, l, g, sf)
		d.spectra[ch].decode(d.t, main, stop, g, l, &gains)
		main.pos = stop
	}
	return true
}

// stereo undoes joint stereo in the spectra of granule gr.
func (d *Reader) stereo(h header, gr int) {
	a, b := &d.spectra[0], &d.spectra[1]
	switch {
	case h.intens():
		g := &d.side.gr[gr][1]
		scale := -1
		if h.lsf() {
			scale = int(g.compress & 1)
		}
		intensity(a, b, &d.t.layouts[h.bands()][g.kind()], &d.factors[1], h.ms(), scale)
	case h.ms():
		end := max(a.end, b.end)
		midSide(a.x[:end], b.x[:end])
		a.end, b.end = end, end
	}
}

// synthesise appends the 576 samples of granule gr to d.out.
func (d *Reader) synthesise(nch, gr int) {
	out := d.Channels()
	for ch := range nch {
		g, s := &d.side.gr[gr][ch], &d.spectra[ch]
		if l := &d.t.layouts[d.head.bands()][g.kind()]; l.n > l.long {
			s.reorder(l)
		}
		d.hybrids[ch].run(d.t, &s.x, s.end, g, &d.slots)
		if ch < out {
			d.synths[ch].run(d.t, &d.slots, d.out[d.outW+ch:], out)
		} else {
			d.synths[ch].run(d.t, &d.slots, d.mix[:], 1)
			for i, v := range d.mix {
				d.out[d.outW+i] = (d.out[d.outW+i] + v) / 2
			}
		}
	}
	if nch < out {
		pairs := d.out[d.outW : d.outW+2*lines]
		for i := 0; i < len(pairs); i += 2 {
			pairs[i+1] = pairs[i]
		}
	}
	d.outW += lines * out
}
