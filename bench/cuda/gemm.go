package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"quern/bench/internal/must"
	gpu "quern/kernels/cuda"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// A matrixSize is of a product: weights (out, in), activations (rows, in).
type matrixSize struct{ out, in, rows int }

// Products that are compared: of one tile, of ragged ones, of the many steps of a
// real layer. in is rounded up to whole blocks.
var (
	checkSizes = []matrixSize{{64, 64, 128}, {200, 320, 131}, {67, 304, 65}, {1024, 4096, 512}}
	// Those of a Llama of 8B: decoding of 32 and 128 sequences, a short prompt, a long one.
	speedSizes = []matrixSize{
		{1024, 4096, 32}, {4096, 4096, 32}, {14336, 4096, 32}, {4096, 14336, 32},
		{4096, 4096, 128}, {14336, 4096, 128}, {4096, 14336, 128},
		{1024, 4096, 512}, {4096, 4096, 512}, {14336, 4096, 512}, {4096, 14336, 512},
		{4096, 4096, 4096}, {14336, 4096, 4096},
	}
	speedParts = []int{1, 2, 4, 8} // of in, for gemm90
	speedTypes = []quant.Type{quant.Q4_K, quant.Q8_0, quant.BF16}
)

// products is the kernels for products of many rows on one device.
type products struct {
	info   driver.Info
	ctx    driver.Context
	stream driver.Stream
	kernel map[string]driver.Kernel
	module map[string]driver.Module
	host   []byte // pinned
}

// withProducts calls f with the first device of drv, on a thread of its own.
func withProducts(drv driver.Driver, f func(*products) error) (err error) {
	defer must.Catch(&err)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	list := must.Get(drv.Devices())
	p := &products{info: list[0], kernel: map[string]driver.Kernel{}, module: map[string]driver.Module{}}
	p.ctx = must.Get(drv.Open(0))
	defer func() { err = errors.Join(err, p.ctx.Close()) }()
	p.stream = must.Get(p.ctx.Stream())
	p.host = must.Get(p.ctx.Pinned(64 << 20))
	return f(p)
}

// put copies b to new memory.
func (p *products) put(b []byte) (driver.Ptr, error) {
	at, err := p.ctx.Alloc(int64(len(b)))
	for sent := 0; sent < len(b) && err == nil; {
		n := copy(p.host, b[sent:])
		err = errors.Join(p.stream.Upload(at+driver.Ptr(sent), p.host[:n]), p.stream.Sync())
		sent += n
	}
	return at, err
}

func (p *products) launch(name string, d gpu.Dims, args ...uint64) (err error) {
	defer must.Catch(&err)
	k := gpu.Find(name)
	if p.kernel[name] == nil {
		m := p.module[k.Module]
		if m == nil {
			start := time.Now()
			m = must.Get(p.ctx.Module(gpu.PTX(k.Module)))
			fmt.Printf("module %s compiled in %.1f s\n", k.Module, time.Since(start).Seconds())
			p.module[k.Module] = m
		}
		p.kernel[name] = must.Get(m.Kernel(name, k.Shared))
	}
	return p.stream.Launch(p.kernel[name], driver.Launch{Grid: k.Grid(d), Block: [3]int{k.Threads, 1, 1}, Shared: k.Shared}, args)
}

// A multiplication is a product's operands, on the device and here.
type multiplication struct {
	matrixSize
	typ    quant.Type
	w, x   []float32 // what kernels multiply, before they round to bfloat16; w's rows repeat
	device struct{ dst, w, x, x32, x90, bias, residual, parts driver.Ptr }
	bias   []float32
}

// multiplication makes random operands. Weights repeat after a while: encoding
// them takes longer than multiplying.
func (p *products) multiplication(typ quant.Type, size matrixSize) (_ *multiplication, err error) {
	defer must.Catch(&err)
	if b := typ.Layout().Block; b > 1 {
		size.in = (size.in + b - 1) / b * b
	}
	m := &multiplication{matrixSize: size, typ: typ}
	r := rand.New(rand.NewPCG(uint64(size.rows), uint64(typ)))
	random := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	some := min(size.out, 61) // no divisor of a tile
	n, _ := typ.Size(some * size.in)
	block := make([]byte, n)
	typ.Layout().Encode(block, random(some*size.in))
	m.w = make([]float32, some*size.in)
	typ.Layout().Decode(m.w, block)
	raw := slices.Repeat(block, size.out/some+1)[:size.out*(n/some)]
	m.x, m.bias = random(size.rows*size.in), random(size.out)
	acts := make([]byte, size.rows*quant.ActBytes(quant.ActQ8_32, size.in))
	put := func(to *driver.Ptr, b []byte) { *to = must.Get(p.put(b)) }
	put(&m.device.w, raw)
	put(&m.device.x, quant.Floats(m.x))
	put(&m.device.x32, acts)
	put(&m.device.x90, make([]byte, 4*size.rows*gpu.GEMM90Words(size.in)))
	put(&m.device.bias, quant.Floats(m.bias))
	put(&m.device.dst, make([]byte, 4*size.out*size.rows))
	put(&m.device.residual, quant.Floats(random(size.out*size.rows)))
	put(&m.device.parts, make([]byte, 4*size.out*size.rows*slices.Max(speedParts)))
	return m, errors.Join(p.prepare("gemm8", m), p.prepare("gemm90", m))
}

func (p *products) free(m *multiplication) error {
	var err error
	for _, at := range []driver.Ptr{m.device.dst, m.device.w, m.device.x, m.device.x32, m.device.x90, m.device.bias, m.device.residual, m.device.parts} {
		err = errors.Join(err, p.ctx.Free(at))
	}
	return err
}

// prepare starts to make activations as the kernels of a stem take them.
func (p *products) prepare(stem string, m *multiplication) error {
	d, x, n := gpu.Dims{In: m.in, Rows: m.rows}, uint64(m.device.x), uint64(m.in)
	switch {
	case stem == "gemm8":
		return p.launch("quantize", d, uint64(m.device.x32), x, n)
	case stem == "gemm90" && p.info.Capability == 90:
		return p.launch("gemm90_x", d, uint64(m.device.x90), x, n)
	}
	return nil
}

// name is the kernel of a stem for a product.
func (m *multiplication) name(stem string) string {
	if stem == "gemm90" {
		return gpu.GEMM90Name(m.typ, m.rows)
	}
	return gpu.Name(stem, m.typ)
}

// multiply starts a product by the kernels of a stem, gemm90's in so many parts.
func (p *products) multiply(stem string, m *multiplication, residual driver.Ptr, parts int) error {
	x, dst, bias, more := m.device.x, m.device.dst, m.device.bias, residual
	switch stem {
	case "gemm8":
		x = m.device.x32
	case "gemm90":
		x = m.device.x90
	}
	d := gpu.Dims{Out: m.out, Rows: m.rows, Splits: parts}
	if parts > 1 {
		dst, bias, more = m.device.parts, 0, 0
	}
	err := p.launch(m.name(stem), d, uint64(dst), uint64(m.device.w), uint64(x), uint64(bias), uint64(more), uint64(m.out), uint64(m.in), uint64(m.rows))
	if err != nil || parts == 1 {
		return err
	}
	return p.launch("gemm90_sum", d, uint64(m.device.dst), uint64(dst), uint64(m.device.bias), uint64(residual), uint64(m.out), uint64(parts))
}

func (p *products) result(m *multiplication) ([]float32, error) {
	n := 4 * m.out * m.rows
	if err := errors.Join(p.stream.Download(p.host[:n], m.device.dst), p.stream.Sync()); err != nil {
		return nil, err
	}
	v := make([]float32, m.out*m.rows)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(p.host[4*i:]))
	}
	return v, nil
}

// exact returns what value o of a row must be, of operands rounded to bfloat16,
// without the residual, and how far sums of float32 may be off.
func (m *multiplication) exact(row, o int) (sum, bound float64) {
	at := o * m.in % len(m.w)
	w, x := rounded(m.w[at:at+m.in]), rounded(m.x[row*m.in:(row+1)*m.in])
	magnitude := 1.0
	for i := range w {
		sum += float64(w[i]) * float64(x[i])
		magnitude += math.Abs(float64(w[i]) * float64(x[i]))
	}
	// Of Q4_K and Q5_K some weights are rounded the other way.
	return sum + float64(m.bias[o]), (2*float64(m.in)*0x1p-23 + 0x1p-6/float64(m.in)) * magnitude
}

func rounded(x []float32) []float32 {
	b, y := make([]byte, 2*len(x)), make([]float32, len(x))
	quant.BF16.Layout().Encode(b, x)
	quant.BF16.Layout().Decode(y, b)
	return y
}

// checkProducts holds the products of many rows by wgmma against those by
// mma.sync, value by value, and samples of both against the exact ones.
func checkProducts(drv driver.Driver, sizes []matrixSize, w io.Writer) error {
	return withProducts(drv, func(p *products) error {
		stems := []string{"gemm", "gemm90"}
		if p.info.Capability != 90 {
			fmt.Printf("capability %d has no wgmma\n", p.info.Capability)
			stems = stems[:1]
		}
		var all error
		for _, typ := range gpu.Types {
			for _, size := range sizes {
				m := must.Get(p.multiplication(typ, size))
				var got [2][]float32
				worst := 0.0 // of the bound
				for i, stem := range stems {
					must.Do(p.stream.Zero(m.device.dst, int64(4*m.out*m.rows)))
					must.Do(p.multiply(stem, m, 0, 1+i*(m.rows%2)))
					var err error
					if got[i], err = p.result(m); err != nil {
						return fmt.Errorf("%s of %v: %w", gpu.Name(stem, typ), m.matrixSize, err)
					}
				}
				for i := range min(m.out*m.rows, 997) {
					at := i * 7919 % (m.out * m.rows)
					want, bound := m.exact(at/m.out, at%m.out)
					for s := range stems {
						worst = notLess(worst, math.Abs(float64(got[s][at])-want)/bound)
					}
				}
				apart := 0.0
				if len(stems) > 1 {
					apart = distance(got[1], got[0])
				}
				verdict := "ok"
				// Sums of float32 in another order differ by far less, a wrong place by far more.
				if !(worst <= 1) || !(apart <= 1e-3) {
					verdict = "WRONG"
					all = errors.Join(all, fmt.Errorf("%v of %v: %.2g of the bound, %.2g apart", typ, m.matrixSize, worst, apart))
				}
				fmt.Printf("%-5v %4d×%-4d by %-4d  %.3f of the bound, wgmma and mma.sync %.2g apart: %s\n", typ, m.out, m.in, m.rows, worst, apart, verdict)
				record(w, map[string]any{"stage": "check", "type": typ.String(), "out": m.out, "in": m.in, "rows": m.rows, "of_bound": fmt.Sprint(worst), "apart": fmt.Sprint(apart), "verdict": verdict})
				must.Do(p.free(m))
			}
		}
		return all
	})
}

// notLess is the larger of two numbers, or the one that is none.
func notLess(a, b float64) float64 {
	if b > a || b != b {
		return b
	}
	return a
}

// speedProducts times the kernels for products of many rows beside each other.
func speedProducts(drv driver.Driver, types []quant.Type, sizes []matrixSize, w io.Writer) error {
	return withProducts(drv, func(p *products) error {
		fmt.Printf("%-26s %8s %8s", "TFLOP/s", "gemm8", "gemm")
		for _, n := range speedParts {
			fmt.Printf(" %8s", fmt.Sprintf("gemm90/%d", n))
		}
		fmt.Println("  weights of the best")
		type way struct {
			stem  string
			parts int
		}
		ways := []way{{"gemm8", 1}, {"gemm", 1}}
		for _, n := range speedParts {
			ways = append(ways, way{"gemm90", n})
		}
		for _, typ := range types {
			for _, size := range sizes {
				m := must.Get(p.multiplication(typ, size))
				line, best := fmt.Sprintf("%-5v %5d×%-5d by %-5d", typ, m.out, m.in, m.rows), math.Inf(1)
				for _, by := range ways {
					k := gpu.Find(m.name(by.stem))
					if k == nil || by.stem == "gemm90" && p.info.Capability != 90 || by.stem != "gemm90" && m.rows > 512 {
						line += fmt.Sprintf(" %8s", "-")
						continue
					}
					// With what makes its activations, though products of one value share that.
					ms, err := p.time(func() error {
						return errors.Join(p.prepare(by.stem, m), p.multiply(by.stem, m, m.device.residual, by.parts))
					})
					if err != nil {
						return fmt.Errorf("%s: %w", k.Name, err)
					}
					rate := 2 * float64(m.out) * float64(m.in) * float64(m.rows) / (ms / 1e3) / 1e12
					line, best = line+fmt.Sprintf(" %8.1f", rate), min(best, ms)
					record(w, map[string]any{"stage": "gemm", "kernel": k.Name, "out": m.out, "in": m.in, "rows": m.rows, "parts": by.parts, "us": 1e3 * ms, "tflops": rate})
				}
				bytes, _ := typ.Size(m.out * m.in)
				fmt.Printf("%s  %6.2f TB/s, %.1f µs\n", line, float64(bytes)/(best/1e3)/1e12, 1e3*best)
				must.Do(p.free(m))
			}
		}
		return nil
	})
}

// time returns the milliseconds of one f: the median of nine times as many as
// fill three milliseconds.
func (p *products) time(f func() error) (_ float64, err error) {
	defer must.Catch(&err)
	from := must.Get(p.ctx.Event())
	to := must.Get(p.ctx.Event())
	run := func(n int) float64 {
		must.Do(p.stream.Record(from))
		for range n {
			must.Do(f())
		}
		must.Do(p.stream.Record(to))
		must.Do(to.Sync())
		return float64(must.Get(to.Since(from))) / float64(n)
	}
	run(1)
	n := int(min(300, max(1, 3/max(run(1), 1e-3))))
	var all []float64
	for range 9 {
		all = append(all, run(n))
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// gemm is the stage that times products.
func gemm(ctx context.Context, o *options, w io.Writer) (err error) {
	defer must.Catch(&err)
	drv := must.Get(driver.Open())
	list := must.Get(drv.Devices())
	if err := registers(ctx, o, list[0].Capability, w); err != nil {
		fmt.Printf("registers are not known: %v\n", err)
	}
	return speedProducts(drv, speedTypes, speedSizes, w)
}

// registers asks ptxas, where a toolkit is, what each kernel takes, and whether it
// makes wgmma wait where it need not. All goes to w; what may be too much is
// printed.
func registers(ctx context.Context, o *options, capability int, w io.Writer) error {
	ptxas, err := exec.LookPath("ptxas")
	if err != nil {
		ptxas = "/usr/local/cuda/bin/ptxas"
	}
	for _, m := range gpu.Modules {
		if m.Exact && m.Capability != capability {
			continue
		}
		arch := fmt.Sprintf("sm_%d", capability)
		if m.Exact {
			arch += "a"
		}
		path := filepath.Join(o.dir, m.Name+".ptx")
		if err := os.WriteFile(path, []byte(gpu.PTX(m.Name)), 0o644); err != nil {
			return err
		}
		out, err := exec.CommandContext(ctx, ptxas, "-v", "-arch="+arch, "-o", os.DevNull, path).CombinedOutput()
		kernel, most, waits, count := "", 0, 0, 0
		for line := range strings.Lines(string(out)) {
			line = strings.TrimSpace(line)
			switch {
			case strings.Contains(line, "Compiling entry"):
				kernel, _, _ = strings.Cut(strings.TrimPrefix(line, "ptxas info    : Compiling entry function "), " for")
			case strings.Contains(line, "spill") && !strings.Contains(line, " 0 bytes spill stores"), strings.Contains(line, "error"):
				fmt.Println(kernel, line)
			case strings.Contains(line, "(C7"):
				waits++
			case strings.Contains(line, " Used "):
				var n int
				if _, rest, ok := strings.Cut(line, " Used "); ok {
					fmt.Sscan(rest, &n)
				}
				most, count = max(most, n), count+1
			default:
				continue
			}
			record(w, map[string]any{"stage": "gemm", "kernel": kernel, "ptxas": line})
		}
		if err != nil {
			return fmt.Errorf("ptxas: %w", err)
		}
		fmt.Printf("%-18s %3d kernels, at most %3d registers, %d make wgmma wait\n", m.Name, count, most, waits)
	}
	return nil
}
