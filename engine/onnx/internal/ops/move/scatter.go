package move

import (
	"slices"

	"quern/engine/onnx/internal/ops/element"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// along returns, for every element of index, which element of x lies at its
// position with the index itself in dimension a.
func along(x, index *tensor.Tensor, a int) []int {
	if len(index.Shape) != len(x.Shape) || index.I == nil && index.Len() > 0 {
		tensor.Malformed("indices %v of shape %d for %d", index.Type, index.Shape, x.Shape)
	}
	step := tensor.Strides(x.Shape)
	by, n := step[a], x.Shape[a]
	for d := range x.Shape {
		if d != a && index.Shape[d] > x.Shape[d] {
			tensor.Malformed("indices of shape %d for %d", index.Shape, x.Shape)
		}
	}
	step[a] = 0
	from := tensor.Walk(index.Shape, step, 0)
	for i, v := range index.I {
		from[i] += tensor.Inside(v, n) * by
	}
	return from
}

func gatherElements(c *run.Call) []*tensor.Tensor {
	x, index := c.X(0), c.X(1)
	return run.One(x.Pick(along(x, index, tensor.Axis(c.Int("axis", 0), len(x.Shape))), index.Shape...))
}

// slots reads index (…, m), whose rows name slices of the dimensions of x after
// the first batch, and returns where each slice starts and its length.
func slots(x, index *tensor.Tensor, batch int) (starts []int, size int) {
	r := len(index.Shape)
	if r == 0 || index.I == nil && index.Len() > 0 {
		tensor.Malformed("indices %v of shape %d", index.Type, index.Shape)
	}
	m := index.Shape[r-1]
	if batch < 0 || batch >= r || batch+m > len(x.Shape) || !slices.Equal(x.Shape[:batch], index.Shape[:batch]) {
		tensor.Malformed("indices of shape %d for %d", index.Shape, x.Shape)
	}
	step := tensor.Strides(x.Shape)
	rows := tensor.Count(index.Shape[:r-1])
	starts = make([]int, rows)
	groups := tensor.Count(x.Shape[:batch])
	for i := range starts {
		if batch > 0 {
			starts[i] = i / (rows / groups) * step[batch-1]
		}
		for j, v := range index.I[i*m : (i+1)*m] {
			starts[i] += tensor.Inside(v, x.Shape[batch+j]) * step[batch+j]
		}
	}
	return starts, tensor.Count(x.Shape[batch+m:])
}

func gatherND(c *run.Call) []*tensor.Tensor {
	x, index := c.X(0), c.X(1)
	batch := c.Int("batch_dims", 0)
	starts, size := slots(x, index, batch)
	last := len(index.Shape) - 1
	out := c.Blank(x.Type, slices.Concat(index.Shape[:last], x.Shape[batch+index.Shape[last]:])...)
	c.ByRows(len(starts), size, func(from, to int) {
		for i := from; i < to; i++ {
			tensor.CopyElems(out, i*size, x, starts[i], size)
		}
	})
	return run.One(out)
}

// writable returns input 0 to be changed: itself where nothing else reads it,
// and otherwise a copy.
func writable(c *run.Call, others ...*tensor.Tensor) *tensor.Tensor {
	x := c.X(0)
	if !slices.Contains(others, x) && c.Mine(0) {
		return c.Reuse(0)
	}
	out := c.Blank(x.Type, x.Shape...)
	c.ByRows(x.Len(), 1, func(from, to int) { tensor.CopyElems(out, from, x, from, to-from) })
	return out
}

// reductions are how Scatter joins what there is with what is written.
var reductions = map[string]string{"none": "", "add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}

// merge writes n elements of src at from to dst at at, joined with f where it
// is not nil.
func merge(dst *tensor.Tensor, at int, src *tensor.Tensor, from, n int, f *element.Pairwise) {
	if f == nil {
		tensor.CopyElems(dst, at, src, from, n)
		return
	}
	for i := range n {
		switch a, b := at+i, from+i; {
		case dst.F != nil:
			dst.F[a] = float32(tensor.Round(dst.Type, f.D(float64(dst.F[a]), float64(src.F[b]))))
		case dst.D != nil:
			dst.D[a] = f.D(dst.D[a], src.D[b])
		case dst.Type == onnx.Uint64 && f.U != nil:
			dst.I[a] = int64(f.U(uint64(dst.I[a]), uint64(src.I[b])))
		default:
			dst.I[a] = tensor.Wrap(dst.Type, f.I(dst.I[a], src.I[b]))
		}
	}
}

func joins(c *run.Call, x, updates *tensor.Tensor) *element.Pairwise {
	mode := c.Text("reduction", "none")
	name, ok := reductions[mode]
	if !ok || updates.Type != x.Type || name != "" && x.S != nil {
		tensor.Malformed("%v scattered into %v by %.20q", updates.Type, x.Type, mode)
	}
	if name == "" {
		return nil
	}
	f := element.Binaries[name]
	return &f
}

func scatterElements(c *run.Call) []*tensor.Tensor {
	x, index, updates := c.X(0), c.X(1), c.X(2)
	a := tensor.Axis(c.Int("axis", 0), len(x.Shape))
	f := joins(c, x, updates)
	if !slices.Equal(index.Shape, updates.Shape) {
		tensor.Malformed("%d indices for %d", index.Shape, updates.Shape)
	}
	to := along(x, index, a)
	out := writable(c, index, updates)
	for i, at := range to {
		merge(out, at, updates, i, 1, f)
	}
	return run.One(out)
}

func scatterND(c *run.Call) []*tensor.Tensor {
	x, index, updates := c.X(0), c.X(1), c.X(2)
	f := joins(c, x, updates)
	starts, size := slots(x, index, 0)
	if updates.Len() != len(starts)*size {
		tensor.Malformed("updates of shape %d at %d of %d", updates.Shape, index.Shape, x.Shape)
	}
	out := writable(c, index, updates)
	for i, at := range starts {
		merge(out, at, updates, i*size, size, f)
	}
	return run.One(out)
}

// tensorScatter writes rows of a cache, for each batch from an index of its own.
func tensorScatter(c *run.Call) []*tensor.Tensor {
	x, update, first := c.X(0), c.X(1), c.Opt(2)
	a := tensor.Axis(c.Int("axis", -2), len(x.Shape))
	if a == 0 || len(update.Shape) != len(x.Shape) || update.Type != x.Type || first != nil && first.Len() != x.Shape[0] {
		tensor.Malformed("%v of shape %d into %v of %d", update.Type, update.Shape, x.Type, x.Shape)
	}
	for d, n := range x.Shape {
		if m := update.Shape[d]; d != a && m != n || m > n {
			tensor.Malformed("shape %d into %d", update.Shape, x.Shape)
		}
	}
	circular := c.Text("mode", "linear") == "circular"
	outer, n, inner := tensor.Split(x.Shape, a)
	rows := update.Shape[a]
	out := writable(c, update, first)
	if out.Len() == 0 {
		return run.One(out)
	}
	for o := range outer {
		at := int64(0)
		if first != nil {
			at = first.I[o/(outer/x.Shape[0])]
		}
		if at < 0 || !circular && at > int64(n-rows) {
			tensor.Malformed("%d rows at %d of %d", rows, at, n)
		}
		for r := range rows {
			to := int((at%int64(n) + int64(r)) % int64(n))
			if !circular {
				to = int(at) + r
			}
			tensor.CopyElems(out, (o*n+to)*inner, update, (o*rows+r)*inner, inner)
		}
	}
	return run.One(out)
}
