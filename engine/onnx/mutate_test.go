package onnx

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// extremes are numbers that sizes, axes and indices should not be.
var extremes = []int64{-1, 0, 1, 2, -2, 3, 7, 1 << 20, 1 << 28, 1 << 31, -1 << 31, 1 << 40, math.MaxInt64, math.MinInt64, -1 << 40}

// TestMutated runs the cases of ONNX's suite with something wrong in each: an
// attribute, a shape, an index, a type or an input that is left out. That gives
// an error or a well-formed value, in a bounded number of nodes and of bytes.
func TestMutated(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	cases, err := filepath.Glob(filepath.Join(fixtures.Path(t, "onnx"), "*", "*", "model.onnx"))
	if err != nil || cases == nil {
		t.Fatalf("no cases: %v", err)
	}
	pool := threads.NewPool(2)
	defer pool.Close()
	rounds := 1
	if fixtures.Whole {
		rounds = 4
	}
	ran, good := 0, 0
	for i, path := range cases {
		for round := range rounds {
			r := rand.New(rand.NewPCG(uint64(i), uint64(round)))
			ok, refused := mutated(t, path, pool, r)
			if !refused {
				ran++
			}
			if ok {
				good++
			}
		}
	}
	t.Logf("%d mutated cases ran, %d of them to the end", ran, good)
}

func mutated(t *testing.T, path string, pool *threads.Pool, r *rand.Rand) (ok, refused bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Parse(data, nil)
	if err != nil {
		return false, true
	}
	in := make(map[string]*tensor.Tensor)
	for i := range m.Graph.Inputs {
		v := &m.Graph.Inputs[i]
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), "test_data_set_0", "input_"+string(rune('0'+i%10))+".pb"))
		if err != nil || v.Type.Kind != onnx.KindTensor {
			return false, true
		}
		f, err := onnx.ParseTensor(data)
		if err != nil {
			return false, true
		}
		x, err := tensor.FromFile(f)
		if err != nil {
			return false, true
		}
		in[v.Name] = mutateTensor(x.Whole(), r)
		v.Type.Elem, v.Type.Dims = in[v.Name].Type, nil
	}
	mutateNodes(m.Graph.Nodes, r)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var out map[string]*tensor.Tensor
	s, err := New(m, run.Options{Pool: pool, Limit: 16 << 20})
	if err == nil {
		out, err = s.Run(&budget{context.Background(), 2000}, in)
	}
	runtime.ReadMemStats(&after)
	name := filepath.Base(filepath.Dir(path))
	if took := after.TotalAlloc - before.TotalAlloc; took > 512<<20 {
		t.Errorf("%s allocated %d MB: %s", name, took>>20, describe(m.Graph.Nodes))
	}
	if err != nil {
		return false, false
	}
	for _, v := range out {
		wellFormed(t, name+" "+describe(m.Graph.Nodes), v)
	}
	return true, false
}

func describe(nodes []*onnx.Node) (s string) {
	for _, n := range nodes {
		s += run.OpName(n) + " "
	}
	return s
}

// mutateTensor changes, one time in two, the shape, the numbers or the type.
func mutateTensor(x *tensor.Tensor, r *rand.Rand) *tensor.Tensor {
	switch r.IntN(10) {
	case 0: // fewer of them
		if len(x.Shape) > 0 {
			c := *x
			c.Shape = slices.Clone(x.Shape)
			d := r.IntN(len(c.Shape))
			c.Shape[d] = r.IntN(c.Shape[d] + 1)
			n := tensor.Count(c.Shape)
			switch {
			case c.F != nil:
				c.F = c.F[:n]
			case c.D != nil:
				c.D = c.D[:n]
			case c.S != nil:
				c.S = c.S[:n]
			default:
				c.I = c.I[:n]
			}
			return &c
		}
	case 1:
		return x.As(x.Len())
	case 2:
		return x.As(append([]int{1}, x.Shape...)...)
	case 3:
		if len(x.Shape) > 1 {
			shape := slices.Clone(x.Shape)
			slices.Reverse(shape)
			return x.As(shape...)
		}
	case 4:
		if c, err := x.Convert([]onnx.DType{onnx.Float, onnx.Int64, onnx.Bool, onnx.Uint8, onnx.Float16, onnx.Double, onnx.String, onnx.Int4}[r.IntN(8)]); err == nil {
			return c
		}
	}
	if len(x.I) > 0 && r.IntN(2) == 0 {
		c := *x
		c.I = slices.Clone(x.I)
		c.I[r.IntN(len(c.I))] = tensor.Wrap(x.Type, extremes[r.IntN(len(extremes))])
		return &c
	}
	return x
}

// mutateNodes changes an attribute or an input of a few nodes.
func mutateNodes(nodes []*onnx.Node, r *rand.Rand) {
	for _, n := range nodes {
		if r.IntN(max(1, len(nodes)/2)) != 0 {
			continue
		}
		if len(n.Inputs) > 0 && r.IntN(6) == 0 {
			n.Inputs[r.IntN(len(n.Inputs))] = ""
		}
		for _, name := range slices.Sorted(func(yield func(string) bool) {
			for name := range n.Attrs {
				if !yield(name) {
					return
				}
			}
		}) {
			a := n.Attrs[name]
			if r.IntN(3) != 0 {
				continue
			}
			v := extremes[r.IntN(len(extremes))]
			a.I = v
			a.F = float32(v)
			switch k := len(a.Ints); {
			case k > 0 && r.IntN(3) == 0:
				a.Ints = a.Ints[:k-1]
			case k > 0 && r.IntN(2) == 0:
				a.Ints = append(slices.Clone(a.Ints), v)
			case k > 0:
				a.Ints = slices.Clone(a.Ints)
				a.Ints[r.IntN(k)] = v
			}
			if len(a.Floats) > 0 {
				a.Floats = a.Floats[:r.IntN(len(a.Floats))]
			}
			if a.S != "" && r.IntN(2) == 0 {
				a.S = attrTexts[r.IntN(len(attrTexts))]
			}
			if a.G != nil {
				mutateNodes(a.G.Nodes, r)
			}
		}
	}
}
