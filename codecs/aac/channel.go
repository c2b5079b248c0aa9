package aac

import (
	"fmt"
	"math"
)

// Codebook numbers beyond the spectral ones.
const (
	zeroBook       = 0
	escapeBook     = 11
	reservedBook   = 12
	noiseBook      = 13
	intensityBook2 = 14 // out of phase
	intensityBook  = 15
)

const (
	maxFrame = 1024
	maxBands = 51  // of a long window
	maxParts = 120 // bands of all groups of a unit: eight times 15 at most
)

// A layout says how a channel's spectrum is divided: windows of one length,
// windows in groups, and in a group bands, which have one codebook and one
// scalefactor for all windows of the group.
//
// ISO/IEC 14496-3, table 4.6, ics_info().
type layout struct {
	sequence, shape int
	windows         int // 1 or 8
	width           int // coefficients of a window
	bands           int // in use, in each group
	offsets         []uint16
	tnsBands        int
	groups          int
	group           [8]int // windows of each
}

// A channel is one channel of an element. Everything but the tail is of the
// current unit.
type channel struct {
	layout
	books  [maxParts]uint8
	scales [maxParts]float32 // what coefficients are multiplied by; intensity and noise: their own
	filter [8]tns
	quanta [maxFrame]int16
	coefs  [maxFrame]float32
	tail   tail
}

// A pulse adds to quantised coefficients that a codebook could not hold.
type pulse struct {
	n         int
	at, value [4]int
}

// readLayout reads ics_info().
func (d *Decoder) readLayout(l *layout) error {
	b := &d.bits
	b.skip(1) // reserved
	l.sequence = b.read(2)
	l.shape = b.read(1)
	t := &bandsAtRate[d.rateIndex]
	if l.sequence == eightShort {
		l.windows, l.width = 8, d.frame/8
		l.offsets, l.tnsBands = d.shortBands, t.tnsShort
		l.bands = b.read(4)
		l.groups, l.group = 1, [8]int{1}
		for range 7 {
			if !b.flag() {
				l.groups++
			}
			l.group[l.groups-1]++
		}
	} else {
		l.windows, l.width = 1, d.frame
		l.offsets, l.tnsBands = d.longBands, t.tnsLong
		l.bands = b.read(6)
		l.groups, l.group = 1, [8]int{1}
		if b.flag() {
			return fmt.Errorf("%w: prediction in an AAC-LC stream", ErrFormat)
		}
	}
	if l.bands >= len(l.offsets) {
		return fmt.Errorf("%w: %d scalefactor bands of %d", ErrFormat, l.bands, len(l.offsets)-1)
	}
	return nil
}

// readChannel reads individual_channel_stream(). With shared set, c.layout is
// that of both channels of a pair and already read.
func (d *Decoder) readChannel(c *channel, shared bool) error {
	b := &d.bits
	gain := b.read(8)
	if !shared {
		if err := d.readLayout(&c.layout); err != nil {
			return err
		}
	}
	if err := d.readBooks(c); err != nil {
		return err
	}
	if err := d.readScales(c, gain); err != nil {
		return err
	}
	var p pulse
	if b.flag() {
		if err := d.readPulse(c, &p); err != nil {
			return err
		}
	}
	for w := range c.windows {
		c.filter[w].filters = 0
	}
	if b.flag() {
		if err := d.readTNS(c); err != nil {
			return err
		}
	}
	if b.flag() {
		return fmt.Errorf("%w: gain control (AAC SSR)", ErrUnsupported)
	}
	if err := d.readSpectrum(c); err != nil {
		return err
	}
	for i := range p.n {
		if q := &c.quanta[p.at[i]]; *q > 0 {
			*q += int16(p.value[i])
		} else {
			*q -= int16(p.value[i])
		}
	}
	d.dequantise(c)
	return nil
}

// readBooks reads section_data(), which codebook each band has.
func (d *Decoder) readBooks(c *channel) error {
	b := &d.bits
	size := 5
	if c.windows == 8 {
		size = 3
	}
	for g := range c.groups {
		books := c.books[g*c.bands:][:c.bands]
		for len(books) > 0 {
			book := b.read(4)
			n, more := 0, 1<<size-1
			for more == 1<<size-1 {
				more = b.read(size)
				n += more
			}
			if book == reservedBook || n > len(books) || b.over() {
				return fmt.Errorf("%w: section of %d bands with codebook %d", ErrFormat, n, book)
			}
			for i := range n {
				books[i] = uint8(book)
			}
			books = books[n:]
		}
	}
	return nil
}

// Intensity positions and noise energies outside these bounds are as good as
// silence, or nothing an encoder writes.
const (
	minPosition, maxPosition = -155, 100
	minEnergy, maxEnergy     = -100, 155
)

// readScales reads scale_factor_data(). Each of the three kinds of numbers is
// coded as differences within its kind.
func (d *Decoder) readScales(c *channel, gain int) error {
	b := &d.bits
	energy, position, first := gain-90, 0, true
	for i, book := range c.books[:c.groups*c.bands] {
		switch book {
		case zeroBook:
			c.scales[i] = 0
			continue
		case noiseBook:
			if first {
				energy += b.read(9) - 256
				first = false
			} else {
				energy += d.readDifference()
			}
			c.scales[i] = quarterPower(min(max(energy, minEnergy), maxEnergy))
		case intensityBook, intensityBook2:
			position += d.readDifference()
			c.scales[i] = quarterPower(-min(max(position, minPosition), maxPosition))
		default:
			gain += d.readDifference()
			if gain < 0 || gain > 255 {
				return fmt.Errorf("%w: scalefactor %d", ErrFormat, gain)
			}
			c.scales[i] = d.tables.gain[gain]
		}
		if b.over() {
			return errShort
		}
	}
	return nil
}

// readDifference reads a code of the scalefactor book.
func (d *Decoder) readDifference() int {
	if d.bits.over() {
		return 0
	}
	c := d.tables.scale.find(d.bits.window())
	d.bits.pos += int(c.len)
	return int(c.symbol) - 60
}

// readPulse reads pulse_data().
func (d *Decoder) readPulse(c *channel, p *pulse) error {
	b := &d.bits
	if c.windows == 8 {
		return fmt.Errorf("%w: pulses in short windows", ErrFormat)
	}
	p.n = b.read(2) + 1
	band := b.read(6)
	if band >= len(c.offsets)-1 {
		return fmt.Errorf("%w: pulses from band %d", ErrFormat, band)
	}
	at := int(c.offsets[band])
	for i := range p.n {
		at += b.read(5)
		if at >= d.frame {
			return fmt.Errorf("%w: pulse at coefficient %d", ErrFormat, at)
		}
		p.at[i], p.value[i] = at, b.read(4)
	}
	return nil
}

// readSpectrum reads spectral_data() into c.quanta. Coefficients of bands
// without a spectral codebook are zero.
func (d *Decoder) readSpectrum(c *channel) error {
	clear(c.quanta[:d.frame])
	window := 0
	for g := range c.groups {
		for i, book := range c.books[g*c.bands:][:c.bands] {
			if book == zeroBook || book > escapeBook {
				continue
			}
			from, to := int(c.offsets[i]), int(c.offsets[i+1])
			for w := range c.group[g] {
				q := c.quanta[(window+w)*c.width:]
				if err := d.readBand(q[from:to], int(book)); err != nil {
					return err
				}
			}
		}
		window += c.group[g]
	}
	return nil
}

// readBand reads coefficients of one band of one window.
func (d *Decoder) readBand(q []int16, book int) error {
	b := &d.bits
	t := d.tables.spectral[book-1]
	switch {
	case book <= 2:
		for ; len(q) >= 4 && !b.over(); q = q[4:] {
			c := t.find(b.window())
			b.pos += int(c.len)
			q[0], q[1], q[2], q[3] = int16(c.values[0]), int16(c.values[1]), int16(c.values[2]), int16(c.values[3])
		}
	case book <= 4:
		for ; len(q) >= 4 && !b.over(); q = q[4:] {
			w := b.window()
			c := t.find(w)
			w <<= c.len
			b.pos += int(c.len) + int(c.signs)
			for i, v := range c.values {
				if v != 0 {
					// All ones for a negative sign, which negates.
					s := int16(int64(w) >> 63)
					q[i] = (int16(v) ^ s) - s
					w <<= 1
				}
			}
		}
	case book <= 6:
		for ; len(q) >= 2 && !b.over(); q = q[2:] {
			c := t.find(b.window())
			b.pos += int(c.len)
			q[0], q[1] = int16(c.values[0]), int16(c.values[1])
		}
	default:
		for ; len(q) >= 2 && !b.over(); q = q[2:] {
			w := b.window()
			c := t.find(w)
			w <<= c.len
			b.pos += int(c.len) + int(c.signs)
			for i, v := range c.values[:2] {
				if v == 0 {
					continue
				}
				s := int16(int64(w) >> 63)
				w <<= 1
				x := int16(v)
				if x == escape && book == escapeBook {
					var ok bool
					if x, ok = b.escaped(); !ok {
						return fmt.Errorf("%w: coefficient beyond %d", ErrFormat, maxQuantum)
					}
				}
				q[i] = (x ^ s) - s
			}
		}
	}
	if b.over() {
		return errShort
	}
	return nil
}

// escaped reads an escape sequence: n ones, a zero, and n+4 bits below the
// leading one of the value.
func (b *bits) escaped() (int16, bool) {
	n := 4
	for b.flag() {
		n++
		if 1<<n > maxQuantum {
			return 0, false
		}
	}
	return int16(1<<n | b.read(n)), true
}

// dequantise sets the coefficients of bands with a spectral codebook, and
// clears all others.
func (d *Decoder) dequantise(c *channel) {
	clear(c.coefs[:d.frame])
	power := &d.tables.power
	window := 0
	for g := range c.groups {
		for i, book := range c.books[g*c.bands:][:c.bands] {
			if book == zeroBook || book > escapeBook {
				continue
			}
			scale := c.scales[g*c.bands+i]
			for w := range c.group[g] {
				from, to := (window+w)*c.width+int(c.offsets[i]), (window+w)*c.width+int(c.offsets[i+1])
				x := c.coefs[from:to]
				for j, q := range c.quanta[from:to] {
					// Signs are as good as random: no branch on them.
					sign := q >> 15
					v := scale * power[(q^sign)-sign]
					x[j] = math.Float32frombits(math.Float32bits(v) ^ uint32(sign)<<31)
				}
			}
		}
		window += c.group[g]
	}
}
