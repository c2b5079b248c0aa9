package cuda_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/kernels/cuda"
	"quern/kernels/cuda/ptxvm"
	"quern/kernels/quant"
)

// stepOrder is activations as gemm90 reads them, rounded to bfloat16: rows of whole
// groups of 128, first the even 32 and then the odd, of which unit u has the
// values 2u and 2u+1 of each 16.
func stepOrder(x []float32, rows, n int) []byte {
	var b []byte
	for r := range rows {
		row := make([]float32, (n+127)/128*128)
		copy(row, x[r*n:(r+1)*n])
		for at := 0; at < len(row); at += 128 {
			for u := range 16 {
				for _, c := range []int{0, 16, 64, 80} {
					b = append(b, encode(quant.BF16, row[at+c+u/8*32+u%8*2:][:2])...)
				}
			}
		}
	}
	return b
}

func TestGEMM90X(t *testing.T) {
	for _, n := range []int{1, 64, 129, 301, 2049} {
		const rows = 3
		x := random(uint64(n), rows*n)
		x[0] = float32(math.Inf(-1))
		want := stepOrder(x, rows, n)
		g := newGPU(t)
		dst, got := g.Alloc(len(want)), make([]byte, len(want))
		g.run("gemm90_x", cuda.Dims{In: n, Rows: rows}, dst, g.floats(x), n)
		if err := g.Read(dst, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("rows of %d:\n%x, want\n%x", n, got, want)
		}
		x[0] = 1
		w, normed := g.floats(random(9, n)), g.Alloc(4*rows*n)
		g.run("rmsnorm", cuda.Dims{Rows: rows}, normed, g.floats(x), w, n, 1, float32(1e-5))
		g.run("gemm90_norm", cuda.Dims{Rows: rows}, dst, g.floats(x), w, n, float32(1e-5))
		if err := g.Read(dst, got); err != nil {
			t.Fatal(err)
		}
		if want := stepOrder(g.got(normed, rows*n), rows, n); !bytes.Equal(got, want) {
			t.Errorf("rows of %d, normed:\n%x, want\n%x", n, got, want)
		}
	}
}

// roundedOtherwise is how much more of the sum of magnitudes products by gemm90 may be
// off where Q4_K and Q5_K weights lie so near the middle between two numbers of
// bfloat16 that they are rounded the other way: of three large ones in a row.
func roundedOtherwise(typ quant.Type, in int) float64 {
	if typ != quant.Q4_K && typ != quant.Q5_K {
		return 0
	}
	return 3 * 0x1p-8 / float64(in)
}

// Warpgroup products have gemm's bound.
func TestGEMM90(t *testing.T) {
	for _, typ := range cuda.Types {
		t.Run(typ.String(), func(t *testing.T) {
			ins := []int{16, 80, 304} // of float types any multiple of 16
			if cuda.Quantised(typ) {
				ins = widths(typ)
			}
			for _, tt := range []struct{ out, rows, in int }{
				{130, 3, ins[0]},
				{67, 129, ins[len(ins)-1]},
				{128, 128, 256},
			} {
				p := newProduct(typ, tt.out, tt.in, tt.rows)
				x := random(2, tt.rows*tt.in)
				p.rounded(x)
				p.acts = stepOrder(x, tt.rows, tt.in)
				bound := float64(tt.in)*0x1p-23 + roundedOtherwise(typ, tt.in)
				p.check(newGPU(t), cuda.Name("gemm90", typ), bound)
				if tt.rows > 3 {
					p.check(newGPU(t), cuda.Name("gemm90", typ)+"_64", bound)
				}
			}
		})
	}
}

// Parts of a product, some of them empty, add up to it.
func TestGEMM90Parts(t *testing.T) {
	const out, rows, in = 130, 65, 1280
	for _, name := range []string{"gemm90_q4_k", "gemm90_q4_k_64"} {
		for _, parts := range []int{1, 3, 7} {
			p := newProduct(quant.Q4_K, out, in, rows)
			x := random(2, rows*in)
			p.rounded(x)
			g, d := newGPU(t), cuda.Dims{Out: out, Rows: rows, Splits: parts}
			part, dst := g.Alloc(4*parts*rows*out), g.floats(p.residual) // dst may be residual
			g.run(name, d, part, g.bytes(p.weights), g.bytes(stepOrder(x, rows, in)), none, none, out, in, rows)
			g.run("gemm90_sum", d, dst, part, g.floats(p.bias), dst, out, parts)
			near(g, name, g.got(dst, out*rows), p.want, func(i int) float64 { return (in*0x1p-23 + roundedOtherwise(p.t, in)) * p.size[i] })
		}
	}
}

// TestGEMM90Faults takes out of the PTX what orders the tensor cores' work, and
// wants the interpreter to see it.
func TestGEMM90Faults(t *testing.T) {
	fixtures.Interpreter(t)
	const name = "gemm90_q8_0"
	const out, in, rows = 128, 512, 8
	text := cuda.PTX("gemm90")
	at := strings.Index(text, ".entry "+name)
	end := at + strings.Index(text[at:], "\n}")
	for _, tt := range []struct{ name, from, to, why string }{
		{"no proxy fence", "fence.proxy.async.shared::cta;", "", "without a fence.proxy.async"},
		{"no fence of registers", "wgmma.fence.sync.aligned;", "", "without a wgmma.fence"},
		{"no wait", "wgmma.wait_group.sync.aligned 1;", "wgmma.wait_group.sync.aligned 2;", "wgmma"},
		{"no last wait", "wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;", "wgmma"},
		{"no wait for activations", "cp.async.wait_group 1;", "", "never written"},
		{"no barrier", "bar.sync \t0;", "", "never written"},
		{"a fetch too far ahead", "cp.async.wait_group 1;", "cp.async.wait_group 2;", "never written"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := strings.ReplaceAll(text[at:end], tt.from, tt.to)
			if body == text[at:end] {
				t.Fatalf("no %q in the kernel", tt.from)
			}
			m, err := ptxvm.Parse(text[:at] + body + text[end:])
			if err != nil {
				t.Fatal(err)
			}
			g := newGPU(t)
			k := cuda.Find(name)
			err = g.Launch(m.Kernel(name), ptxvm.Config{Grid: k.Grid(cuda.Dims{Out: out, Rows: rows}), Block: [3]int{k.Threads}, Shared: k.Shared},
				g.Alloc(4*out*rows), g.bytes(encode(quant.Q8_0, random(1, out*in))), g.bytes(stepOrder(random(2, rows*in), rows, in)), none, none, out, in, rows)
			var f *ptxvm.Fault
			if !errors.As(err, &f) || !strings.Contains(f.Why, tt.why) {
				t.Errorf("got %v, want a fault about %q", err, tt.why)
			}
		})
	}
}
