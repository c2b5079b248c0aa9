package ptxvm

import (
	"math"
	"math/bits"

	"quern/kernels/quant"
)

// A tileShape is a warp's matrix product: A is (16, k) and row-major, B (k, 8)
// and column-major, C and D (16, 8). Lane l holds rows l/4 and l/4+8 of A and D, column
// l/4 of B, and columns 2·(l%4) and the next of D; a register of A or B holds per
// neighbours of k.
//
// NVIDIA, "Parallel Thread Execution ISA", §9.7.14.5, figures of mma.m16n8k16
// and mma.m16n8k32.
type tileShape struct {
	k, per int // k and the numbers in a register
	number func(reg uint64, i int) float64
	sum    func(c uint64, s float64) uint64
}

// Integer products are exact. Those of floats are summed in float64 and rounded
// once; a GPU rounds, or cuts, along the way.
var tileShapes = map[string]tileShape{
	"m16n8k16 s32 s8 s8 s32":     {16, 4, byteOf, addInt},
	"m16n8k32 s32 s8 s8 s32":     {32, 4, byteOf, addInt},
	"m16n8k16 f32 bf16 bf16 f32": {16, 2, brainOf, addFloat},
	"m16n8k16 f32 f16 f16 f32":   {16, 2, halfOf, addFloat},
}

func byteOf(reg uint64, i int) float64 { return float64(int8(reg >> (8 * i))) }

func brainOf(reg uint64, i int) float64 {
	return float64(math.Float32frombits(uint32(reg>>(16*i)) << 16))
}

func halfOf(reg uint64, i int) float64 { return float64(quant.F16ToF32(uint16(reg >> (16 * i)))) }

func addInt(c uint64, s float64) uint64 { return uint64(uint32(int32(c) + int32(s))) }

func addFloat(c uint64, s float64) uint64 {
	return uint64(math.Float32bits(float32(float64(math.Float32frombits(uint32(c))) + s)))
}

// product makes mma.sync.aligned.SHAPE.row.col.D.A.B.C.
func product(c *call) (run, error) {
	if len(c.mods) != 9 || c.mods[0] != "sync" || c.mods[1] != "aligned" || c.mods[3] != "row" || c.mods[4] != "col" {
		return nil, errMeaning
	}
	key := c.mods[2]
	for _, mod := range c.mods[5:] {
		key += " " + mod
	}
	s, ok := tileShapes[key]
	if !ok {
		return nil, errMeaning
	}
	d, a, b, add := c.args[0].vec, c.args[1].vec, c.args[2].vec, c.args[3].vec
	n := s.k / s.per / 4 // registers of B
	if len(d) != 4 || len(add) != 4 || len(a) != 2*n || len(b) != n {
		return nil, errMeaning
	}
	c.in.flow, c.in.members = collective, constantOf(math.MaxUint32)
	return func(w *warp, m uint32) {
		if m != math.MaxUint32 {
			w.fault(bits.TrailingZeros32(m), "a matrix product of part of a warp")
		}
		// A register may be both source and destination.
		var x [16][32]float64
		var y [32][8]float64
		for i, e := range a {
			r := w.in(e, m)
			for l := range warpSize {
				for j := range s.per {
					x[l/4+8*(i&1)][(i>>1)*4*s.per+l%4*s.per+j] = s.number(r[l], j)
				}
			}
		}
		for i, e := range b {
			r := w.in(e, m)
			for l := range warpSize {
				for j := range s.per {
					y[i*4*s.per+l%4*s.per+j][l/4] = s.number(r[l], j)
				}
			}
		}
		var out [4]lanes
		for i, e := range add {
			out[i] = *w.in(e, m)
			for l := range warpSize {
				sum := 0.0
				for k := range s.k {
					sum += x[l/4+8*(i>>1)][k] * y[k][l%4*2+(i&1)]
				}
				out[i][l] = s.sum(out[i][l], sum)
			}
		}
		for i, e := range d {
			*w.out(e, m) = out[i]
		}
	}, nil
}
