package cuda

import (
	"quern/engine/graph"
	gpu "quern/kernels/cuda"
)

// Up to how many rows products go through the kernel that reads weights once for
// eight rows, and through the one for eight-bit tensor cores, which rounds less
// than the one for more rows.
const (
	gemvRows  = 8
	gemm8Rows = 64
)

var linearOp = row[graph.Linear]{
	weights: func(o graph.Linear) []weightKey { return keys(matrix(o.Weight), vector(o.Bias)) },
	scratch: func(o graph.Linear, p *part, rows int) {
		p.reserveScratch(acts, max(x32Words(rows, o.Weight.Shape[1]), p.d.wideWords(rows, o.Weight.Shape[1])))
		p.reserveScratch(portions, p.d.portionWords(rows))
	},
	lower: multiply,
}

// multiply multiplies by a matrix. Kernels of few rows take activations of eight
// bits, which the products of one value share.
func multiply(o graph.Linear, l lowering) {
	p := l.part
	w, typ := p.matrix(o.Weight)
	out, in := o.Weight.Shape[0], o.Weight.Shape[1]
	x, y, residual := l.x(0), l.y(), uint64(0)
	if l.plus != none {
		residual = uint64(p.value(l.plus))
	}
	small := p.d.small
	if v := l.In[0] + 1; p.held != v {
		p.held, p.quantised, p.ordered = v, false, false
	}
	if p.d.wgmma && !p.ordered {
		p.ordered = true
		l.add(func(rows int) error { return p.orderWide(x, in, rows) })
	}
	if gpu.Quantised(typ) && !p.quantised {
		p.quantised = true
		l.add(func(rows int) error {
			if !small(rows) {
				return nil
			}
			return p.start("quantize", gpu.Dims{Rows: rows, In: in}, p.scratchAt(acts), x, i32(in))
		})
	}
	l.add(func(rows int) error {
		if p.d.wide(rows, in) {
			return p.d.multiplyWide(typ, y, w, p.scratchAt(acts), p.vector(o.Bias), residual, p.scratchAt(portions), out, in, rows, p.d.portions(rows, out, in))
		}
		name, from := gpu.GEMVName(typ, rows), x
		if gpu.Quantised(typ) && small(rows) {
			from = p.scratchAt(acts)
		}
		if rows > gemvRows && p.d.info.Capability >= tensorCores {
			name = gpu.Name("gemm", typ)
			if gpu.Quantised(typ) && small(rows) {
				name = gpu.Name("gemm8", typ)
			}
		}
		return p.start(name, gpu.Dims{Rows: rows, Out: out}, y, w, from, p.vector(o.Bias), residual, i32(out), i32(in), i32(rows))
	})
}

// small reports whether products of so many rows take activations of eight bits,
// where the weights are of a type that allows it.
func (d *device) small(rows int) bool {
	return rows <= gemvRows || rows <= gemm8Rows && !d.wgmma || d.info.Capability < tensorCores
}

// normQuantise norms whole rows, and quantises or orders them in the same launch for
// the products that follow, where those take ActQ8_32 or gemm90_x's order.
func (p *part) normQuantise(o graph.RMSNorm, t task) {
	n := o.Weight.Shape[0]
	p.work = append(p.work, func() error {
		rows := p.rows(t.Out)
		x, y, w := uint64(p.value(t.In[0])), uint64(p.value(t.Out)), p.vector(o.Weight)
		switch {
		case rows == 0:
			return nil
		case p.d.small(rows):
			return p.start("rmsnorm_quantize", gpu.Dims{Rows: rows}, p.scratchAt(acts), 0, x, w, i32(n), f32(o.Eps))
		}
		if p.d.wide(rows, n) {
			return p.start("gemm90_norm", gpu.Dims{Rows: rows}, p.scratchAt(acts), x, w, i32(n), f32(o.Eps))
		}
		return p.start("rmsnorm", gpu.Dims{Rows: rows}, y, x, w, i32(n), 1, f32(o.Eps))
	})
	p.held, p.quantised, p.ordered = t.Out+1, true, true
}

// tensorCores is the compute capability the gemm kernels need.
const tensorCores = 80
