package cuda

import (
	"slices"

	"quern/engine/graph"
)

// A span is layers [from, to) of a model.
type span struct{ from, to int }

// hostLayers is how many of n layers, from the first on, run on the processor.
// They come first because what they need from outside is tokens.
func (b *Backend) hostLayers(n int) int {
	if b.o.Layers < 0 {
		return 0
	}
	return max(0, n-b.o.Layers)
}

// spans deals the layers of a model: those of the processor, and those of each
// device, in proportion to its memory.
func (b *Backend) spans(n int) (host span, dev []span) {
	host = span{0, b.hostLayers(n)}
	var total, sum int64
	for _, d := range b.devices {
		total += d.info.Memory
	}
	at := host.to
	for i, d := range b.devices {
		sum += d.info.Memory
		to := n
		if i+1 < len(b.devices) {
			to = host.to + int(float64(n-host.to)*float64(sum)/float64(total)+0.5)
		}
		to = max(at, to)
		dev = append(dev, span{at, to})
		at = to
	}
	return host, dev
}

// A cut divides the steps of a Program: what runs before step at, and the values
// that are handed over.
type cut struct {
	at   int
	over []int
}

// cuts finds where layer l begins, for each l asked for, ascending: between the
// attention of the layers before and that of l, where the least has to be handed over.
func cuts(p *graph.Program, starts []int) []cut {
	made, last := make([]int, len(p.Values)), make([]int, len(p.Values))
	var attention []int // steps, and the layer of the cache that each uses
	var layers []int
	for v := range made {
		made[v], last[v] = -1, -1
	}
	for i, s := range p.Steps {
		made[s.Out] = i
		for _, v := range s.In {
			last[v] = i
		}
		if l, ok := keyed(s.Op); ok {
			attention, layers = append(attention, i), append(layers, l)
		}
	}
	for _, r := range p.Results {
		last[r] = len(p.Steps)
	}
	over := func(at int) (values []int, width int) {
		for v := range made {
			if made[v] >= 0 && made[v] < at && last[v] >= at {
				values = append(values, v)
				width += p.Values[v].Width()
			}
		}
		return values, width
	}
	var list []cut
	for _, l := range starts {
		c, best := cut{}, 0
		// The first attention of this layer, or of one behind it, and the one before that.
		k := slices.IndexFunc(layers, func(of int) bool { return of >= l })
		for at := attention[max(k, 1)-1] + 1; k > 0 && at <= attention[k]; at++ {
			if values, width := over(at); c.over == nil || width < best {
				c, best = cut{at, values}, width
			}
		}
		list = append(list, c)
	}
	return list
}

// keyed returns the layer of the cache that an op writes keys to.
func keyed(op graph.Op) (layer int, ok bool) {
	switch o := op.(type) {
	case graph.Attention:
		return o.Layer, true
	case graph.LatentAttention:
		return o.Layer, true
	}
	return 0, false
}

// before is the Program of the steps before a cut: its results are handed over.
// Buffers only later steps need take no room.
func before(p *graph.Program, c cut) *graph.Program {
	q := *p
	q.Steps, q.Results = p.Steps[:c.at], c.over
	q.Buffers = make([]int, len(p.Buffers))
	for _, s := range q.Steps {
		b := p.Values[s.Out].Buffer
		q.Buffers[b] = p.Buffers[b]
	}
	return &q
}
