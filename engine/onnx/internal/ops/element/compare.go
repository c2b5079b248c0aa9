package element

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// An order is a set of less, same and greater.
type order uint8

const (
	less order = 1 << iota
	same
	greater
)

func compare(c *run.Call, o order) *tensor.Tensor {
	a, b := c.X(0), c.X(1)
	numbers(c, a, b)
	out := c.Blank(onnx.Bool, tensor.Broadcast(a.Shape, b.Shape)...)
	if out.Len() == 0 {
		return out
	}
	g := run.NewGrid(out.Shape, a.Shape, b.Shape)
	switch {
	case a.F != nil:
		compareAll(c, g, out.I, a.F, b.F, o)
	case a.D != nil:
		compareAll(c, g, out.I, a.D, b.D, o)
	case a.Type == onnx.Uint64:
		run.Zip(c, g, out.I, a.I, b.I, func(a, b int64) int64 { return ordered(uint64(a), uint64(b), o) })
	default:
		compareAll(c, g, out.I, a.I, b.I, o)
	}
	return out
}

func compareAll[T float32 | float64 | int64](c *run.Call, g *run.Grid, dst []int64, a, b []T, o order) {
	g.Rows(c, func(at, n int, from, step []int) {
		row, a, b := dst[at:at+n], a[from[0]:], b[from[1]:]
		sa, sb := step[0], step[1]
		for i := range row {
			row[i] = ordered(a[i*sa], b[i*sb], o)
		}
	})
}

func ordered[T float32 | float64 | int64 | uint64](a, b T, o order) int64 {
	if a < b && o&less != 0 || a > b && o&greater != 0 || a == b && o&same != 0 {
		return 1
	}
	return 0
}

func equal(c *run.Call) []*tensor.Tensor {
	a, b := c.X(0), c.X(1)
	if a.S == nil || b.S == nil {
		return run.One(compare(c, same))
	}
	out := c.Blank(onnx.Bool, tensor.Broadcast(a.Shape, b.Shape)...)
	if out.Len() > 0 {
		run.Zip(c, run.NewGrid(out.Shape, a.Shape, b.Shape), out.I, a.S, b.S, func(a, b string) int64 {
			if a == b {
				return 1
			}
			return 0
		})
	}
	return run.One(out)
}
