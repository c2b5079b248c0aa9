package cuda_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"quern/bench/fixtures"
	"quern/kernels/cuda"
	"quern/kernels/cuda/ptxvm"
	"quern/kernels/quant"
)

// modules parses each module once for all tests.
var modules = func() map[string]func() (*ptxvm.Module, error) {
	m := map[string]func() (*ptxvm.Module, error){}
	for _, mod := range cuda.Modules {
		m[mod.Name] = sync.OnceValues(func() (*ptxvm.Module, error) { return ptxvm.Parse(cuda.PTX(mod.Name)) })
	}
	return m
}()

// A gpu is an interpreter's device. Its buffers are exactly as long as asked,
// so that a kernel that leaves one faults.
type gpu struct {
	testing.TB
	ptxvm.Device
}

// newGPU returns a device, or skips the test where nothing is to be interpreted.
func newGPU(t testing.TB) *gpu {
	t.Helper()
	fixtures.Interpreter(t)
	return &gpu{TB: t}
}

func (g *gpu) bytes(b []byte) uint64 {
	p := g.Alloc(len(b))
	if err := g.Write(p, b); err != nil {
		g.Fatal(err)
	}
	return p
}

func (g *gpu) floats(v []float32) uint64 { return g.bytes(quant.Floats(v)) }

func (g *gpu) ints(v ...int32) uint64 {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return g.bytes(b)
}

// got reads n floats; one that was never written fails the test.
func (g *gpu) got(p uint64, n int) []float32 {
	g.Helper()
	b := make([]byte, 4*n)
	if err := g.Read(p, b); err != nil {
		g.Fatal(err)
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

func (g *gpu) gotInts(p uint64, n int) []int32 {
	g.Helper()
	v := make([]int32, n)
	for i, f := range g.got(p, n) {
		v[i] = int32(math.Float32bits(f))
	}
	return v
}

// launch runs a kernel of the table: pointers are uint64, numbers int, floats
// float32.
func (g *gpu) launch(name string, d cuda.Dims, args ...any) error {
	g.Helper()
	return g.launchWith(0, name, d, args...)
}

// launchWith adds bytes of shared memory.
func (g *gpu) launchWith(shared int, name string, d cuda.Dims, args ...any) error {
	g.Helper()
	k := cuda.Find(name)
	if k == nil {
		g.Fatalf("no kernel %s", name)
	}
	m, err := modules[k.Module]()
	if err != nil {
		g.Fatal(err)
	}
	if len(args) != len(k.Params) {
		g.Fatalf("%s: %d arguments for %d parameters", name, len(args), len(k.Params))
	}
	raw := make([]uint64, len(args))
	for i, a := range args {
		kind := k.Params[i].Kind
		switch a := a.(type) {
		case uint64:
			raw[i] = a
			kind -= cuda.Ptr
		case int:
			raw[i] = uint64(uint32(int32(a)))
			kind -= cuda.Int
		case float32:
			raw[i] = uint64(math.Float32bits(a))
			kind -= cuda.Float
		}
		if kind != 0 {
			g.Fatalf("%s: argument %s is a %T", name, k.Params[i].Name, a)
		}
	}
	return g.Launch(m.Kernel(name), ptxvm.Config{Grid: k.Grid(d), Block: [3]int{k.Threads}, Shared: k.Shared + shared}, raw...)
}

func (g *gpu) run(name string, d cuda.Dims, args ...any) {
	g.Helper()
	if err := g.launch(name, d, args...); err != nil {
		g.Fatal(err)
	}
}

func (g *gpu) runWith(shared int, name string, d cuda.Dims, args ...any) {
	g.Helper()
	if err := g.launchWith(shared, name, d, args...); err != nil {
		g.Fatal(err)
	}
}

const none = uint64(0)

// random returns n numbers about zero, the same ones for a seed.
func random(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func encode(t quant.Type, v []float32) []byte {
	n, _ := t.Size(len(v))
	b := make([]byte, n)
	t.Layout().Encode(b, v)
	return b
}

func decode(t quant.Type, b []byte, n int) []float32 {
	v := make([]float32, n)
	t.Layout().Decode(v, b)
	return v
}

// near compares value by value: |got - want| ≤ bound(i).
func near(t testing.TB, what string, got, want []float32, bound func(i int) float64) {
	t.Helper()
	worst := 0.0
	for i := range want {
		d, most := math.Abs(float64(got[i])-float64(want[i])), bound(i)
		if !(d <= most) && !(got[i] != got[i] && want[i] != want[i]) && got[i] != want[i] {
			t.Errorf("%s: value %d is %g, want %g within %g", what, i, got[i], want[i], most)
			return
		}
		worst = max(worst, d/max(most, 1e-300))
	}
	t.Logf("%s: worst error is %.2f of the bound", what, worst)
}

// same compares bits.
func same(t testing.TB, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: value %d is %x (%g), want %x (%g)", what, i, math.Float32bits(got[i]), got[i], math.Float32bits(want[i]), want[i])
		}
	}
}
