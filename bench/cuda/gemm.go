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
	speedSizes = []matrixSize{{4096, 4096, 64}, {4096, 4096, 128}, {4096, 4096, 512}, {4096, 4096, 2048}}
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

	// blocks, when not "", is how many blocks of gemm90 a processor is to have room
	// for, which leaves a thread fewer registers.
	blocks string
}

// withProducts calls f with the first device of drv, on a thread of its own.
func withProducts(drv driver.Driver, f func(*products) error) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	list, err := drv.Devices()
	if err != nil {
		return err
	}
	p := &products{info: list[0], kernel: map[string]driver.Kernel{}, module: map[string]driver.Module{}}
	if p.ctx, err = drv.Open(0); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.ctx.Close()) }()
	if p.stream, err = p.ctx.Stream(); err != nil {
		return err
	}
	if p.host, err = p.ctx.Pinned(64 << 20); err != nil {
		return err
	}
	return f(p)
}

// put copies b, at most 64 MiB, to new memory.
func (p *products) put(b []byte) (driver.Ptr, error) {
	at, err := p.ctx.Alloc(int64(len(b)))
	if err != nil {
		return 0, err
	}
	return at, errors.Join(p.stream.Upload(at, p.host[:copy(p.host, b)]), p.stream.Sync())
}

func (p *products) launch(name string, d gpu.Dims, args ...uint64) error {
	k := gpu.Find(name)
	key := name + p.blocks
	if p.kernel[key] == nil {
		m, err := p.module[k.Module+p.blocks], error(nil)
		if m == nil {
			start := time.Now()
			text := gpu.PTX(k.Module)
			if p.blocks != "" {
				text = strings.ReplaceAll(text, ".maxntid 256\n", ".maxntid 256\n.minnctapersm "+p.blocks+"\n")
			}
			if m, err = p.ctx.Module(text); err != nil {
				return err
			}
			fmt.Printf("module %s compiled in %.1f s\n", k.Module, time.Since(start).Seconds())
			p.module[k.Module+p.blocks] = m
		}
		if p.kernel[key], err = m.Kernel(name, 0); err != nil {
			return err
		}
	}
	return p.stream.Launch(p.kernel[key], driver.Launch{Grid: k.Grid(d), Block: [3]int{k.Threads, 1, 1}}, args)
}

// A multiplication is a product's operands, on the device and here.
type multiplication struct {
	matrixSize
	typ    quant.Type
	w, x   []float32 // what kernels multiply, before they round to bfloat16
	device struct{ dst, w, x, x32, x90, bias, residual driver.Ptr }
	bias   []float32
}

// multiplication makes random operands. Weights repeat after a while: encoding
// them takes longer than multiplying.
func (p *products) multiplication(typ quant.Type, size matrixSize) (*multiplication, error) {
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
	decoded := make([]float32, some*size.in)
	typ.Layout().Decode(decoded, block)
	row := n / some
	var raw []byte
	for i := range size.out {
		raw = append(raw, block[i%some*row:(i%some+1)*row]...)
		m.w = append(m.w, decoded[i%some*size.in:(i%some+1)*size.in]...)
	}
	m.x, m.bias = random(size.rows*size.in), random(size.out)
	acts := make([]byte, size.rows*quant.ActBytes(quant.X32, size.in))
	var err error
	put := func(to *driver.Ptr, b []byte) {
		if err == nil {
			*to, err = p.put(b)
		}
	}
	put(&m.device.w, raw)
	put(&m.device.x, quant.Floats(m.x))
	put(&m.device.x32, acts)
	put(&m.device.x90, make([]byte, 4*size.rows*gpu.GEMM90Words(size.in)))
	put(&m.device.bias, quant.Floats(m.bias))
	put(&m.device.dst, make([]byte, 4*size.out*size.rows))
	put(&m.device.residual, quant.Floats(random(size.out*size.rows)))
	if err != nil {
		return nil, err
	}
	return m, errors.Join(p.prepare("gemm8", m), p.prepare("gemm90", m))
}

func (p *products) free(m *multiplication) error {
	var err error
	for _, at := range []driver.Ptr{m.device.dst, m.device.w, m.device.x, m.device.x32, m.device.x90, m.device.bias, m.device.residual} {
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

// multiply starts a product by the kernels of a stem.
func (p *products) multiply(stem string, m *multiplication, residual driver.Ptr) error {
	x := m.device.x
	switch stem {
	case "gemm8":
		x = m.device.x32
	case "gemm90":
		x = m.device.x90
	}
	return p.launch(gpu.Name(stem, m.typ), gpu.Dims{Out: m.out, Rows: m.rows},
		uint64(m.device.dst), uint64(m.device.w), uint64(x), uint64(m.device.bias), uint64(residual), uint64(m.out), uint64(m.in), uint64(m.rows))
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
	w, x := rounded(m.w[o*m.in:(o+1)*m.in]), rounded(m.x[row*m.in:(row+1)*m.in])
	magnitude := 1.0
	for i := range w {
		sum += float64(w[i]) * float64(x[i])
		magnitude += math.Abs(float64(w[i]) * float64(x[i]))
	}
	return sum + float64(m.bias[o]), 2 * float64(m.in) * 0x1p-23 * magnitude
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
				m, err := p.multiplication(typ, size)
				if err != nil {
					return err // of the device
				}
				var got [2][]float32
				worst := 0.0 // of the bound
				for i, stem := range stems {
					if err := errors.Join(p.stream.Zero(m.device.dst, int64(4*m.out*m.rows)), p.multiply(stem, m, 0)); err != nil {
						return err
					}
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
				if err := p.free(m); err != nil {
					return err
				}
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
		fmt.Printf("%-24s %10s %10s %10s %10s   TFLOP/s\n", "", "gemm8", "gemm", "gemm90", "two blocks")
		for _, typ := range types {
			for _, size := range sizes {
				m, err := p.multiplication(typ, size)
				if err != nil {
					return err
				}
				line := fmt.Sprintf("%-5v %4d×%-4d by %-4d", typ, m.out, m.in, m.rows)
				for i, stem := range []string{"gemm8", "gemm", "gemm90", "gemm90"} {
					if p.blocks = ""; i == 3 {
						p.blocks = "2"
					}
					k := gpu.Find(gpu.Name(stem, typ))
					if k == nil || stem == "gemm90" && p.info.Capability != 90 {
						line += fmt.Sprintf(" %10s", "-")
						continue
					}
					// With what makes its activations, though products of one value share that.
					ms, err := p.time(func() error { return errors.Join(p.prepare(stem, m), p.multiply(stem, m, m.device.residual)) })
					if err != nil {
						return fmt.Errorf("%s: %w", k.Name, err)
					}
					rate := 2 * float64(m.out) * float64(m.in) * float64(m.rows) / (ms / 1e3) / 1e12
					line += fmt.Sprintf(" %10.1f", rate)
					record(w, map[string]any{"stage": "gemm", "kernel": k.Name, "out": m.out, "in": m.in, "rows": m.rows, "blocks": p.blocks, "us": 1e3 * ms, "tflops": rate})
				}
				p.blocks = ""
				fmt.Println(line)
				if err := p.free(m); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// time returns the milliseconds of one f: the median of nine times as many as
// fill three milliseconds.
func (p *products) time(f func() error) (float64, error) {
	from, err := p.ctx.Event()
	if err != nil {
		return 0, err
	}
	to, err := p.ctx.Event()
	if err != nil {
		return 0, err
	}
	run := func(n int) (float64, error) {
		if err := p.stream.Record(from); err != nil {
			return 0, err
		}
		for range n {
			if err := f(); err != nil {
				return 0, err
			}
		}
		if err := errors.Join(p.stream.Record(to), to.Sync()); err != nil {
			return 0, err
		}
		ms, err := to.Since(from)
		return float64(ms) / float64(n), err
	}
	if _, err := run(1); err != nil { // compiles the kernel
		return 0, err
	}
	once, err := run(1)
	if err != nil {
		return 0, err
	}
	n := int(min(300, max(1, 3/max(once, 1e-3))))
	var all []float64
	for range 9 {
		ms, err := run(n)
		if err != nil {
			return 0, err
		}
		all = append(all, ms)
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// gemm is the stage that times products.
func gemm(ctx context.Context, o *options, w io.Writer) error {
	drv, err := driver.Open()
	if err != nil {
		return err
	}
	list, err := drv.Devices()
	if err != nil {
		return err
	}
	if err := registers(ctx, o, list[0].Capability, w); err != nil {
		fmt.Printf("registers are not known: %v\n", err)
	}
	return speedProducts(drv, speedTypes, speedSizes, w)
}

// registers asks ptxas, where a toolkit is, what each kernel for products of many
// rows takes, and whether it makes wgmma wait where it need not.
func registers(ctx context.Context, o *options, capability int, w io.Writer) error {
	ptxas, err := exec.LookPath("ptxas")
	if err != nil {
		ptxas = "/usr/local/cuda/bin/ptxas"
	}
	for _, m := range gpu.Modules {
		if m.Name != "gemm" && m.Name != "gemm90" || m.Exact && m.Capability != capability {
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
		kernel := ""
		for line := range strings.Lines(string(out)) {
			line = strings.TrimSpace(line)
			switch {
			case strings.Contains(line, "Compiling entry"):
				kernel, _, _ = strings.Cut(strings.TrimPrefix(line, "ptxas info    : Compiling entry function "), " for")
			case strings.Contains(line, "spill"), strings.Contains(line, "Used"), strings.Contains(line, "(C7"), strings.Contains(line, "error"):
				fmt.Println(kernel, line)
				record(w, map[string]any{"stage": "gemm", "kernel": kernel, "ptxas": line})
			}
		}
		if err != nil {
			return fmt.Errorf("ptxas: %w", err)
		}
	}
	return nil
}
