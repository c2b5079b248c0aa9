package onnx

import (
	"slices"

	"quern/formats/onnx"
)

// along returns, for every element of index, which element of x lies at its
// position with the index itself in dimension a.
func along(x, index *Tensor, a int) []int {
	if len(index.Shape) != len(x.Shape) || index.I == nil && index.len() > 0 {
		fail("%w: indices %v of shape %d for %d", onnx.ErrFormat, index.Type, index.Shape, x.Shape)
	}
	step := strides(x.Shape)
	by, n := step[a], x.Shape[a]
	for d := range x.Shape {
		if d != a && index.Shape[d] > x.Shape[d] {
			fail("%w: indices of shape %d for %d", onnx.ErrFormat, index.Shape, x.Shape)
		}
	}
	step[a] = 0
	from := walk(index.Shape, step, 0)
	for i, v := range index.I {
		from[i] += inside(v, n) * by
	}
	return from
}

func gatherElements(c *call) []*Tensor {
	x, index := c.x(0), c.x(1)
	return one(x.pick(along(x, index, axis(c.int("axis", 0), len(x.Shape))), index.Shape...))
}

// slots reads index (…, m), whose rows name slices of the dimensions of x after
// the first batch, and returns where each slice starts and its length.
func slots(x, index *Tensor, batch int) (starts []int, size int) {
	r := len(index.Shape)
	if r == 0 || index.I == nil && index.len() > 0 {
		fail("%w: indices %v of shape %d", onnx.ErrFormat, index.Type, index.Shape)
	}
	m := index.Shape[r-1]
	if batch < 0 || batch >= r || batch+m > len(x.Shape) || !slices.Equal(x.Shape[:batch], index.Shape[:batch]) {
		fail("%w: indices of shape %d for %d", onnx.ErrFormat, index.Shape, x.Shape)
	}
	step := strides(x.Shape)
	rows := count(index.Shape[:r-1])
	starts = make([]int, rows)
	groups := count(x.Shape[:batch])
	for i := range starts {
		if batch > 0 {
			starts[i] = i / (rows / groups) * step[batch-1]
		}
		for j, v := range index.I[i*m : (i+1)*m] {
			starts[i] += inside(v, x.Shape[batch+j]) * step[batch+j]
		}
	}
	return starts, count(x.Shape[batch+m:])
}

func gatherND(c *call) []*Tensor {
	x, index := c.x(0), c.x(1)
	batch := c.int("batch_dims", 0)
	starts, size := slots(x, index, batch)
	last := len(index.Shape) - 1
	out := c.blank(x.Type, slices.Concat(index.Shape[:last], x.Shape[batch+index.Shape[last]:])...)
	c.byRows(len(starts), size, func(from, to int) {
		for i := from; i < to; i++ {
			copyElems(out, i*size, x, starts[i], size)
		}
	})
	return one(out)
}

// writable returns input 0 to be changed: itself where nothing else reads it,
// and otherwise a copy.
func (c *call) writable(others ...*Tensor) *Tensor {
	x := c.x(0)
	if !slices.Contains(others, x) && c.mine(0) {
		return c.reuse(0)
	}
	out := c.blank(x.Type, x.Shape...)
	c.byRows(x.len(), 1, func(from, to int) { copyElems(out, from, x, from, to-from) })
	return out
}

// reductions are how Scatter joins what there is with what is written.
var reductions = map[string]string{"none": "", "add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}

// merge writes n elements of src at from to dst at at, joined with f where it
// is not nil.
func merge(dst *Tensor, at int, src *Tensor, from, n int, f *pairwise) {
	if f == nil {
		copyElems(dst, at, src, from, n)
		return
	}
	for i := range n {
		switch a, b := at+i, from+i; {
		case dst.F != nil:
			dst.F[a] = float32(round(dst.Type, f.d(float64(dst.F[a]), float64(src.F[b]))))
		case dst.D != nil:
			dst.D[a] = f.d(dst.D[a], src.D[b])
		case dst.Type == onnx.Uint64 && f.u != nil:
			dst.I[a] = int64(f.u(uint64(dst.I[a]), uint64(src.I[b])))
		default:
			dst.I[a] = wrap(dst.Type, f.i(dst.I[a], src.I[b]))
		}
	}
}

func (c *call) joins(x, updates *Tensor) *pairwise {
	mode := c.text("reduction", "none")
	name, ok := reductions[mode]
	if !ok || updates.Type != x.Type || name != "" && x.S != nil {
		fail("%w: %v scattered into %v by %.20q", onnx.ErrFormat, updates.Type, x.Type, mode)
	}
	if name == "" {
		return nil
	}
	f := binaries[name]
	return &f
}

func scatterElements(c *call) []*Tensor {
	x, index, updates := c.x(0), c.x(1), c.x(2)
	a := axis(c.int("axis", 0), len(x.Shape))
	f := c.joins(x, updates)
	if !slices.Equal(index.Shape, updates.Shape) {
		fail("%w: %d indices for %d", onnx.ErrFormat, index.Shape, updates.Shape)
	}
	to := along(x, index, a)
	out := c.writable(index, updates)
	for i, at := range to {
		merge(out, at, updates, i, 1, f)
	}
	return one(out)
}

func scatterND(c *call) []*Tensor {
	x, index, updates := c.x(0), c.x(1), c.x(2)
	f := c.joins(x, updates)
	starts, size := slots(x, index, 0)
	if updates.len() != len(starts)*size {
		fail("%w: updates of shape %d at %d of %d", onnx.ErrFormat, updates.Shape, index.Shape, x.Shape)
	}
	out := c.writable(index, updates)
	for i, at := range starts {
		merge(out, at, updates, i*size, size, f)
	}
	return one(out)
}

// tensorScatter writes rows of a cache, for each batch from an index of its own.
func tensorScatter(c *call) []*Tensor {
	x, update, first := c.x(0), c.x(1), c.opt(2)
	a := axis(c.int("axis", -2), len(x.Shape))
	if a == 0 || len(update.Shape) != len(x.Shape) || update.Type != x.Type || first != nil && first.len() != x.Shape[0] {
		fail("%w: %v of shape %d into %v of %d", onnx.ErrFormat, update.Type, update.Shape, x.Type, x.Shape)
	}
	for d, n := range x.Shape {
		if m := update.Shape[d]; d != a && m != n || m > n {
			fail("%w: shape %d into %d", onnx.ErrFormat, update.Shape, x.Shape)
		}
	}
	circular := c.text("mode", "linear") == "circular"
	outer, n, inner := split(x.Shape, a)
	rows := update.Shape[a]
	out := c.writable(update, first)
	if out.len() == 0 {
		return one(out)
	}
	for o := range outer {
		at := int64(0)
		if first != nil {
			at = first.I[o/(outer/x.Shape[0])]
		}
		if at < 0 || !circular && at > int64(n-rows) {
			fail("%w: %d rows at %d of %d", onnx.ErrFormat, rows, at, n)
		}
		for r := range rows {
			to := int((at%int64(n) + int64(r)) % int64(n))
			if !circular {
				to = int(at) + r
			}
			copyElems(out, (o*n+to)*inner, update, (o*rows+r)*inner, inner)
		}
	}
	return one(out)
}
