// Package conv holds one-dimensional convolutions over rows in time: plain, fast
// (by Fourier transforms of tiles) and transposed.
package conv

import (
	"fmt"

	"quern/kernels/gemm"
	"quern/kernels/threads"
)

// ConvOptions describe a one-dimensional convolution. Stride and Dilation of
// zero mean one.
type ConvOptions struct {
	Stride, Dilation int
	Left, Right      int       // rows of zeros before and after the input
	Bias             []float32 // (out) or nil
	// Fast, if not nil, lets filters of stride 1 over many channels be computed
	// with a half to a fifth of the multiplications, from weights of four times the size.
	Fast *FastConv
}

// A Conv is a one-dimensional convolution over rows in time, one row of
// channels per step:
//
//	dst[t][o] = bias[o] + Σ_j Σ_i w[o][j][i] · x[t·Stride + j·Dilation - Left][i]
//
// Shifted rows are not copied: the taps are further terms of the sums of one matrix
// product. A sum's order is fixed, see gemm.Panels. It is made once per
// weight and is not safe for concurrent use.
type Conv struct {
	w              *gemm.Panels // or fast
	fast           *fastConv    // or nil
	taps, in, out  int
	o              ConvOptions
	phase          phase
	x, dst         []float32
	rows           int
	add            bool
	per, across    int
	columns, count int
	region         threads.Region
}

// NewConv packs w, which is (out, taps, in). The bias is kept, not copied.
func NewConv(w []float32, out, taps, in int, o ConvOptions) *Conv {
	if out <= 0 || taps <= 0 || in <= 0 || len(w) != out*taps*in || o.Bias != nil && len(o.Bias) != out ||
		o.Stride < 0 || o.Dilation < 0 || o.Left < 0 || o.Right < 0 {
		panic(fmt.Sprintf("conv: a convolution %d×%d×%d of %d floats with %d biases, stride %d, dilation %d, padding %d and %d",
			out, taps, in, len(w), len(o.Bias), o.Stride, o.Dilation, o.Left, o.Right))
	}
	o.Stride, o.Dilation = max(1, o.Stride), max(1, o.Dilation)
	c := &Conv{taps: taps, in: in, out: out, o: o}
	if o.suits(out, taps, in) {
		c.fast = newFastConv(w, out, taps, in, &c.o)
		c.region.F = func(worker, i int) { c.fast.chunk(c, worker, i) }
		return c
	}
	c.w = gemm.NewPanels(out, taps*in)
	c.w.PackRows(w, taps*in)
	c.phase = phase{taps: taps, first: -o.Left, step: o.Stride, dilation: o.Dilation}
	c.region.F = c.chunk
	return c
}

// Rows returns how many rows the result for that many rows has, 0 where the
// padded input is shorter than the filter.
func (c *Conv) Rows(rows int) int {
	return max(0, (rows+c.o.Left+c.o.Right-(c.taps-1)*c.o.Dilation-1+c.o.Stride)/c.o.Stride)
}

// Run writes the convolution of x (rows, in) to dst (Rows(rows), out). With add
// it is added to what dst holds. dst may not overlap x.
func (c *Conv) Run(p *threads.Pool, dst, x []float32, rows int, add bool) {
	count := c.Rows(rows)
	if len(x) != rows*c.in || len(dst) != count*c.out {
		panic(fmt.Sprintf("conv: convolution of %d rows of %d in %d floats into %d rows of %d in %d", rows, c.in, len(x), count, c.out, len(dst)))
	}
	c.dst, c.x, c.rows, c.add, c.count = dst, x, rows, add, count
	if c.fast != nil {
		p.Run(c.fast.chunks(p.Workers(), count, c.o.Dilation), &c.region)
	} else {
		o := gemm.CutProduct(&gemm.Product{Rows: count, N: c.out}, p.Workers())
		c.per, c.columns, c.across = o.Rows, o.Columns, o.Across
		p.Run(o.Chunks(), &c.region)
	}
	c.dst, c.x = nil, nil
}

func (c *Conv) chunk(_, i int) {
	r, j := i/c.across*c.per, i%c.across*c.columns
	n := min(c.columns, c.out-j)
	s := gemm.Product{Dst: c.dst[j:], DstStride: c.out, X: c.x, K: c.in, W: c.w.Data()[j*c.w.Columns():], WStride: c.w.Columns() * gemm.PanelWidth, N: n}
	switch {
	case c.add:
		if c.o.Bias != nil {
			bias := c.o.Bias[j : j+n]
			for at := r; at < min(r+c.per, c.count); at++ {
				for k, v := range bias {
					s.Dst[at*c.out+k] += v
				}
			}
		}
		s.Init, s.InitStride = s.Dst, s.DstStride
	case c.o.Bias != nil:
		s.Init = c.o.Bias[j:]
	}
	c.phase.run(&s, c.rows, r, min(r+c.per, c.count))
}

// A phase says which rows of the input the rows of a result are summed from:
// tap j of row r is row first + r·step + j·dilation, and rows that do not exist
// are zero.
type phase struct {
	w                           *gemm.Panels // of a transposed convolution's taps, nil without any
	taps, first, step, dilation int
}

// run computes rows r0 to r1 of a result. s has everything that does not depend on the
// row, with dst, init, x and w from their start; x is (rows, s.K).
func (f *phase) run(s *gemm.Product, rows, r0, r1 int) {
	for r := r0; r < r1; {
		// Rows that have the same taps inside the input are one product; those are all
		// rows but a few at both ends.
		t0, t1 := f.inside(rows, r)
		end := r + 1
		if t0 == 0 && t1 == f.taps {
			end = min(r1, max(end, (rows-1-f.first-(f.taps-1)*f.dilation)/f.step+1))
		} else {
			for end < r1 {
				if a, b := f.inside(rows, end); a != t0 || b != t1 {
					break
				}
				end++
			}
		}
		p := *s
		p.Dst, p.Rows = s.Dst[r*s.DstStride:], end-r
		if s.Init != nil {
			p.Init = s.Init[r*s.InitStride:]
		}
		p.XStride, p.TapStride, p.Taps = f.step*s.K, f.dilation*s.K, t1-t0
		if p.Taps > 0 {
			p.X = s.X[(f.first+r*f.step+t0*f.dilation)*s.K:]
			p.W = s.W[t0*s.K*gemm.PanelWidth:]
		}
		p.Run()
		r = end
	}
}

// inside returns the taps from t0 up to t1 of row r that meet the input.
func (f *phase) inside(rows, r int) (t0, t1 int) {
	at := f.first + r*f.step
	if at < 0 {
		t0 = min(f.taps, (-at+f.dilation-1)/f.dilation)
	}
	if at < rows {
		t1 = min(f.taps, (rows-1-at)/f.dilation+1)
	}
	return t0, max(t0, t1)
}

// A ConvTranspose is a transposed one-dimensional convolution over rows in time:
//
//	dst[t·stride + j - crop][o] += w[o][j][i] · x[t][i], starting from bias[o]
//
// Rows of the result that are stride apart are a convolution of their own with
// every stride-th tap, so no product with an inserted zero is computed. It is
// made once per weight and is not safe for concurrent use.
//
// Odena, Dumoulin & Olah, "Deconvolution and Checkerboard Artifacts", 2016, has
// a picture; Vaidyanathan, "Multirate Systems and Filter Banks", 1993, §4.3,
// the polyphase form.
type ConvTranspose struct {
	taps, in, out      int
	stride, crop, more int
	bias               []float32
	phases             []phase
	x, dst             []float32
	rows, count, per   int
	region             threads.Region
}

// NewConvTranspose packs w, which is (out, taps, in). crop rows are cut off
// both ends of the result and more rows are added to its end, as padding and
// output_padding do elsewhere. bias may be nil; it is kept, not copied.
func NewConvTranspose(w []float32, out, taps, in, stride, crop, more int, bias []float32) *ConvTranspose {
	if out <= 0 || taps <= 0 || in <= 0 || stride <= 0 || crop < 0 || more < 0 || len(w) != out*taps*in || bias != nil && len(bias) != out {
		panic(fmt.Sprintf("conv: a transposed convolution %d×%d×%d of %d floats with %d biases, stride %d, %d rows off, %d on",
			out, taps, in, len(w), len(bias), stride, crop, more))
	}
	c := &ConvTranspose{taps: taps, in: in, out: out, stride: stride, crop: crop, more: more, bias: bias}
	for p := range stride {
		// Row r of the phase is row r·stride + p of the result, which is row
		// r·stride + p + crop before cropping: of its taps j, those with
		// (p + crop - j) a multiple of stride, the last first so that rows of x
		// ascend.
		var used []int
		for j := taps - 1; j >= 0; j-- {
			if (p+crop-j)%stride == 0 {
				used = append(used, j)
			}
		}
		f := phase{taps: len(used), step: 1, dilation: 1}
		if len(used) > 0 {
			f.first = (p + crop - used[0]) / stride
			panel := gemm.NewPanels(out, len(used)*in)
			sub := make([]float32, out*len(used)*in)
			for o := range out {
				for i, j := range used {
					copy(sub[(o*len(used)+i)*in:][:in], w[(o*taps+j)*in:])
				}
			}
			panel.PackRows(sub, len(used)*in)
			f.w = panel
		}
		c.phases = append(c.phases, f)
	}
	c.region.F = c.chunk
	return c
}

// Rows returns how many rows the result for that many rows has.
func (c *ConvTranspose) Rows(rows int) int {
	if rows == 0 {
		return 0
	}
	return max(0, (rows-1)*c.stride+c.taps-2*c.crop+c.more)
}

// Run writes the transposed convolution of x (rows, in) to dst (Rows(rows), out).
// dst may not overlap x.
func (c *ConvTranspose) Run(p *threads.Pool, dst, x []float32, rows int) {
	count := c.Rows(rows)
	if len(x) != rows*c.in || len(dst) != count*c.out {
		panic(fmt.Sprintf("conv: transposed convolution of %d rows of %d in %d floats into %d rows of %d in %d", rows, c.in, len(x), count, c.out, len(dst)))
	}
	c.dst, c.x, c.rows, c.count = dst, x, rows, count
	each := (count + c.stride - 1) / c.stride // rows of the first phase
	c.per = gemm.CutProduct(&gemm.Product{Rows: each, N: 1}, p.Workers()).Rows
	if each > 0 {
		p.Run((each+c.per-1)/c.per*c.stride, &c.region)
	}
	c.dst, c.x = nil, nil
}

func (c *ConvTranspose) chunk(_, i int) {
	f, r := i%c.stride, i/c.stride*c.per
	end := min(r+c.per, (c.count-f+c.stride-1)/c.stride)
	if end <= r {
		return
	}
	ph := &c.phases[f]
	s := gemm.Product{Dst: c.dst[f*c.out:], DstStride: c.stride * c.out, Init: c.bias, X: c.x, K: c.in, WStride: ph.taps * c.in * gemm.PanelWidth, N: c.out}
	if ph.w != nil {
		s.W = ph.w.Data()
	}
	ph.run(&s, c.rows, r, end)
}

// Move is Move of the packed weights.
func (c *Conv) Move(memory func(n int) []float32) {
	if c.fast != nil {
		for i := range c.fast.products {
			c.fast.products[i].w.Move(memory)
		}
		return
	}
	c.w.Move(memory)
}

// Move is Move of the packed weights.
func (c *ConvTranspose) Move(memory func(n int) []float32) {
	for i := range c.phases {
		if w := c.phases[i].w; w != nil {
			w.Move(memory)
		}
	}
}
