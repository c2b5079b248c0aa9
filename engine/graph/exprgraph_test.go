//go:build !js && !cuda

package graph

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"quern/formats/weights"
	"quern/kernels/dot"
	"quern/kernels/matmul"
	"quern/kernels/quant"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// Both recorders must give the same Program.
func TestRecordersAgree(t *testing.T) {
	var programs []*Program
	for _, rec := range []recorder{newRecorder(), new(inorder)} {
		b := newBuilder(6, 2, rec)
		p, err := b.Compile(record(b, true))
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, p)
	}
	if !reflect.DeepEqual(programs[0], programs[1]) {
		t.Errorf("gorgonia's recording gives\n%+v\nthe list\n%+v", programs[0], programs[1])
	}
}

func vector(t *weights.Tensor) []float32 {
	if t == nil {
		return nil
	}
	f := make([]float32, t.Elems())
	quant.F32.Layout().Decode(f, t.Data)
	return f
}

// reference computes one op with the kernels' Go code. Attention is left out:
// it writes to a cache, and ops under gorgonia's machine may not.
func reference(op Op, dst []float32, in [][]float32) error {
	switch op := op.(type) {
	case Embed:
		n := op.Weight.Shape[1]
		for i, id := range in[0] {
			quant.F32.Layout().Decode(dst[i*n:(i+1)*n], op.Weight.Data[4*n*int(id):4*n*(int(id)+1)])
		}
	case Take:
		n := len(dst) / len(in[1])
		for i, r := range in[1] {
			copy(dst[i*n:(i+1)*n], in[0][int(r)*n:])
		}
	case RMSNorm:
		w := make([]float32, op.Weight.Elems())
		quant.F32.Layout().Decode(w, op.Weight.Data)
		vec.RMSNorm(dst, in[0], w, op.Eps)
	case Linear:
		out, n := op.Weight.Shape[0], op.Weight.Shape[1]
		dot.Rows(quant.F32, dst, out, op.Weight.Data, out, n, quant.Floats(in[0]), 4*n, len(in[0])/n)
		if op.Bias != nil {
			b := make([]float32, out)
			quant.F32.Layout().Decode(b, op.Bias.Data)
			for i := range dst {
				dst[i] += b[i%out]
			}
		}
	case Add:
		vec.Add(dst, in[0], in[1])
	case LayerNorm:
		vec.LayerNorm(dst, in[0], vector(op.Weight), vector(op.Bias), op.Eps)
	case Bias:
		vec.Bias(dst, in[0], vector(op.Vector))
	case Scale:
		vec.Scale(dst, in[0], op.By)
	case SoftCap:
		vec.SoftCap(dst, in[0], op.Limit)
	case Activate:
		vec.GELU(dst, in[0], nil)
	case Gate:
		vec.SiLUGate(dst, in[0], in[1])
	case Weigh:
		vec.Weigh(dst, in[0], in[1])
	case Experts:
		stack := func(w, bias *weights.Tensor) matmul.Stack {
			return matmul.Stack{Type: w.Type, Data: w.Data, Out: w.Shape[1], In: w.Shape[2], Bias: vector(bias)}
		}
		n := op.Gate.Shape[0]
		rows := len(in[1]) / n
		pool := threads.NewPool(1)
		defer pool.Close()
		matmul.NewExperts(matmul.ExpertsOptions{
			Gate: stack(op.Gate, op.GateBias), Up: stack(op.Up, op.UpBias), Down: stack(op.Down, op.DownBias),
			Used: op.Used, Renormalise: op.Renormalise, Act: vec.SwiGLUClamped,
		}, n, rows).Run(pool, dst, in[0], in[1], rows)
	case Rope:
		n := len(dst) / len(in[1])
		cos, sin := make([]float32, len(op.Freqs)), make([]float32, len(op.Freqs))
		for i, p := range in[1] {
			vec.RopeTable(cos, sin, int32(p), op.Freqs, op.Magnitude)
			vec.Rope(dst[i*n:(i+1)*n], in[0][i*n:(i+1)*n], op.HeadDim, cos, sin, op.Interleaved)
		}
	default:
		return fmt.Errorf("no reference for %T", op)
	}
	return nil
}

// gorgonia's own machine, walking its own graph, must agree bit for bit with
// the Program walked in order.
func TestTapeMachineAgrees(t *testing.T) {
	const rows, want = 5, 2
	inputs := map[string][]float32{
		inTokens:    {3, 0, 19, 7, 7},
		inPositions: {0, 1, 2, 3, 40},
		inWanted:    {1, 4},
	}
	rec := newRecorder().(*exprGraph)
	rec.eval = reference
	b := newBuilder(rows, want, rec)
	out := record(b, false)
	p, err := b.Compile(out)
	if err != nil {
		t.Fatal(err)
	}

	values := make([][]float32, len(p.Values))
	for i, v := range p.Values {
		if v.Input != "" {
			values[i] = inputs[v.Input]
		}
	}
	buffers := make([][]float32, len(p.Buffers))
	for i, n := range p.Buffers {
		buffers[i] = make([]float32, n)
	}
	for _, s := range p.Steps {
		var in [][]float32
		for _, v := range s.In {
			in = append(in, values[v])
		}
		v := p.Values[s.Out]
		values[s.Out] = buffers[v.Buffer][:v.Shape.Elems()]
		if err := reference(s.Op, values[s.Out], in); err != nil {
			t.Fatal(err)
		}
	}

	for _, n := range rec.list {
		if f, ok := inputs[n.Name()]; ok {
			if err := gorgonia.Let(n, tensor.New(tensor.WithShape(len(f)), tensor.WithBacking(f))); err != nil {
				t.Fatal(err)
			}
		}
	}
	m := gorgonia.NewTapeMachine(rec.g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	got, ref := values[p.Results[0]], rec.list[out.n].Value().Data().([]float32)
	if len(got) != len(ref) {
		t.Fatalf("%d results, gorgonia has %d", len(got), len(ref))
	}
	for i := range ref {
		if math.Float32bits(got[i]) != math.Float32bits(ref[i]) {
			t.Fatalf("[%d]: program %g, gorgonia %g", i, got[i], ref[i])
		}
	}
}
