package cuda

import (
	"quern/engine/graph"
	gpu "quern/kernels/cuda"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
	"quern/kernels/vec"
)

var ropeOp = row[graph.Rope]{
	lower: func(o graph.Rope, l lowering) {
		t, heads := l.ropeTable(o), l.width()/o.HeadDim
		l.add(func(rows int) error {
			return l.start("rope", gpu.Dims{Rows: rows, Heads: heads}, l.y(), l.x(0), uint64(t.cos), uint64(t.sin), l.ofRows(positions, l.e.p.Values[l.Out].Lead),
				i32(heads), i32(o.HeadDim), i32(len(o.Freqs)), flag(o.Interleaved))
		})
	},
}

// A ropeTable holds the rotations of positions below places for one set of
// frequencies, computed as the CPU does.
type ropeTable struct {
	freqs     []float64
	magnitude float32
	places    int
	cos, sin  driver.Ptr // (places, pairs)
}

func (p *part) ropeTable(o graph.Rope) *ropeTable {
	for _, t := range p.ropes {
		if &t.freqs[0] == &o.Freqs[0] && len(t.freqs) == len(o.Freqs) && t.magnitude == o.Magnitude {
			return t
		}
	}
	t := &ropeTable{freqs: o.Freqs, magnitude: o.Magnitude}
	p.ropes = append(p.ropes, t)
	return t
}

// minPlaces is the least positions a ropeTable is made for.
const minPlaces = 4096

// reach makes every ropeTable hold positions below n. Recorded graphs know where
// the tables lay, and go.
func (p *part) reach(n int) error {
	for _, t := range p.ropes {
		if n <= t.places {
			continue
		}
		if err := p.dropGraphs(); err != nil {
			return err
		}
		places := max(minPlaces, 2*t.places)
		for places < n {
			places *= 2
		}
		if err := p.rotate(t, places); err != nil {
			return err
		}
	}
	return nil
}

// rotate makes t's tables anew, through the stages weights go through.
func (p *part) rotate(t *ropeTable, places int) error {
	for _, at := range []*driver.Ptr{&t.cos, &t.sin} {
		if *at != 0 {
			if err := p.d.ctx.Free(*at); err != nil {
				return err
			}
			*at, t.places = 0, 0
		}
	}
	pairs := len(t.freqs)
	for _, at := range []*driver.Ptr{&t.cos, &t.sin} {
		var err error
		if *at, err = p.d.alloc(4 * int64(places*pairs)); err != nil {
			return err
		}
	}
	per := min(places, stageBytes/4/pairs)
	cos, sin := make([]float32, per*pairs), make([]float32, per*pairs)
	for from := 0; from < places; from += per {
		n := min(per, places-from)
		for i := range n {
			vec.RopeTable(cos[i*pairs:(i+1)*pairs], sin[i*pairs:(i+1)*pairs], int32(from+i), t.freqs, t.magnitude)
		}
		for _, half := range []struct {
			at driver.Ptr
			x  []float32
		}{{t.cos, cos}, {t.sin, sin}} {
			if err := p.d.send(half.at+driver.Ptr(4*from*pairs), quant.Floats(half.x[:n*pairs])); err != nil {
				return err
			}
		}
	}
	t.places = places
	return nil
}
