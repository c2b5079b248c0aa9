package onnx_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
	"quern/kernels/threads"
)

// roundRow is x as ONNX Runtime 1.30 multiplies it at accuracy_level 4: int8 in
// blocks as long as the weights', with a scale of the largest magnitude / 127 and
// rounded to even. Its results are those of this to 1e-6.
func roundRow(x []float32, block int) []float64 {
	out := make([]float64, len(x))
	for from := 0; from < len(x); from += block {
		part := x[from:min(from+block, len(x))]
		most := float32(0)
		for _, v := range part {
			most = max(most, float32(math.Abs(float64(v))))
		}
		d := most / 127
		for i, v := range part {
			out[from+i] = math.RoundToEven(float64(v*(1/d))) * float64(d)
		}
	}
	return out
}

// TestNBitsAccuracy holds products of accuracy_level 4 against exact ones and
// against ONNX Runtime's arithmetic: the same where blocks have 32 weights, no
// zero points and scales of 16 bits, and no farther from exact elsewhere.
func TestNBitsAccuracy(t *testing.T) {
	const n, k, rows = 20, 512, 48
	pool := threads.NewPool(2)
	defer pool.Close()
	for _, bits := range []int{4, 8} {
		for _, block := range []int{16, 32, 64, 128} {
			for i := range 4 {
				zeros, odd := i&1 != 0, i&2 != 0
				t.Run(fmt.Sprintf("%d bits, blocks of %d, zero points %v, scales of 32 bits %v", bits, block, zeros, odd), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(bits), uint64(block)))
					count := k / block
					data := make([]byte, n*count*block*bits/8)
					for i := range data {
						data[i] = byte(rng.Uint32())
					}
					scale := make([]float32, n*count)
					for i := range scale {
						scale[i] = float32(1+rng.IntN(16)) / 1024 // float16's, too
						if odd {
							scale[i] *= 0.9 + 0.2*rng.Float32()
						}
					}
					zero := make([]byte, n*count*bits/8)
					for i := range zero {
						zero[i] = byte(rng.Uint32())
					}
					x := make([]float32, rows*k)
					for i := range x {
						x[i] = float32(rng.NormFloat64())
					}
					at := func(b []byte, from, i int) int { return int(b[from+i*bits/8]) >> (i * bits % 8) & (1<<bits - 1) }
					weight := func(r, c int) float64 {
						j := c / block
						z := 1 << (bits - 1)
						if zeros {
							z = at(zero, r*count*bits/8, j)
						}
						return float64(at(data, (r*count+j)*block*bits/8, c%block)-z) * float64(scale[r*count+j])
					}

					b := onnxtest.New(21)
					in := []string{
						b.Input("x", onnx.Float, rows, k),
						b.Weight(&onnx.Tensor{Type: onnx.Uint8, Shape: []int{n, count, block * bits / 8}, Data: data}),
						b.Floats([]int{n * count}, scale...),
					}
					if zeros {
						in = append(in, b.Weight(&onnx.Tensor{Type: onnx.Uint8, Shape: []int{len(zero)}, Data: zero}))
					}
					b.Output("y", b.Node("com.microsoft.MatMulNBits", in, onnxtest.Int("N", n), onnxtest.Int("K", k),
						onnxtest.Int("bits", int64(bits)), onnxtest.Int("block_size", int64(block)), onnxtest.Int("accuracy_level", 4)), onnx.Float, rows, n)
					m, err := onnx.Parse(b.Bytes(), nil)
					if err != nil {
						t.Fatal(err)
					}
					s, err := run.New(m, run.Options{Pool: pool})
					if err != nil {
						t.Fatal(err)
					}
					out, err := s.Run(context.Background(), map[string]*run.Tensor{"x": run.NewFloats([]int{rows, k}, x)})
					if err != nil {
						t.Fatal(err)
					}
					var ours, theirs, between, size float64 // squares
					for r := range rows {
						rounded := roundRow(x[r*k:(r+1)*k], block)
						for c := range n {
							exact, peer := 0.0, 0.0
							for l := range k {
								w := weight(c, l)
								exact += w * float64(x[r*k+l])
								peer += w * rounded[l]
							}
							got := float64(out["y"].F[r*n+c])
							ours += (got - exact) * (got - exact)
							theirs += (peer - exact) * (peer - exact)
							between += (got - peer) * (got - peer)
							size += exact * exact
						}
					}
					ours, theirs, between = math.Sqrt(ours/size), math.Sqrt(theirs/size), math.Sqrt(between/size)
					switch {
					case block == 32 && !zeros && !odd:
						if between > 1e-6 {
							t.Errorf("%.2g from ONNX Runtime's arithmetic, want the same", between)
						}
					case block == 16 || zeros && bits == 8: // float32, since no type holds them
						if ours > 2e-6 || theirs < 1e-3 {
							t.Errorf("%.2g from exact, ONNX Runtime %.2g; want float32's", ours, theirs)
						}
					default: // activations in blocks of 32, scales of 16 bits
						if ours > 1.02*theirs {
							t.Errorf("%.3g from exact, ONNX Runtime %.3g; want no more", ours, theirs)
						}
					}
				})
			}
		}
	}
}

// TestSharedCodes multiplies with one constant as two types of four bits: what is
// laid out for one node is not what the other reads.
func TestSharedCodes(t *testing.T) {
	node := func(out string, typ int64) *onnx.Node {
		n := node("MatMulBnb4", "x w most", out, intAttr("N", 1), intAttr("K", 16), intAttr("block_size", 16), intAttr("quant_type", typ))
		n.Domain = "com.microsoft"
		return n
	}
	codes := []byte{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}
	g := &onnx.Graph{
		Nodes:  []*onnx.Node{node("fp4", 0), node("nf4", 1)},
		Inputs: []onnx.Value{value("x", onnx.Float, 1, 16)}, Outputs: anything("fp4 nf4"),
		Initializers: []*onnx.Tensor{
			{Name: "w", Type: onnx.Uint8, Shape: []int{8}, Data: codes},
			{Name: "most", Type: onnx.Float, Shape: []int{1}, Data: []byte{0, 0, 0x80, 0x3f}},
		},
	}
	x := make([]float32, 16)
	x[7] = 1 // code 7 is 1/4 in FP4 and 0 in NF4
	out, err := newSession(t, g, run.Options{}).Run(t.Context(), map[string]*run.Tensor{"x": run.NewFloats([]int{1, 16}, x)})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := out["fp4"].F[0], out["nf4"].F[0]; a != 0.25 || b != 0 {
		t.Errorf("code 7 is %g and %g, want 0.25 and 0", a, b)
	}
}
