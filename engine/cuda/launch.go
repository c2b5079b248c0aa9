package cuda

import (
	"fmt"
	"math"

	"quern/formats/weights"
	gpu "quern/kernels/cuda"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// Arguments of kernels, in the low bits of a word.
func i32(n int) uint64     { return uint64(uint32(int32(n))) }
func f32(x float32) uint64 { return uint64(math.Float32bits(x)) }

func flag(on bool) uint64 {
	if on {
		return 1
	}
	return 0
}

// start launches a kernel of the table.
func (p *part) start(name string, d gpu.Dims, args ...uint64) error {
	return p.startWith(name, d, 0, args...)
}

// startWith launches a kernel with so many bytes of dynamic shared memory.
func (p *part) startWith(name string, d gpu.Dims, shared int, args ...uint64) error {
	k, err := p.d.kernel(name)
	if err != nil {
		return err
	}
	if len(args) != len(k.Params) {
		panic(fmt.Sprintf("cuda: %d arguments for %s, which has %d", len(args), name, len(k.Params)))
	}
	return p.d.stream.Launch(k.handle, driver.Launch{Grid: k.Grid(d), Block: [3]int{k.Threads, 1, 1}, Shared: shared}, args)
}

// vector is where a small weight lies, 0 for none.
func (p *part) vector(t *weights.Tensor) uint64 {
	if t == nil {
		return 0
	}
	return uint64(p.d.placed[weightKey{t, true}].at)
}

// matrix is where a matrix lies, and its type there.
func (p *part) matrix(t *weights.Tensor) (uint64, quant.Type) {
	w := p.d.placed[weightKey{t: t}]
	return uint64(w.at), w.typ
}

// input is where the words of an input of the Program lie.
func (p *part) input(v int) uint64 {
	switch p.e.p.Values[v].Input {
	case "tokens":
		return p.word(tokens)
	case "positions":
		return p.word(positions)
	case "wanted":
		return p.word(wanted)
	}
	panic(fmt.Sprintf("cuda: input %q", p.e.p.Values[v].Input))
}

func (p *part) scratchAt(i int) uint64 { return uint64(p.scratch[i]) }
