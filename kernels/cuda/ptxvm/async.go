package ptxvm

import (
	"math"
	"math/bits"
	"slices"

	"quern/kernels/quant"
)

// A transfer is up to 16 bytes on their way to shared memory.
type transfer struct {
	to   uint64
	size int
	data [16]byte
}

// transfers are a lane's: those not yet committed, and the groups, oldest first.
type transfers struct {
	open   []transfer
	groups [][]transfer
}

// copyAsync makes cp.async.cg.shared.global [to], [from], size, n, n being how many
// of the bytes are read before zeros follow; with ca size is one of more. The bytes
// arrive when their group is waited for; until then they count as never written,
// so that reading too early is a fault, and so is a copy to where another warp
// still reads.
func copyAsync(sizes ...uint64) func(*call) (run, error) {
	return func(c *call) (run, error) {
		to, from, count := c.args[0], c.args[1], c.args[3]
		v := c.args[2].value
		if v == nil || !slices.Contains(sizes, v[0]) {
			return nil, errMeaning
		}
		size := int(v[0])
		return func(w *warp, m uint32) {
			t, f, read := *w.in(to, m), *w.in(from, m), *w.in(count, m)
			for ; m != 0; m &= m - 1 {
				l := bits.TrailingZeros32(m)
				x := transfer{to: t[l] + to.off, size: size}
				at, n := f[l]+from.off, int(read[l]&math.MaxUint32)
				switch {
				case n > size || n > 0 && at%uint64(size) != 0:
					w.fault(l, "an asynchronous copy of %d bytes of %d from %#x", n, size, at)
				case n == size:
					copy(x.data[:], w.at(global, at, n, false, l))
				default:
					for i := range n {
						x.data[i] = w.at(global, at+uint64(i), 1, false, l)[0]
					}
				}
				w.at(shared, x.to, size, true, l)
				w.block.shared.forget(x.to, size)
				w.async[l].open = append(w.async[l].open, x)
			}
		}, nil
	}
}

func commitAsync(*call) (run, error) {
	return func(w *warp, m uint32) {
		for ; m != 0; m &= m - 1 {
			a := &w.async[bits.TrailingZeros32(m)]
			a.groups = append(a.groups, a.open)
			a.open = nil
		}
	}, nil
}

// waitAsync makes cp.async.wait_group n: all groups but the last n are done.
func waitAsync(c *call) (run, error) {
	n := c.args[0].value
	if n == nil || n[0] > 16 {
		return nil, errMeaning
	}
	return func(w *warp, m uint32) {
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			a := &w.async[l]
			for len(a.groups) > int(n[0]) {
				for _, x := range a.groups[0] {
					copy(w.at(shared, x.to, x.size, true, l), x.data[:x.size])
				}
				a.groups = a.groups[1:]
			}
		}
	}, nil
}

// loadMatrix makes ldmatrix.sync.aligned.m8n8.xN[.trans].shared.b16: lanes 8i to
// 8i+7 point to the rows, of eight numbers, of matrix i; lane l gets the numbers
// 2·(l%4) and the next of row l/4, transposed those of column l/4.
//
// NVIDIA, "Parallel Thread Execution ISA", §9.7.14.5.15.
func loadMatrix(c *call) (run, error) {
	d, addr := c.args[0].vec, c.args[1]
	want := map[bool]int{c.has("x1"): 1, c.has("x2"): 2, c.has("x4"): 4}[true]
	if !c.has("sync") || !c.has("aligned") || !c.has("m8n8") || !c.has("shared") || c.of != (numType{untyped, 2}) || len(d) != want {
		return nil, errMeaning
	}
	trans := c.has("trans")
	c.in.flow, c.in.members = collective, constantOf(math.MaxUint32)
	return func(w *warp, m uint32) {
		if m != math.MaxUint32 {
			w.fault(bits.TrailingZeros32(m), "a load of matrices by part of a warp")
		}
		at := *w.in(addr, m)
		for i, e := range d {
			var x [8][]byte
			for r := range x {
				x[r] = w.at(shared, at[8*i+r]+addr.off, 16, false, 8*i+r)
			}
			number := func(r, c int) uint64 { return uint64(x[r][2*c]) | uint64(x[r][2*c+1])<<8 }
			out := w.out(e, m)
			for l := range out {
				r, c := l/4, l%4*2
				if trans {
					out[l] = number(c, r) | number(c+1, r)<<16
				} else {
					out[l] = number(r, c) | number(r, c+1)<<16
				}
			}
		}
	}, nil
}

// packF16 and packBF16 make cvt.rn.f16x2.f32 and cvt.rn.bf16x2.f32, whose first
// number goes to the upper half.
func packF16(c *call) (run, error) {
	return pack(c, func(f float32) uint16 { return quant.F32ToF16(f) })
}

func packBF16(c *call) (run, error) {
	return pack(c, func(f float32) uint16 {
		if f != f {
			return 0x7fff
		}
		b := math.Float32bits(f)
		return uint16((b + 0x7fff + b>>16&1) >> 16)
	})
}

func pack(c *call, half func(float32) uint16) (run, error) {
	if c.of != (numType{floating, 4}) {
		return nil, errMeaning
	}
	return map2(c, func(a, b uint64) uint64 {
		return uint64(half(math.Float32frombits(uint32(a))))<<16 | uint64(half(math.Float32frombits(uint32(b))))
	}), nil
}

// halves makes instructions on two F16 at once. A float32 has more than twice the
// bits of one, so that rounding to it first changes nothing.
func halves(f func(a, b float32) float32) func(*call) (run, error) {
	return func(c *call) (run, error) {
		one := func(a, b uint64) uint64 {
			return uint64(quant.F32ToF16(f(quant.F16ToF32(uint16(a)), quant.F16ToF32(uint16(b)))))
		}
		return map2(c, func(a, b uint64) uint64 { return one(a, b) | one(a>>16, b>>16)<<16 }), nil
	}
}
