package aac

import (
	"fmt"
	"math"
)

// Orders of filters that AAC-LC allows, for long and short windows.
const (
	tnsOrderLong  = 12
	tnsOrderShort = 7
)

// A tns is temporal noise shaping of one window: all-pole filters over ranges
// of the spectrum, from the highest band down.
//
// ISO/IEC 14496-3, 4.6.9.
type tns struct {
	filters int
	filter  [3]struct {
		bands     int
		order     int
		downwards bool
		a         [tnsOrderLong]float32 // prediction coefficients
	}
}

// readTNS reads tns_data().
func (d *Decoder) readTNS(c *channel) error {
	b := &d.bits
	// Sizes of the fields, and what the order may be.
	number, length, size, limit := 2, 6, 5, tnsOrderLong
	if c.windows == 8 {
		number, length, size, limit = 1, 4, 3, tnsOrderShort
	}
	for w := range c.windows {
		t := &c.filter[w]
		t.filters = b.read(number)
		if t.filters == 0 {
			continue
		}
		resolution := 3 + b.read(1)
		for i := range t.filters {
			f := &t.filter[i]
			f.bands, f.order = b.read(length), b.read(size)
			if f.order == 0 {
				continue
			}
			if f.order > limit {
				return fmt.Errorf("%w: noise shaping of order %d", ErrFormat, f.order)
			}
			f.downwards = b.flag()
			coded := resolution - b.read(1)
			var reflection [tnsOrderLong]float64
			for j := range f.order {
				// Sign extension of coded bits.
				v := b.read(coded) << (64 - coded) >> (64 - coded)
				reflection[j] = tnsCoefficient(v, resolution)
			}
			predict(&f.a, reflection[:f.order])
		}
		if b.over() {
			return errShort
		}
	}
	return nil
}

// tnsCoefficient is the reflection coefficient that was quantised to v.
func tnsCoefficient(v, resolution int) float64 {
	steps := float64(int(1)<<(resolution-1)) - 0.5
	if v < 0 {
		steps++
	}
	return math.Sin(float64(v) / steps * math.Pi / 2)
}

// predict turns reflection coefficients into those of a prediction filter
// (Levinson's recursion).
func predict(a *[tnsOrderLong]float32, reflection []float64) {
	var x, y [tnsOrderLong]float64
	for m, k := range reflection {
		for i := range m {
			y[i] = x[i] + k*x[m-1-i]
		}
		y[m] = k
		x = y
	}
	for i, v := range x[:len(reflection)] {
		a[i] = float32(v)
	}
}

// shape applies the filters of the unit to its spectrum.
func (c *channel) shape() {
	for w := range c.windows {
		t := &c.filter[w]
		top := len(c.offsets) - 1
		limit := min(c.tnsBands, c.bands)
		for i := range t.filters {
			f := &t.filter[i]
			bottom := max(top-f.bands, 0)
			from, to := c.offsets[min(bottom, limit)], c.offsets[min(top, limit)]
			top = bottom
			if f.order == 0 || from >= to {
				continue
			}
			x := c.coefs[w*c.width:][from:to]
			if f.downwards {
				filterDown(x, f.a[:f.order])
			} else {
				filterUp(x, f.a[:f.order])
			}
		}
	}
}

// filterUp runs the all-pole filter with coefficients a over x.
func filterUp(x, a []float32) {
	for i := range x {
		v := x[i]
		for j, k := range a[:min(i, len(a))] {
			v -= k * x[i-1-j]
		}
		x[i] = v
	}
}

// filterDown is filterUp from the last value to the first.
func filterDown(x, a []float32) {
	n := len(x)
	for i := n - 1; i >= 0; i-- {
		v := x[i]
		for j, k := range a[:min(n-1-i, len(a))] {
			v -= k * x[i+1+j]
		}
		x[i] = v
	}
}
