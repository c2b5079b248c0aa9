package aac

import "quern/codecs/internal/psycho"

// A division is how an encoder cuts a spectrum up: its layout, and the parts (bands
// of groups of windows) in the order of the stream, in which the windows of a group
// follow each other within a part.
type division struct {
	layout
	limit int // coefficients of a window from here on are left out
	parts int
	start [maxParts + 1]uint16
	lines [maxParts]uint16 // of each part
	model *psycho.Model
}

// A scheme is what divisions of spectra of one length have in common.
type scheme struct {
	offsets []uint16 // of bands, up to the last that is coded
	limit   int
	model   *psycho.Model
}

// newScheme returns the scheme of windows of width coefficients with these bands, for
// sound up to hz.
func newScheme(offsets []uint16, width, rate int, hz float64) scheme {
	s := scheme{limit: min(int(hz*2/float64(rate)*float64(width))+1, width)}
	n := 1
	for int(offsets[n]) < s.limit {
		n++
	}
	s.offsets = offsets[:n+1]
	middle := make([]float64, n)
	for i := range middle {
		middle[i] = float64(offsets[i]+offsets[i+1]) / 2 * float64(rate) / float64(2*width)
	}
	line := fullScale * float64(width) // of a tone of full scale, about
	s.model = psycho.New(middle, make([]uint8, n), 1e-11*line*line)
	return s
}

// set divides a spectrum of a sequence of windows; group is how many are in each group.
func (d *division) set(s *scheme, sequence int, group []int) {
	d.layout = layout{sequence: sequence, windows: 1, width: maxFrame, groups: len(group)}
	if sequence == eightShort {
		d.windows, d.width = 8, maxFrame/8
	}
	copy(d.group[:], group)
	d.offsets, d.bands = s.offsets, len(s.offsets)-1
	d.limit, d.model = s.limit, s.model
	d.parts = 0
	for _, n := range group {
		for b := range d.bands {
			d.lines[d.parts] = uint16(n) * (d.offsets[b+1] - d.offsets[b])
			d.start[d.parts+1] = d.start[d.parts] + d.lines[d.parts]
			d.parts++
		}
	}
}

// arrange writes the spectra of the windows to dst in the order of the parts.
func (d *division) arrange(dst, spectra []float32) {
	window := 0
	for g := range d.groups {
		for b := range d.bands {
			for w := range d.group[g] {
				from, to := int(d.offsets[b]), int(d.offsets[b+1])
				n := copy(dst, spectra[(window+w)*d.width:][from:min(to, d.limit)])
				clear(dst[n : to-from])
				dst = dst[to-from:]
			}
		}
		window += d.group[g]
	}
}
