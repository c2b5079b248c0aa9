package cuda_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"quern/kernels/cuda"
	"quern/kernels/cuda/ptxvm"
	"quern/kernels/quant"
)

// A product is weights, activations as a kernel takes them, and what must come
// out: float64 products of exactly those numbers.
type product struct {
	t              quant.Type
	out, in, rows  int
	weights        []byte
	acts           []byte
	bias, residual []float32
	want           []float32
	size           []float64 // the largest |weight| of the row times Σ|x|
}

func newProduct(t quant.Type, out, in, rows int) *product {
	p := &product{t: t, out: out, in: in, rows: rows, bias: random(3, out), residual: random(4, out*rows)}
	w, x := random(1, out*in), random(2, rows*in)
	p.weights = encode(t, w)
	w = decode(t, p.weights, out*in)
	if cuda.Quantised(t) {
		padded := (in + 255) &^ 255
		var back []float32
		for r := range rows {
			b := make([]byte, quant.ActBytes(quant.ActQ8_32, in))
			quant.QuantizeActQ8_32(b, x[r*in:(r+1)*in])
			p.acts = append(p.acts, b...)
			back = append(back, decode(quant.ActQ8_32, b, padded)[:in]...)
		}
		x = back
	} else {
		p.acts = quant.Floats(x)
	}
	p.multiply(w, x)
	return p
}

// multiply sets what must come out of weights w and activations x.
func (p *product) multiply(w, x []float32) {
	p.want, p.size = nil, nil
	for r := range p.rows {
		for o := range p.out {
			sum, most, all := float64(p.bias[o])+float64(p.residual[r*p.out+o]), 0.0, 0.0
			for i := range p.in {
				a, b := float64(w[o*p.in+i]), float64(x[r*p.in+i])
				sum += a * b
				most = max(most, math.Abs(a))
				all += math.Abs(b)
			}
			p.want = append(p.want, float32(sum))
			p.size = append(p.size, most*all+1)
		}
	}
}

// rounded gives p activations x that are not quantised, and expects products of
// numbers rounded to bf16.
func (p *product) rounded(x []float32) {
	round := func(v []float32) []float32 { return decode(quant.BF16, encode(quant.BF16, v), len(v)) }
	p.acts = quant.Floats(x)
	p.multiply(round(decode(p.t, p.weights, p.out*p.in)), round(x))
}

func (p *product) check(g *gpu, name string, bound float64) {
	g.Helper()
	d := cuda.Dims{Rows: p.rows, Out: p.out}
	w, x := g.bytes(p.weights), g.bytes(p.acts)
	what := fmt.Sprintf("%s of %d×%d by %d", name, p.out, p.in, p.rows)
	within := func(i int) float64 { return bound * p.size[i] }
	dst := g.floats(p.residual) // dst may be residual
	g.run(name, d, dst, w, x, g.floats(p.bias), dst, p.out, p.in, p.rows)
	near(g, what, g.got(dst, p.out*p.rows), p.want, within)

	bare := make([]float32, len(p.want))
	for i, v := range p.want {
		bare[i] = v - p.bias[i%p.out] - p.residual[i]
	}
	dst = g.Alloc(4 * len(bare))
	g.run(name, d, dst, w, x, none, none, p.out, p.in, p.rows)
	near(g, what+" alone", g.got(dst, len(bare)), bare, within)
}

// widths of rows that are no multiples of what a warp or a group takes at once.
func widths(t quant.Type) []int {
	switch t {
	case quant.Q4_0, quant.Q8_0:
		return []int{32, 288, 1056}
	case quant.F16, quant.BF16, quant.F32:
		return []int{7, 264, 301}
	}
	return []int{256, 1280, 2304}
}

func TestGEMV(t *testing.T) {
	for _, typ := range cuda.Types {
		t.Run(typ.String(), func(t *testing.T) {
			for _, in := range widths(typ) {
				depth := 256.0
				if cuda.Quantised(typ) {
					depth = 1024
				}
				bound := (float64(in)/depth + 12) * 0x1p-23
				for _, rows := range []int{1, 2, 3, 8, 9, 17} {
					g := newGPU(t)
					newProduct(typ, 9, in, rows).check(g, cuda.GEMVName(typ, rows), bound)
				}
			}
		})
	}
}

func TestGEMM8(t *testing.T) {
	for _, typ := range cuda.Types {
		if !cuda.Quantised(typ) {
			continue
		}
		t.Run(typ.String(), func(t *testing.T) {
			for _, rows := range []int{1, 9, 17, 65} {
				in := widths(typ)[1]
				g := newGPU(t)
				newProduct(typ, 19, in, rows).check(g, cuda.Name("gemm8", typ), (float64(in)/32+4)*0x1p-23)
			}
		})
	}
}

func TestGEMM(t *testing.T) {
	for _, typ := range cuda.Types {
		t.Run(typ.String(), func(t *testing.T) {
			for _, rows := range []int{3, 17, 65} {
				in := widths(typ)[1]
				p := newProduct(typ, 67, in, rows)
				p.rounded(random(2, rows*in))
				p.check(newGPU(t), cuda.Name("gemm", typ), float64(in)*0x1p-23)
			}
		})
	}
}

func TestEmbed(t *testing.T) {
	const vocab = 5
	ids := []int32{4, 0, 3}
	for _, typ := range cuda.Types {
		t.Run(typ.String(), func(t *testing.T) {
			for _, n := range append(widths(typ), 8448) {
				w := encode(typ, random(5, vocab*n))
				all := decode(typ, w, vocab*n)
				g := newGPU(t)
				dst := g.Alloc(4 * n * len(ids))
				g.run(cuda.Name("embed", typ), cuda.Dims{Rows: len(ids), Out: n}, dst, g.bytes(w), g.ints(ids...), n)
				for r, id := range ids {
					near(t, "embed", g.got(dst+uint64(4*n*r), n), all[int(id)*n:(int(id)+1)*n], func(int) float64 { return 0 })
				}
			}
		})
	}
}

// TestTable holds the table against the PTX: every entry is in the table and
// the other way round, with the same parameters and block size.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, mod := range cuda.Modules {
		m, err := modules[mod.Name]()
		if err != nil {
			t.Fatal(err)
		}
		want := "sm_" + strconv.Itoa(mod.Capability)
		if mod.Exact {
			want += "a"
		}
		if m.Target != want {
			t.Errorf("%s: for %s, want %s", mod.Name, m.Target, want)
		}
		ptx := cuda.PTX(mod.Name)
		for _, name := range m.Names() {
			k := cuda.Find(name)
			if k == nil || k.Module != mod.Name || seen[name] {
				t.Errorf("%s of %s is not in the table, or elsewhere", name, mod.Name)
				continue
			}
			seen[name] = true
			var want []int
			for _, p := range k.Params {
				want = append(want, map[cuda.Kind]int{cuda.Ptr: 8, cuda.Int: 4, cuda.Float: 4}[p.Kind])
			}
			if got := m.Kernel(name).Params(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: parameters of %v bytes, the table has %v", name, got, want)
			}
			_, text, _ := strings.Cut(ptx, ".entry "+name+"(")
			if _, text, _ = strings.Cut(text, ".maxntid "); !strings.HasPrefix(text, strconv.Itoa(k.Threads)+"\n") {
				t.Errorf("%s: blocks of %d threads; the PTX has %.10q", name, k.Threads, text)
			}
		}
	}
	for _, k := range cuda.Kernels {
		if !seen[k.Name] {
			t.Errorf("%s is not in module %s", k.Name, k.Module)
		}
	}
}

// TestFaults plants errors of a caller and wants the
// interpreter to see them: a buffer too short, misaligned, missing or never
// written.
func TestFaults(t *testing.T) {
	p := newProduct(quant.Q4_K, 9, 512, 3)
	for _, tt := range []struct {
		name string
		call func(g *gpu) error
		why  string
	}{
		{"short weights", func(g *gpu) error { return p.launch(g, g.bytes(p.weights[:len(p.weights)-16]), g.bytes(p.acts), p.out) }, "outside"},
		{"short activations", func(g *gpu) error { return p.launch(g, g.bytes(p.weights), g.bytes(p.acts[:len(p.acts)-320]), p.out) }, "outside"},
		{"a row too many", func(g *gpu) error { return p.launch(g, g.bytes(p.weights), g.bytes(p.acts), p.out+1) }, "outside"},
		{"misaligned", func(g *gpu) error {
			return p.launch(g, g.bytes(append(make([]byte, 8), p.weights...))+8, g.bytes(p.acts), p.out)
		}, "misaligned"},
		{"unwritten", func(g *gpu) error { return p.launch(g, g.Alloc(len(p.weights)), g.bytes(p.acts), p.out) }, "never written"},
		{"nil", func(g *gpu) error { return p.launch(g, g.bytes(p.weights), none, p.out) }, "nowhere"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.call(newGPU(t))
			var f *ptxvm.Fault
			if !errors.As(err, &f) || !strings.Contains(f.Why, tt.why) {
				t.Errorf("got %v, want a fault about %q", err, tt.why)
			}
		})
	}
}

func (p *product) launch(g *gpu, w, x uint64, out int) error {
	return g.launch(cuda.GEMVName(p.t, p.rows), cuda.Dims{Rows: p.rows, Out: out}, g.Alloc(4*p.out*p.rows), w, x, none, none, out, p.in, p.rows)
}

func TestQuantize(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, n := range []int{1, 31, 32, 256, 300, 513} {
		for _, rows := range []int{1, 3} {
			x := random(uint64(n), n*rows)
			for i, v := range []float32{inf, nan, 1e-40, 0, -3e38} {
				if 64*i < len(x)-1 && n > 300 {
					x[64*i] = v
				}
			}
			g := newGPU(t)
			size := quant.ActBytes(quant.ActQ8_32, n)
			dst := g.Alloc(rows * size)
			g.run("quantize", cuda.Dims{In: n, Rows: rows}, dst, g.floats(x), n)
			got, want := make([]byte, rows*size), make([]byte, size)
			if err := g.Read(dst, got); err != nil {
				t.Fatal(err)
			}
			for r := range rows {
				quant.QuantizeActQ8_32(want, x[r*n:(r+1)*n])
				if part := got[r*size : (r+1)*size]; !bytes.Equal(part, want) {
					t.Errorf("row %d of %d values:\n%x, want\n%x", r, n, part, want)
				}
			}
		}
	}
}
