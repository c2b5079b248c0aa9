package cuda_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"quern/kernels/cuda"
	"quern/kernels/cuda/ptxvm"
	"quern/kernels/quant"
)

// stepOrder is activations as gemm90 reads them: rows of whole steps of 64, of
// which unit u has the values 2u and 2u+1 of each 16, rounded to bfloat16.
func stepOrder(x []float32, rows, n int) []byte {
	var b []byte
	for r := range rows {
		row := make([]float32, (n+63)/64*64)
		copy(row, x[r*n:(r+1)*n])
		for at := 0; at < len(row); at += 64 {
			for u := range 8 {
				for c := range 4 {
					b = append(b, encode(quant.BF16, row[at+16*c+2*u:][:2])...)
				}
			}
		}
	}
	return b
}

func TestGEMM90X(t *testing.T) {
	for _, n := range []int{1, 64, 301, 2049} {
		const rows = 3
		x := random(uint64(n), rows*n)
		x[0] = float32(math.Inf(-1))
		want := stepOrder(x, rows, n)
		g := &gpu{TB: t}
		dst, got := g.Alloc(len(want)), make([]byte, len(want))
		g.run("gemm90_x", cuda.Dims{In: n, Rows: rows}, dst, g.floats(x), n)
		if err := g.Read(dst, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("rows of %d:\n%x, want\n%x", n, got, want)
		}
	}
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
				p.check(&gpu{TB: t}, cuda.Name("gemm90", typ), float64(tt.in)*0x1p-23)
			}
		})
	}
}

// TestGEMM90Faults takes out of the PTX what orders the tensor cores' work, and
// wants the interpreter to see it.
func TestGEMM90Faults(t *testing.T) {
	const name = "gemm90_q8_0"
	const out, in, rows = 128, 256, 8
	text := cuda.PTX("gemm90")
	at := strings.Index(text, ".entry "+name)
	end := at + strings.Index(text[at:], "\n}")
	for _, tt := range []struct{ name, from, to, why string }{
		{"no proxy fence", "fence.proxy.async.shared::cta;", "", "without a fence.proxy.async"},
		{"no fence of registers", "wgmma.fence.sync.aligned;", "", "without a wgmma.fence"},
		{"no wait", "wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;", "wgmma"},
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
			g := &gpu{TB: t}
			k := cuda.Find(name)
			err = g.Launch(m.Kernel(name), ptxvm.Config{Grid: k.Grid(cuda.Dims{Out: out, Rows: rows}), Block: [3]int{k.Threads}},
				g.Alloc(4*out*rows), g.bytes(encode(quant.Q8_0, random(1, out*in))), g.bytes(stepOrder(random(2, rows*in), rows, in)), none, none, out, in, rows)
			var f *ptxvm.Fault
			if !errors.As(err, &f) || !strings.Contains(f.Why, tt.why) {
				t.Errorf("got %v, want a fault about %q", err, tt.why)
			}
		})
	}
}
