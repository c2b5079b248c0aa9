package cuda

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	gpu "quern/kernels/cuda"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// wgmmaCapability is the one compute capability that has the tensor cores of the
// gemm90 kernels.
const wgmmaCapability = 90

// wide reports whether products of so many rows of n are by the gemm90 kernels.
func (d *device) wide(rows, n int) bool { return d.wgmma && rows > gemvRows && n%16 == 0 }

// wideWords is the size of rows of n activations for them.
func (d *device) wideWords(rows, n int) int {
	if !d.wide(rows, n) {
		return 0
	}
	return rows * gpu.GEMM90Words(n)
}

// orderWide makes acts of a value where its products are by the gemm90 kernels.
func (p *part) orderWide(x uint64, n, rows int) error {
	if !p.d.wide(rows, n) {
		return nil
	}
	return p.start("gemm90_x", gpu.Dims{In: n, Rows: rows}, p.scratchAt(acts), x, i32(n))
}

// Parts of a product are at least four groups of gemm90's 128, and no more than
// are added up in little time.
const minPortion, maxPortions = 4 * 128, 8

// portions is into how many portions a product's width is cut so that its blocks fill
// the device: one a processor, or two of those by 64 rows.
func (d *device) portions(rows, out, in int) int {
	tile, fill := 128, d.info.Processors
	if rows <= 64 {
		tile, fill = 64, 2*fill
	}
	blocks := (out + 127) / 128 * ((rows + tile - 1) / tile)
	return max(1, min(fill/blocks, in/minPortion, maxPortions))
}

// portionWords is the scratch of those of any size, rows being at most so many.
func (d *device) portionWords(rows int) int {
	if !d.wide(rows, 0) {
		return 0
	}
	return d.info.Processors * 128 * 128
}

// multiplyWide multiplies rows of x, in gemm90_x's order, by w. More than one
// portion is added up from scratch memory.
func (d *device) multiplyWide(typ quant.Type, y, w, x, bias, residual, portions uint64, out, in, rows, cuts int) error {
	name, of := gpu.GEMM90Name(typ, rows), gpu.Dims{Out: out, Rows: rows, Splits: cuts}
	if cuts == 1 {
		return d.run(name, of, y, w, x, bias, residual, i32(out), i32(in), i32(rows))
	}
	if err := d.run(name, of, portions, w, x, 0, 0, i32(out), i32(in), i32(rows)); err != nil {
		return err
	}
	return d.run("gemm90_sum", of, y, portions, bias, residual, i32(out), i32(cuts))
}

// tryWGMMA lets the device use the gemm90 kernels when a product by each is what
// its twin by mma.sync gives: an interpreter has run them before, which is not a GPU.
// QUERN_CUDA_WGMMA=off leaves it at the twins. The error is of a device that
// cannot be used.
func (b *Backend) tryWGMMA(d *device) error {
	if d.info.Capability != wgmmaCapability || os.Getenv("QUERN_CUDA_WGMMA") == "off" {
		return nil
	}
	err := d.compareGEMM()
	if err == nil {
		d.wgmma = true
		return nil
	}
	b.log.Warn("wgmma is not used, mma.sync is", "device", d.id, "name", d.info.Name, "err", err)
	if errors.Is(err, driver.ErrFault) {
		// What was made before the fault is of no more use.
		if err := d.close(); err != nil {
			b.log.Warn("device closed", "device", d.id, "err", err)
		}
		return d.open(b.o.Driver)
	}
	return nil
}

// Sizes of the products that are compared: nearly a tile, in four groups; of all rows
// in one portion, and of some by the kernel for few rows in two.
const tryOut, tryIn, tryRows, tryFew = 120, 512, 100, 50

// compareGEMM returns an error where a gemm90 kernel does not give what its twin
// gives. Both round the same numbers to bfloat16 and sum in float32, within
// in·2^-23 of the sum of magnitudes each by the count of roundings; twice that is
// allowed, as tensor cores cut where others round, which is also enough for the
// weights of Q4_K and Q5_K that gemm90 rounds the other way.
func (d *device) compareGEMM() (err error) {
	var made []driver.Ptr
	defer func() {
		if e := d.stream.Sync(); err == nil {
			err = e
		}
		for _, p := range made {
			if e := d.ctx.Free(p); err == nil {
				err = e
			}
		}
	}()
	put := func(b []byte) (driver.Ptr, error) {
		p, err := d.alloc(int64(len(b)))
		if err != nil {
			return 0, err
		}
		made = append(made, p)
		return p, d.send(p, b)
	}
	r := rand.New(rand.NewPCG(1, 1))
	random := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	w, x := random(tryOut*tryIn), random(tryRows*tryIn)
	decoded := make([]float32, len(w))
	xs, err := put(quant.Floats(x))
	if err != nil {
		return err
	}
	ordered, err := put(make([]byte, 4*tryRows*gpu.GEMM90Words(tryIn)))
	if err != nil {
		return err
	}
	if err := d.run("gemm90_x", gpu.Dims{In: tryIn, Rows: tryRows}, uint64(ordered), uint64(xs), tryIn); err != nil {
		return err
	}
	bias, err := put(quant.Floats(random(tryOut)))
	if err != nil {
		return err
	}
	residual, err := put(quant.Floats(random(tryRows * tryOut)))
	if err != nil {
		return err
	}
	const bytes = 4 * tryRows * tryOut
	dst, err := d.alloc(bytes)
	if err != nil {
		return err
	}
	made = append(made, dst)
	portions, err := d.alloc(2 * bytes)
	if err != nil {
		return err
	}
	made = append(made, portions)
	for _, t := range gpu.Types {
		n, _ := t.Size(len(w))
		raw := make([]byte, n)
		t.Layout().Encode(raw, w)
		ws, err := put(raw)
		if err != nil {
			return err
		}
		t.Layout().Decode(decoded, raw)
		wide := func(rows, cuts int) func() error {
			return func() error {
				return d.multiplyWide(t, uint64(dst), uint64(ws), uint64(ordered), uint64(bias), uint64(residual), uint64(portions), tryOut, tryIn, rows, cuts)
			}
		}
		var want []float32
		for _, by := range []struct {
			name string
			rows int
			run  func() error
		}{
			{gpu.Name("gemm", t), tryRows, func() error {
				return d.run(gpu.Name("gemm", t), gpu.Dims{Out: tryOut, Rows: tryRows},
					uint64(dst), uint64(ws), uint64(xs), uint64(bias), uint64(residual), tryOut, tryIn, tryRows)
			}},
			{gpu.GEMM90Name(t, tryRows), tryRows, wide(tryRows, 1)},
			{gpu.GEMM90Name(t, tryFew), tryFew, wide(tryFew, 2)},
		} {
			// What a kernel does not write must not be what another left there.
			if err := errors.Join(d.stream.Zero(dst, bytes), d.stream.Zero(portions, 2*bytes)); err != nil {
				return err
			}
			if err := by.run(); err != nil {
				return err
			}
			stage := d.stage[d.turn][:4*by.rows*tryOut]
			if err := errors.Join(d.stream.Download(stage, dst), d.stream.Sync()); err != nil {
				return fmt.Errorf("%s: %w", by.name, err)
			}
			if want == nil {
				want = slices.Clone(bytesFloat(stage))
				continue
			}
			if err := apart(bytesFloat(stage), want, decoded, x); err != nil {
				return fmt.Errorf("%s: %w", by.name, err)
			}
		}
	}
	return nil
}

// run launches a kernel of the table.
func (d *device) run(name string, of gpu.Dims, args ...uint64) error {
	k, err := d.kernel(name)
	if err != nil {
		return err
	}
	return d.stream.Launch(k.handle, driver.Launch{Grid: k.Grid(of), Block: [3]int{k.Threads, 1, 1}, Shared: k.Shared}, args)
}

// apart returns an error where products of w and x are not as near as they must be.
func apart(got, want, w, x []float32) error {
	for row := range len(got) / tryOut {
		var sum float64
		for _, v := range x[row*tryIn : (row+1)*tryIn] {
			sum += math.Abs(float64(v))
		}
		for o := range tryOut {
			var most float64
			for _, v := range w[o*tryIn : (o+1)*tryIn] {
				most = max(most, math.Abs(float64(v)))
			}
			a, b, bound := got[row*tryOut+o], want[row*tryOut+o], 4*tryIn*0x1p-23*(most*sum+1)
			if d := math.Abs(float64(a) - float64(b)); !(d <= bound) {
				return fmt.Errorf("row %d, value %d is %g, by mma.sync %g, more than %.2g apart", row, o, a, b, bound)
			}
		}
	}
	return nil
}
