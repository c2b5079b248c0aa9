package recurrent

import (
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/gemm"
	"quern/kernels/threads"
)

// A multiplier is a matrix that multiplies rows, as gemm.Gemm does.
type multiplier interface {
	Run(p *threads.Pool, dst []float32, dstStride int, x []float32, xStride, rows int, add bool)
}

// operands are the matrices of a layer.
type operands struct {
	in, hidden, directions int
	apart                  bool                                           // directions may run at the same time
	input                  func(direction int, bias []float32) multiplier // to all gates
	state                  func(direction, from, n int) multiplier        // to n of the rows of gates
}

// A part is rows of a tensor of weights (directions, rows, columns).
type part struct {
	of               *tensor.Tensor
	from, n, columns int
}

// rowsOf lays out n rows of t from row from on, once for a constant: a model of
// live sound runs a layer for a step at a time.
func rowsOf(c *run.Call, t *tensor.Tensor, from, n int, bias []float32) *gemm.Gemm {
	k := t.Shape[2]
	return gemm.NewGemm(run.Prepared(c, part{t, from, n, k}, tensor.Constant(t), func() *gemm.Panels {
		p := gemm.NewPanels(n, k)
		p.PackRows(t.F[from*k:(from+n)*k], k)
		return p
	}), bias)
}

// floatOperands checks weights of float32: (directions, gates · hidden, in) and
// (directions, gates · hidden, hidden).
func floatOperands(c *run.Call, gates int) operands {
	w, r := c.X(1), c.X(2)
	if len(w.Shape) != 3 || len(r.Shape) != 3 {
		tensor.Malformed("%s of shapes %d and %d", c.Node.Op, w.Shape, r.Shape)
	}
	o := operands{in: w.Shape[2], hidden: r.Shape[2], directions: w.Shape[0], apart: true}
	wide := gates * o.hidden
	isFloats(c, w, o.directions, wide, o.in)
	isFloats(c, r, o.directions, wide, o.hidden)
	o.input = func(d int, bias []float32) multiplier { return rowsOf(c, w, d*wide, wide, bias) }
	o.state = func(d, from, n int) multiplier { return rowsOf(c, r, d*wide+from, n, nil) }
	return o
}

// isFloats fails unless t is nil or of that shape.
func isFloats(c *run.Call, t *tensor.Tensor, shape ...int) {
	switch {
	case t == nil:
	case t.F == nil:
		tensor.Unsupported("%s of %v", c.Node.Op, t.Type)
	case !slices.Equal(t.Shape, shape):
		tensor.Malformed("shape %d, want %d", t.Shape, shape)
	}
}

// recur runs cells over sequences x (time, batch, in), or with a layout of 1
// (batch, time, in), and returns all states, the last ones and those of cells.
// The products of the input are made for all times at once.
func recur(c *run.Call, gates int, o operands, step func(*cell), missing ...string) []*tensor.Tensor {
	x, bias, lens, h0 := c.X(0), c.Opt(3), c.Opt(4), c.Opt(5)
	var c0, peep *tensor.Tensor
	if gates == 4 {
		c0, peep = c.Opt(6), c.Opt(7)
	}
	layout, direction := c.Int("layout", 0), c.Text("direction", "forward")
	directions := 1
	switch direction {
	case "forward", "reverse":
	case "bidirectional":
		directions = 2
	default:
		tensor.Malformed("direction %.20q", direction)
	}
	if x.F == nil {
		tensor.Unsupported("%s of %v", c.Node.Op, x.Type)
	}
	if len(x.Shape) != 3 || x.Shape[2] != o.in || directions != o.directions {
		tensor.Malformed("%s of shape %d with %d directions of %d", c.Node.Op, x.Shape, o.directions, o.in)
	}
	if layout == 1 {
		x = c.Permuted(x, x.Shape, 1, 0, 2)
	}
	times, batch, in, n := x.Shape[0], x.Shape[1], o.in, o.hidden
	wide := gates * n
	isFloats(c, bias, directions, 2*wide)
	isFloats(c, peep, directions, 3*n)
	for _, t := range []*tensor.Tensor{h0, c0} {
		if layout == 1 {
			isFloats(c, t, batch, directions, n)
		} else {
			isFloats(c, t, directions, batch, n)
		}
	}
	lengths := make([]int, batch)
	for b := range lengths {
		lengths[b] = times
	}
	if lens != nil {
		copy(lengths, lens.List())
		for _, l := range lengths {
			if lens.Len() != batch || l < 0 || l > times {
				tensor.Malformed("sequences of %d in %d of %d", lens.List(), batch, times)
			}
		}
	}
	// y is (time, directions, batch, hidden), or with a layout of 1 (batch,
	// time, directions, hidden), h (directions, batch, hidden) or turned.
	y, h := c.Zeros(x.Type, times, directions, batch, n), c.Zeros(x.Type, directions, batch, n)
	if layout == 1 {
		y, h = c.Zeros(x.Type, batch, times, directions, n), c.Zeros(x.Type, batch, directions, n)
	}
	last := c.Zeros(x.Type, h.Shape...)
	if n == 0 || in == 0 || batch == 0 {
		return []*tensor.Tensor{y, h, last}
	}
	stateAt := func(d, b int) int {
		if layout == 1 {
			return (b*directions + d) * n
		}
		return (d*batch + b) * n
	}
	input := c.Blank(onnx.Float, directions, times*batch, wide).F
	buffers := c.Zeros(onnx.Float, directions, 4*batch*n+batch*wide).F
	acts := activate(c, directions, missing)
	// Small products of two directions are made side by side: handing out the parts of one
	// would take as long as it does.
	apart := directions > 1 && c.Pool().Workers() > 1 && o.apart && batch*wide*n <= mostApart
	cells := make([]*cell, directions)
	for d := range cells {
		scratch := buffers[d*(4*batch*n+batch*wide):]
		l := &cell{
			pool: c.Pool(), gates: gates, hidden: n, act: acts[d], clip: float32(c.Float("clip", 0)), batch: batch,
			linearReset: c.Int("linear_before_reset", 0) != 0, coupled: c.Int("input_forget", 0) != 0,
			h: scratch[:batch*n], c: scratch[batch*n : 2*batch*n], scratch: scratch[2*batch*n : 3*batch*n],
			next: scratch[3*batch*n : 4*batch*n], x: scratch[4*batch*n:][:batch*wide],
			input: input[d*times*batch*wide:][:times*batch*wide],
		}
		cells[d] = l
		if apart {
			l.pool = threads.NewPool(1)
		}
		if peep != nil {
			l.peep = peep.F[d*3*n : (d+1)*3*n]
		}
		l.usual = gates == 4 && layout == 0 && lens == nil && peep == nil && l.clip == 0 && !l.coupled && c.Attr("activations") == nil
		sum := make([]float32, wide)
		l.recBias = make([]float32, n)
		if bias != nil {
			of := bias.F[d*2*wide:]
			copy(sum, of[:wide])
			joint := of[wide : 2*wide]
			if gates == 3 && l.linearReset {
				copy(l.recBias, joint[2*n:])
				joint = joint[:2*n]
			}
			for k, v := range joint {
				sum[k] += v
			}
		}
		if gates == 3 {
			l.rec = []multiplier{o.state(d, 0, 2*n), o.state(d, 2*n, n)}
		} else {
			l.rec = []multiplier{o.state(d, 0, wide)}
		}
		o.input(d, sum).Run(c.Pool(), l.input, wide, x.F, in, times*batch, false)
		for b := range batch {
			if h0 != nil {
				copy(l.h[b*n:(b+1)*n], h0.F[stateAt(d, b):])
			}
			if c0 != nil {
				copy(l.c[b*n:(b+1)*n], c0.F[stateAt(d, b):])
			}
		}
	}
	longest := slices.Max(lengths)
	// side takes a direction from one step to another.
	side := func(d, from, to int) {
		l, back := cells[d], d == 1 || direction == "reverse"
		at := func(s, length int) int {
			if back {
				return length - 1 - s
			}
			return s
		}
		for s := from; s < to; s++ {
			if l.usual {
				t := at(s, times)
				l.long(y.F[(t*directions+d)*batch*n:][:batch*n], l.input[t*batch*wide:][:batch*wide])
				continue
			}
			for b, length := range lengths {
				if s >= length {
					clear(l.x[b*wide : (b+1)*wide])
					continue
				}
				copy(l.x[b*wide:(b+1)*wide], l.input[(at(s, length)*batch+b)*wide:])
			}
			step(l)
			for b, length := range lengths {
				if s >= length {
					continue
				}
				state := l.next[b*n : (b+1)*n]
				copy(l.h[b*n:], state)
				t := at(s, length)
				if layout == 1 {
					copy(y.F[((b*times+t)*directions+d)*n:], state)
				} else {
					copy(y.F[((t*directions+d)*batch+b)*n:], state)
				}
				if s == length-1 {
					copy(last.F[stateAt(d, b):][:n], l.c[b*n:])
				}
			}
		}
	}
	for from := 0; from < longest; from += stretch {
		c.Yield()
		c.Check()
		to := min(longest, from+stretch)
		if apart {
			c.SpreadOut(directions, func(_, d int) { side(d, from, to) })
			continue
		}
		for d := range directions {
			side(d, from, to)
		}
	}
	for d, l := range cells {
		for b, length := range lengths {
			copy(h.F[stateAt(d, b):][:n], l.h[b*n:])
			if l.usual || length == 0 && c0 != nil {
				copy(last.F[stateAt(d, b):][:n], l.c[b*n:])
			}
		}
	}
	return []*tensor.Tensor{tensor.Rounded(y), tensor.Rounded(h), tensor.Rounded(last)}
}

const (
	// stretch is how many steps are taken before others may use the pool.
	stretch = 64
	// mostApart is the multiplications of a step of a direction, up to which one worker
	// makes them.
	mostApart = 1 << 21
)
