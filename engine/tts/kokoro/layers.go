package kokoro

import (
	"math"

	"quern/kernels"
	"quern/kernels/quant"
)

// blockRows is how many steps of a convolution are computed at a time: its
// inputs stay in the second-level cache while every weight passes over them.
const blockRows = 192

// A dense is a matrix (out, in) with an optional bias.
type dense struct {
	out, in int
	m       *kernels.MatMul
	w       []float32
}

func newDense(w []float32, out, in int, bias []float32) *dense {
	return &dense{out: out, in: in, w: w, m: kernels.NewMatMul(quant.F32, asBytes(w), out, in, bias)}
}

// run writes rows of x · Wᵀ + bias to dst. Row i of x begins at i·stride floats.
func (d *dense) run(c *call, dst, x []float32, stride, rows int) {
	for at := 0; at < rows; at += blockRows {
		n := min(blockRows, rows-at)
		c.yield()
		d.m.Run(c.pool, dst[at*d.out:(at+n)*d.out], asBytes(x[at*stride:]), 4*stride, n)
	}
}

// apply is run on a flat plane.
func (d *dense) apply(c *call, x plane) plane {
	y := c.arena.matrix(x.rows, d.out)
	d.run(c, y.data, x.flat(), d.in, x.rows)
	return y
}

// A conv is a convolution over time: weights (out, kernel, in), so that with
// steps in rows its input is a window of kernel rows, which lie side by side,
// and it is a matrix product over overlapping rows.
type conv struct {
	*dense
	kernel, stride, dilation, pad, in int
}

// apply returns the convolution of x, which has v.dilation phases and v.pad rows
// of padding. The result has the same phases and no padding.
func (v *conv) apply(c *call, x plane) plane {
	if v.dilation > 1 {
		y := c.arena.plane(x.rows, v.out, v.dilation, 0)
		for r := range v.dilation {
			from, to := r*x.stride()*x.cols, r*y.stride()*y.cols
			v.run(c, y.data[to:to+y.steps(r)*y.cols], x.data[from:], x.cols, x.steps(r))
		}
		return y
	}
	rows := (x.rows+2*x.pad-v.kernel)/v.stride + 1
	y := c.arena.matrix(rows, v.out)
	v.run(c, y.data, x.data, v.stride*x.cols, rows)
	return y
}

// A convT is a transposed convolution whose kernel is twice its stride: every
// output step sees two input steps, so all stride phases of the output are the
// rows of one matrix over pairs of neighbouring input steps, and what it writes
// for a pair is the output in time order.
type convT struct {
	*dense // (stride·out, 2·in)
	stride int
	width  int
}

// apply returns the transposed convolution of x, which has one row of padding.
// Padding of stride/2 is cut off both ends: x.rows·stride steps remain.
func (v *convT) apply(c *call, x plane) plane {
	// Pair i of rows (i-1, i) makes the steps from i·stride on, less the cut.
	pairs := x.rows + 1
	y := c.arena.floats(pairs * v.stride * v.width)
	v.run(c, y, x.data, x.cols, pairs)
	cut := v.stride / 2 * v.width
	rows := x.rows * v.stride
	return plane{rows: rows, cols: v.width, phases: 1, data: y[cut : cut+rows*v.width]}
}

// An lstm is a layer that reads its input in both directions: gates in the order
// input, forget, cell, output.
//
// Hochreiter & Schmidhuber, "Long Short-Term Memory", 1997, with forget gates.
type lstm struct {
	hidden int
	input  [2]*dense // forward and backward, with the sum of both biases
	state  [2]*dense
}

// apply returns (rows, 2·hidden): forward beside backward.
func (l *lstm) apply(c *call, x plane) plane {
	h := l.hidden
	y := c.arena.matrix(x.rows, 2*h)
	m := c.arena.mark()
	gates := c.arena.floats(x.rows * 4 * h)
	rec := c.arena.floats(4 * h)
	cell := c.arena.floats(h)
	hid := c.arena.floats(h)
	for dir := range 2 {
		l.input[dir].run(c, gates, x.flat(), x.cols, x.rows)
		clear(cell)
		clear(hid)
		for i := range x.rows {
			t := i
			if dir == 1 {
				t = x.rows - 1 - i
			}
			l.state[dir].run(c, rec, hid, h, 1)
			g := gates[t*4*h : (t+1)*4*h]
			for k := range hid {
				in := sigmoid(g[k] + rec[k])
				forget := sigmoid(g[h+k] + rec[h+k])
				cand := tanh(g[2*h+k] + rec[2*h+k])
				out := sigmoid(g[3*h+k] + rec[3*h+k])
				cell[k] = forget*cell[k] + in*cand
				hid[k] = out * tanh(cell[k])
			}
			copy(y.data[t*2*h+dir*h:], hid)
		}
	}
	c.arena.release(m)
	return y
}

func sigmoid(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }

func tanh(x float32) float32 { return float32(math.Tanh(float64(x))) }

// An affine is the linear layer that turns a style vector into the gain and the
// offset of a normalisation: gain is 1 + the first half.
type affine struct {
	w, b  []float32 // (2·cols, style), (2·cols)
	cols  int
	style int
	// The identity pair of InstanceNorm, where a file has it.
	gain, bias []float32
}

// at writes gain and offset for style s.
func (a *affine) at(gain, offset, s []float32) {
	for i := range 2 * a.cols {
		sum := a.b[i]
		for k, v := range a.w[i*a.style : (i+1)*a.style] {
			sum += v * s[k]
		}
		if i < a.cols {
			gain[i] = 1 + sum
		} else {
			offset[i-a.cols] = sum
		}
	}
	for i := range a.cols {
		// (1+γ)·(n·w + b) + β
		if a.bias != nil {
			offset[i] += gain[i] * a.bias[i]
		}
		if a.gain != nil {
			gain[i] *= a.gain[i]
		}
	}
}

// leak is LeakyReLU in place.
func leak(x []float32, slope float32) {
	for i, v := range x {
		if v < 0 {
			x[i] = v * slope
		}
	}
}

// concat puts flat planes of one length side by side.
func concat(c *call, parts ...plane) plane {
	cols := 0
	for _, p := range parts {
		cols += p.cols
	}
	y := c.arena.matrix(parts[0].rows, cols)
	at := 0
	for _, p := range parts {
		x := p.flat()
		for t := range p.rows {
			copy(y.data[t*cols+at:], x[t*p.cols:(t+1)*p.cols])
		}
		at += p.cols
	}
	return y
}

// beside puts the vector s beside every row of x.
func beside(c *call, x plane, s []float32) plane {
	y := c.arena.matrix(x.rows, x.cols+len(s))
	in := x.flat()
	for t := range x.rows {
		row := y.data[t*y.cols : (t+1)*y.cols]
		copy(row, in[t*x.cols:(t+1)*x.cols])
		copy(row[x.cols:], s)
	}
	return y
}

// repeat holds row i of x for counts[i] rows.
func repeat(c *call, x plane, counts []int, rows int) plane {
	y := c.arena.matrix(rows, x.cols)
	in, at := x.flat(), 0
	for i, n := range counts {
		for range n {
			copy(y.data[at:], in[i*x.cols:(i+1)*x.cols])
			at += x.cols
		}
	}
	return y
}

// padded copies x into a plane with pad rows around it.
func padded(c *call, x plane, pad int) plane {
	y := c.arena.plane(x.rows, x.cols, 1, pad)
	copy(y.data[pad*x.cols:], x.flat())
	return y
}
