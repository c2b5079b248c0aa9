package cuda

import (
	"slices"

	"quern/engine/graph"
	"quern/formats/weights"
	gpu "quern/kernels/cuda"
	"quern/kernels/quant"
)

// patterns find the group that task i is of, among tasks not yet taken, and nil for
// none. They are tried in this order, each on all tasks. Either a group reads of
// others only what its first tasks read, or others read of it only what its last
// task makes: groups can therefore always be put in an order.
var patterns = []func(f *fuser, i int) *group{attending, gating, projecting}

// products are of one value, normed.
type products struct {
	of   []int // tasks
	x    int
	norm graph.RMSNorm
}

// headsOf is attention and what makes its heads.
type headsOf struct {
	o           graph.Attention
	q, k        chain
	v, out, y   int // value heads; query heads, and what attention gives
	table       *ropeTable
	pairs       int
	interleaved bool
}

// maker returns the task that makes v, when it has not been taken and v is read
// only times often.
func (f *fuser) maker(v, times int) (i int, ok bool) {
	i, ok = f.made[v]
	return i, ok && !f.taken[i] && f.p.e.uses[v] == times
}

// norm finds the RMSNorm of whole rows that makes x, which is read only times
// often, and returns what it reads in place of x.
func (f *fuser) norm(x, times int) (from int, o graph.RMSNorm, tasks []int) {
	if i, ok := f.maker(x, times); ok {
		t := f.tasks[i]
		if n, is := t.Op.(graph.RMSNorm); is && len(n.Weight.Shape) == 1 && n.Weight.Shape[0] == f.p.e.p.Values[x].Width() {
			return t.In[0], n, []int{i}
		}
	}
	return x, graph.RMSNorm{}, nil
}

// quantised reports whether products with t take activations as ActQ8_32.
func quantised(t *weights.Tensor) bool { return gpu.Quantised(kept(t, false)) }

// held reports which numbers of rows a fused product by w has room for.
func held(w *weights.Tensor) func(rows int) bool {
	return func(rows int) bool {
		return rows <= gemvRows && gpu.Held(kept(w, false), rows, w.Shape[1]) <= gpu.MaxHeld
	}
}

// startFused launches a kernel that multiplies by w, among others, what it holds
// of rows. Its warps take pairs of weight rows in turn; a multiprocessor runs one
// block.
func (p *part) startFused(stem string, w *weights.Tensor, pairs, rows int, args ...uint64) error {
	typ, in := kept(w, false), w.Shape[1]
	return p.startWith(gpu.FusedName(stem, typ, rows), gpu.Dims{Rows: rows, Blocks: min(pairs, p.d.info.Processors)}, gpu.Held(typ, rows, in), args...)
}

// projecting is up to three products of one value, with its norm when no other step
// reads that, or one product with a sum.
func projecting(f *fuser, i int) *group {
	p, first := f.p, f.tasks[i]
	o, is := first.Op.(graph.Linear)
	if !is {
		return nil
	}
	same := []int{i}
	for j := i + 1; j < len(f.tasks) && len(same) < 3 && first.plus == none; j++ {
		t := f.tasks[j]
		if l, is := t.Op.(graph.Linear); is && !f.taken[j] && t.plus == none && t.In[0] == first.In[0] && quantised(l.Weight) == quantised(o.Weight) {
			same = append(same, j)
		}
	}
	x, n, before := f.norm(first.In[0], len(same))
	if !quantised(o.Weight) && len(before)+len(same) == 1 {
		return nil // the kernel there is does it all
	}
	start := func(rows int) error {
		var args []uint64
		pairs := 0
		for _, j := range same {
			l := f.tasks[j].Op.(graph.Linear)
			w, typ := p.matrix(l.Weight)
			out := l.Weight.Shape[0]
			pairs += (out + 1) / 2
			args = append(args, uint64(p.value(f.tasks[j].Out)), w, p.vector(l.Bias), i32(out), i32(gpu.TypeNumber(typ)))
		}
		args = append(args, make([]uint64, 15-len(args))...)
		residual := uint64(0)
		if first.plus != none {
			residual = uint64(p.value(first.plus))
		}
		args = append(args, uint64(p.value(x)), p.vector(n.Weight), residual, i32(o.Weight.Shape[1]), i32(rows), f32(n.Eps))
		return p.startFused("project", o.Weight, pairs, rows, args...)
	}
	return &group{members: slices.Concat(before, same), start: start, fits: held(o.Weight),
		quantises: len(before) > 0 && quantised(o.Weight), products: &products{same, x, n}}
}

// gating is an activation with the products it takes, gate and up or one alone,
// and their norm when no other step reads that.
func gating(f *fuser, i int) *group {
	p, t := f.p, f.tasks[i]
	var act graph.Act
	switch o := t.Op.(type) {
	case graph.Gate:
		act = o.Act
	case graph.Activate:
		act = o.Act
	default:
		return nil
	}
	var same []int
	var l [2]graph.Linear
	of := none // the value they all take
	for k, v := range t.In {
		j, ok := f.maker(v, 1)
		if !ok || f.tasks[j].plus != none {
			return nil
		}
		if l[k], ok = f.tasks[j].Op.(graph.Linear); !ok || quantised(l[k].Weight) != quantised(l[0].Weight) {
			return nil
		}
		if k > 0 && f.tasks[j].In[0] != of {
			return nil
		}
		of, same = f.tasks[j].In[0], append(same, j)
	}
	x, n, before := f.norm(of, len(same))
	start := func(rows int) error {
		args := []uint64{uint64(p.value(t.Out))}
		for _, o := range l {
			if o.Weight == nil {
				args = append(args, 0, 0, 0)
				continue
			}
			w, typ := p.matrix(o.Weight)
			args = append(args, w, p.vector(o.Bias), i32(gpu.TypeNumber(typ)))
		}
		out, in := l[0].Weight.Shape[0], l[0].Weight.Shape[1]
		args = append(args, uint64(p.value(x)), p.vector(n.Weight), i32(int(act)), i32(out), i32(in), i32(rows), f32(n.Eps))
		return p.startFused("gated", l[0].Weight, (out+1)/2, rows, args...)
	}
	return &group{members: slices.Concat(before, same, []int{i}), start: start, fits: held(l[0].Weight), quantises: len(before) > 0 && quantised(l[0].Weight)}
}

// A chain is what makes heads of what a projection gives: a norm by heads, then a
// rotation, either of which may be missing.
type chain struct {
	from  int // value it begins with
	norm  graph.RMSNorm
	rope  *graph.Rope
	tasks []int
}

func (f *fuser) chain(v, headDim int) (c chain) {
	for c.from = v; ; {
		i, ok := f.maker(c.from, 1)
		if !ok {
			return c
		}
		switch o := f.tasks[i].Op.(type) {
		case graph.Rope:
			if c.rope != nil || c.norm.Weight != nil || o.HeadDim != headDim {
				return c
			}
			c.rope = &o
		case graph.RMSNorm:
			if c.norm.Weight != nil || len(o.Weight.Shape) != 1 || o.Weight.Shape[0] != headDim {
				return c
			}
			c.norm = o
		default:
			return c
		}
		c.from = f.tasks[i].In[0]
		c.tasks = append([]int{i}, c.tasks...)
	}
}

// attending is attention with the norms and rotations of its queries and keys.
func attending(f *fuser, i int) *group {
	p, t := f.p, f.tasks[i]
	o, is := t.Op.(graph.Attention)
	if !is {
		return nil
	}
	q, k := f.chain(t.In[0], o.HeadDim), f.chain(t.In[1], o.HeadDim)
	tasks := slices.Concat(q.tasks, k.tasks)
	// A block has a thread for each value of a head.
	if sided(o) || len(tasks) == 0 || o.HeadDim > 256 || t.In[0] == t.In[1] || (q.rope == nil) != (k.rope == nil) {
		return nil
	}
	h := &headsOf{o: o, q: q, k: k, v: t.In[2], out: t.In[0], y: t.Out}
	if q.rope != nil {
		h.table, h.pairs, h.interleaved = p.ropeTable(*q.rope), len(q.rope.Freqs), q.rope.Interleaved
		if h.table != p.ropeTable(*k.rope) || h.interleaved != k.rope.Interleaved {
			return nil
		}
	}
	start := func(rows int) error {
		var cos, sin uint64
		if h.table != nil {
			cos, sin = uint64(h.table.cos), uint64(h.table.sin)
		}
		at := func(v int) uint64 { return uint64(p.value(v)) }
		heads := 0
		if len(q.tasks) > 0 {
			heads = o.Heads
		}
		if err := p.start(gpu.Name("heads", p.kv.spec.Type), gpu.Dims{Rows: rows, Heads: heads + 2*o.KVHeads},
			at(h.out), p.layerAt(o.Layer), at(q.from), at(k.from), at(h.v), p.vector(q.norm.Weight), p.vector(k.norm.Weight), cos, sin,
			p.word(positions), p.slots(o.Layer), i32(heads), i32(o.KVHeads), i32(o.HeadDim), i32(p.kv.spec.BlockSize),
			i32(h.pairs), flag(h.interleaved), f32(q.norm.Eps), f32(k.norm.Eps)); err != nil {
			return err
		}
		return p.attend(o, at(h.out), 0, 0, at(t.Out), rows, graph.PerRow)
	}
	return &group{members: append(tasks, i), start: start, heads: h}
}

// rotating is attention, if group g is that, together with the products that make
// its queries, keys and values, where nothing but a rotation stands between.
func (f *fuser) rotating(of []*group, g *group) *group {
	p := f.p
	if g.heads == nil {
		return nil
	}
	h := g.heads
	from := []int{h.q.from, h.k.from, h.v}
	if h.table == nil || h.q.norm.Weight != nil || h.k.norm.Weight != nil || h.o.HeadDim%2 != 0 {
		return nil
	}
	var made *group
	var l [3]graph.Linear
	for k, v := range from {
		j, ok := f.made[v]
		if !ok || p.e.uses[v] != 1 || made != nil && of[j] != made || of[j].products == nil {
			return nil
		}
		made, l[k] = of[j], f.tasks[j].Op.(graph.Linear)
	}
	a := made.products
	if len(a.of) != len(from) {
		return nil
	}
	start := func(rows int) error {
		args := []uint64{uint64(p.value(h.out))}
		for k, o := range l {
			w, typ := p.matrix(o.Weight)
			args = append(args, w, p.vector(o.Bias))
			if k == 0 {
				args = append(args, i32(o.Weight.Shape[0]))
			}
			args = append(args, i32(gpu.TypeNumber(typ)))
		}
		q, kv := l[0].Weight.Shape, l[1].Weight.Shape[0]
		args = append(args, i32(kv), uint64(p.value(a.x)), p.vector(a.norm.Weight), uint64(h.table.cos), uint64(h.table.sin), p.word(positions), p.slots(h.o.Layer),
			p.layerAt(h.o.Layer), i32(gpu.CacheNumber(p.kv.spec.Type)), i32(h.o.HeadDim), i32(p.kv.spec.BlockSize), i32(h.pairs), flag(h.interleaved), i32(q[1]), i32(rows), f32(a.norm.Eps))
		if err := p.startFused("rotated", l[0].Weight, q[0]/2+kv, rows, args...); err != nil {
			return err
		}
		return p.attend(h.o, uint64(p.value(h.out)), 0, 0, uint64(p.value(h.y)), rows, graph.PerRow)
	}
	fits := func(rows int) bool {
		return made.fits(rows) && p.kv.spec.Type != quant.Q8_0 // whose values are stored 32 at a time
	}
	return &group{tasks: slices.Concat(made.tasks, g.tasks), start: start, fits: fits, fallback: []*group{made, g}}
}
