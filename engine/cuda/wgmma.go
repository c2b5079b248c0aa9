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
)

// wgmmaCapability is the one compute capability that has the tensor cores of the
// gemm90 kernels.
const wgmmaCapability = 90

// wideRows is the most rows whose products are left to kernels that take fewer at
// a time than gemm90's 128.
const wideRows = 64

// wide reports whether products of so many rows of n are by the gemm90 kernels.
func (d *device) wide(rows, n int) bool { return d.wgmma && rows > wideRows && n%16 == 0 }

// wideWords is the size of rows of n activations for them.
func (d *device) wideWords(rows, n int) int {
	if !d.wide(rows, n) {
		return 0
	}
	return rows * gpu.GEMM90Words(n)
}

// orderWide makes acts of a value where its products are by the gemm90 kernels.
func (p *part) orderWide(x driver.Ptr, n, rows int) error {
	if !p.d.wide(rows, n) {
		return nil
	}
	return p.start("gemm90_x", gpu.Dims{In: n, Rows: rows}, p.scratchAt(acts), uint64(x), i32(n))
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

// Sizes of the products that are compared: nearly a tile, in four steps.
const tryOut, tryIn, tryRows = 120, 256, 100

// compareGEMM returns an error where a gemm90 kernel does not give what its twin
// gives. Both round the same numbers to bfloat16 and sum in float32, within
// in·2^-23 of the sum of magnitudes each by the count of roundings; twice that is
// allowed, as tensor cores cut where others round.
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
	xs, err := put(floatBytes(x))
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
	bias, err := put(floatBytes(random(tryOut)))
	if err != nil {
		return err
	}
	residual, err := put(floatBytes(random(tryRows * tryOut)))
	if err != nil {
		return err
	}
	const bytes = 4 * tryRows * tryOut
	dst, err := d.alloc(bytes)
	if err != nil {
		return err
	}
	made = append(made, dst)
	for _, t := range gpu.Types {
		n, _ := t.Size(len(w))
		raw := make([]byte, n)
		t.Layout().Encode(raw, w)
		ws, err := put(raw)
		if err != nil {
			return err
		}
		var got [2][]float32
		for i, by := range []struct {
			stem string
			x    driver.Ptr
		}{{"gemm", xs}, {"gemm90", ordered}} {
			// What a kernel does not write must not be what the other left there.
			if err := d.stream.Zero(dst, bytes); err != nil {
				return err
			}
			if err := d.run(gpu.Name(by.stem, t), gpu.Dims{Out: tryOut, Rows: tryRows},
				uint64(dst), uint64(ws), uint64(by.x), uint64(bias), uint64(residual), tryOut, tryIn, tryRows); err != nil {
				return err
			}
			stage := d.stage[d.turn][:bytes]
			if err := errors.Join(d.stream.Download(stage, dst), d.stream.Sync()); err != nil {
				return fmt.Errorf("%s: %w", gpu.Name(by.stem, t), err)
			}
			got[i] = slices.Clone(bytesFloat(stage))
		}
		t.Layout().Decode(decoded, raw)
		if err := apart(got[1], got[0], decoded, x); err != nil {
			return fmt.Errorf("%s: %w", gpu.Name("gemm90", t), err)
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
	return d.stream.Launch(k.handle, driver.Launch{Grid: k.Grid(of), Block: [3]int{k.Threads, 1, 1}}, args)
}

// apart returns an error where products of w and x are not as near as they must be.
func apart(got, want, w, x []float32) error {
	for row := range tryRows {
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
