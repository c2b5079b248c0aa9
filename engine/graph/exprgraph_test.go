//go:build !js && !cuda && !nogorgonia

package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"quern/bench/fixtures"
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
	for _, r := range recorders {
		b := newBuilder(6, 2, r.new())
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

// Recordings of random ops, right and wrong ones: both recorders must take the
// same, infer the same and give equal Programs.
func TestRecordersAgreeOnRandomRecordings(t *testing.T) {
	refused := 0
	seeds := 100
	if fixtures.Whole {
		seeds = 1000
	}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 0))
		rows, want := 1+r.IntN(3), 1+r.IntN(3)
		var b [2]*Builder
		var values [2][]Value
		for i, rec := range recorders {
			b[i] = newBuilder(rows, want, rec.new())
			values[i] = []Value{b[i].Tokens(), b[i].Positions(), b[i].Wanted(), b[i].Features(8)}
		}
		for range 40 {
			op := randomOp(r)
			s, _ := signatureOf(op)
			var at []int
			for range s.in {
				at = append(at, r.IntN(len(values[0])))
			}
			if r.IntN(50) == 0 {
				at = at[1:]
			}
			var v [2]Value
			var err [2]error
			for i := range b {
				var in []Value
				for _, k := range at {
					in = append(in, values[i][k])
				}
				v[i] = b[i].apply(op, in...)
				err[i], b[i].err = b[i].err, nil // and on with the recording
			}
			if (err[0] == nil) != (err[1] == nil) || v[0].n != v[1].n || v[0].kind != v[1].kind || !v[0].shape.equal(v[1].shape) {
				t.Fatalf("seed %d, %s: gorgonia infers %v %v, %v; the list %v %v, %v", seed, opName(op),
					v[0].kind, v[0].shape, err[0], v[1].kind, v[1].shape, err[1])
			}
			if err[0] != nil {
				refused++
				continue
			}
			for i := range b {
				values[i] = append(values[i], v[i])
			}
		}
		results := r.Perm(len(values[0]))[:2]
		var p [2]*Program
		for i := range b {
			var err error
			if p[i], err = b[i].Compile(values[i][results[0]], values[i][results[1]]); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(p[0], p[1]) {
			t.Fatalf("seed %d: gorgonia's recording gives\n%+v\nthe list\n%+v", seed, p[0], p[1])
		}
	}
	if refused < 3*seeds || refused > 37*seeds {
		t.Errorf("%d of %d ops refused; both kinds should be tried", refused, seeds*40)
	}
}

func randomOp(r *rand.Rand) Op {
	cross := CrossAttention{Layer: r.IntN(4), Heads: 2, HeadDim: 4, Tokens: 3}
	list := []Op{
		Embed{Weight: matrix("e", 9, 8)}, Embed{matrix("e", 9, 8), true}, Take{}, RMSNorm{matrix("n", 8), 1}, LayerNorm{matrix("n", 8), nil, 1},
		Linear{matrix("w", 8, 8), nil}, Linear{matrix("w", 6, 8), nil}, Linear{matrix("w", 8, 6), nil}, Linear{matrix("w", 1, 8), nil},
		AdaptedEmbed{Embed{Weight: matrix("e", 9, 8)}, []Change{{A: matrix("a", 9, 2), B: matrix("b", 2, 8)}}}, AdaptedLinear{Linear{matrix("w", 6, 8), nil}, []Change{{A: matrix("a", 2, 8), B: matrix("b", 2, 6)}}},
		Bias{matrix("v", 8)}, Add{}, Scale{2}, SoftCap{2}, SoftCap{}, Clamp{2}, Clamp{}, Blend{1}, Blend{2}, MatchRMS{}, Sparsify{1}, Times{matrix("v", 8)}, XIELU{Beta: 1}, XIELU{Beta: float32(math.NaN())}, Activate{GELU}, Gate{SiLU}, Weigh{}, Temper{1, 2, 0}, Temper{},
		HeadLinear{matrix("hw", 2, 3, 4)}, HeadLinear{matrix("hw", 2, 4, 4)}, HeadCut{2, 1, 3}, HeadCut{2, 0, 4}, HeadCut{}, HeadJoin{2}, HeadJoin{},
		ShortConv{Weight: matrix("sc", 8, 3)}, ShortConv{}, Mamba2{A: matrix("a", 2), D: matrix("a", 2), DtBias: matrix("a", 2), Head: 1, Groups: 1, State: 3}, Mamba2{},
		Mamba1{A: matrix("a", 8, 8), D: matrix("d", 8)}, Mamba1{}, DeltaNet{A: matrix("a", 8), DtBias: matrix("a", 8), Heads: 8, KeyHeads: 1, Key: 0, Value: 1}, DeltaNet{},
		TokenShift{Mix: matrix("ts", 1, 8)}, TokenShift{}, randomWKV7(4), WKV7{},
		Rope{HeadDim: 4, Freqs: []float64{1}}, Attention{Layer: r.IntN(4), Heads: 2, KVHeads: 2, HeadDim: 4},
		Attention{Layer: r.IntN(4), Heads: 2, KVHeads: 2, HeadDim: 4, Bidirectional: true},
		LatentAttention{Layer: r.IntN(4), Heads: 1, HeadDim: 8, Values: 4}, LatentAttention{},
		SharedAttention{Attention{Layer: r.IntN(4), Heads: 2, KVHeads: 2, HeadDim: 4}},
		Experts{Gate: matrix("g", 8, 4, 8), Up: matrix("u", 8, 4, 8), Down: matrix("d", 8, 8, 4), Routing: Routing{Used: 1}},
		AdaptedExperts{Experts: Experts{Gate: matrix("g", 8, 4, 8), Up: matrix("u", 8, 4, 8), Down: matrix("d", 8, 8, 4), Routing: Routing{Used: 1}}, UpChanges: []Change{{}, {A: matrix("a", 8, 2, 8), B: matrix("b", 8, 2, 4)}}},
		Conv1D{Weight: matrix("c", 4, 4, 3), Steps: 2, Stride: 1}, DenseAttention{Heads: 2, HeadDim: 4},
		Store{r.IntN(4)}, cross, CrossScores{cross, []int{0}},
	}
	return list[r.IntN(len(list))]
}

func randomWKV7(head int) WKV7 {
	w := matrix("wkv", 8)
	return WKV7{Key: w, Rate: w, Bonus: w, Norm: w, Shift: w, Head: head}
}

// A typeOp has an op's types and lets every shape pass.
type typeOp struct{ exprOp }

func (o typeOp) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	s, _ := signatureOf(o.op)
	return []tensor.Shape{float32s: {2, 2}, int32s: {2}}[s.out.of], nil
}

// Every op over every type of inputs: gorgonia's unification and the few lines of
// the other builds must agree.
func TestTypesAgree(t *testing.T) {
	kinds := []kind{perRow, perWant, rowIDs, wantIDs}
	fits := 0
	for _, s := range signatures {
		combinations := 1
		for range s.in {
			combinations *= len(kinds)
		}
		for n := range combinations {
			r := newRecorder().(*exprGraph)
			c := call{op: s.op}
			var nodes gorgonia.Nodes
			for i, m := 0, n; i < len(s.in); i, m = i+1, m/len(kinds) {
				k := kinds[m%len(kinds)]
				v := r.input(fmt.Sprint(i), k, []Shape{float32s: {2, 2}, int32s: {2}}[k.of])
				c.in, nodes = append(c.in, v), append(nodes, r.g.AllNodes()[v.n])
			}
			want, ok := s.result(c.in)
			node, err := gorgonia.ApplyOp(typeOp{exprOp{c, uint32(len(nodes))}}, nodes...)
			if (err == nil) != ok {
				t.Errorf("%s of %v: gorgonia says %v, the list %v", opName(s.op), c.in, err, ok)
				continue
			}
			if ok {
				fits++
				if got := kindOf(node.Type()); got != want {
					t.Errorf("%s of %v: gorgonia infers %v, the list %v", opName(s.op), c.in, got, want)
				}
			}
		}
	}
	// One by its rows or wanted rows for every op that takes both, else one.
	if fits != 36+29 {
		t.Errorf("%d combinations fit", fits)
	}
}

// It is gorgonia that refuses what is wrong: its words are in the error.
func TestGorgoniaRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		build      func(b *Builder, x Value) Value
	}{
		{"numbers", "Unification Fail: int32 ~ float32 cannot be unified", func(b *Builder, x Value) Value { return b.Scale(b.Tokens(), 2) }},
		{"rows", "Unification Fail: wanted row ~ row cannot be unified", func(b *Builder, x Value) Value { return b.Add(x, b.Take(x, b.Wanted())) }},
		{"arity", "Add has an arity of 2. Got 1 instead", func(b *Builder, x Value) Value { return b.apply(Add{}, x) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := NewBuilder(4, 4)
			if _, err := b.Compile(tt.build(b, b.Features(8))); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("error %v, want one that ends with %q", err, tt.want)
			}
		})
	}
	// Shapes and the order of effects are refused by the op as gorgonia sees it.
	b := NewBuilder(4, 4)
	x := b.Features(8)
	attend := Attention{Heads: 2, KVHeads: 2, HeadDim: 4}
	a := b.Attention(x, x, x, attend)
	nodes := b.rec.(*exprGraph).g.AllNodes()
	for _, c := range []call{
		{op: Linear{matrix("w", 3, 7), nil}, in: []Value{x}},
		{op: attend, in: []Value{x, x, x}, before: []recordedUse{{attend, a}}},
	} {
		var in gorgonia.Nodes
		for _, v := range c.in {
			in = append(in, nodes[v.n])
		}
		if _, err := gorgonia.ApplyOp(exprOp{c, 99}, in...); err == nil || !strings.HasPrefix(err.Error(), "Failed to infer shape. Op: "+opName(c.op)) {
			t.Errorf("%s: error %v", opName(c.op), err)
		}
	}
}

// Steps come in the order of the graph's edges, not in that of recording.
func TestOrderIsTheGraphs(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		edges      func(x, scale, capped *gorgonia.Node) // how they are bent
	}{
		{"as recorded", "Scale, SoftCap, Add", func(x, scale, capped *gorgonia.Node) {}},
		{"the later first", "SoftCap, Scale, Add", func(x, scale, capped *gorgonia.Node) {
			gorgonia.WithChildren(gorgonia.Nodes{capped})(scale)
		}},
		{"a circle", "no topological ordering", func(x, scale, capped *gorgonia.Node) {
			gorgonia.WithChildren(gorgonia.Nodes{capped})(scale)
			gorgonia.WithChildren(gorgonia.Nodes{scale})(capped)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := NewBuilder(4, 4)
			x := b.Features(8)
			scale, capped := b.Scale(x, 2), b.SoftCap(x, 3)
			sum := b.Add(scale, capped)
			nodes := b.rec.(*exprGraph).g.AllNodes()
			tt.edges(nodes[x.n], nodes[scale.n], nodes[capped.n])
			p, err := b.Compile(sum)
			var got string
			if err != nil {
				got = err.Error()
			} else {
				var names []string
				for _, s := range p.Steps {
					names = append(names, opName(s.Op))
				}
				got = strings.Join(names, ", ")
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
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
	case Clamp:
		vec.Clamp(dst, in[0], op.Limit)
	case XIELU:
		vec.XIELU(dst, in[0], op.Positive, op.Negative, op.Beta, op.Epsilon)
	case Blend:
		rows := len(dst) / 8
		for r := range rows {
			vec.Blend(dst[r*8:(r+1)*8], in[0][r*8:(r+1)*8], in[1][r*8:(r+1)*8], in[2][r*4:(r+1)*4], 8/op.Streams)
		}
	case MatchRMS:
		for r := 0; r < len(dst); r += 8 {
			vec.MatchRMS(dst[r:r+8], in[0][r:r+8], in[1][r:r+8], op.Eps)
		}
	case Sparsify:
		for r := 0; r < len(dst); r += 8 {
			vec.Sparsify(dst[r:r+8], in[0][r:r+8], op.Deviations)
		}
	case Times:
		for r := 0; r < len(dst); r += 8 {
			vec.Mul(dst[r:r+8], in[0][r:r+8], vector(op.Vector))
		}
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
			Routing: matmul.Routing{Used: op.Used, Renormalise: op.Renormalise}, Act: vec.SwiGLUClamped,
		}, n, rows).Run(pool, dst, in[0], in[1], rows, nil)
	case Rope:
		n := len(dst) / len(in[1])
		cos, sin := make([]float32, len(op.Freqs)), make([]float32, len(op.Freqs))
		for i, p := range in[1] {
			vec.RopeTable(cos, sin, int32(p), op.Freqs, op.Magnitude)
			vec.Rope(dst[i*n:(i+1)*n], in[0][i*n:(i+1)*n], op.HeadDim, cos, sin, op.Interleaved)
		}
	case Temper:
		n := len(dst) / len(in[1])
		for i, p := range in[1] {
			vec.Scale(dst[i*n:(i+1)*n], in[0][i*n:(i+1)*n], float32(1+op.Beta*math.Log1p(math.Floor((float64(p)+float64(op.Offset))/float64(op.Period)))))
		}
	default:
		return fmt.Errorf("no reference for %T", op)
	}
	return nil
}

// A runOp is an op that gorgonia's machine can run: all its numbers are float32.
type runOp struct{ exprOp }

func (o runOp) Type() hm.Type {
	var ts []hm.Type
	for _, v := range o.in {
		ts = append(ts, gorgonia.TensorType{Dims: len(v.shape), Of: tensor.Float32})
	}
	return hm.NewFnType(append(ts, gorgonia.TensorType{Dims: 2, Of: tensor.Float32})...)
}

func (o runOp) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	args := make([][]float32, len(in))
	shapes := make([]Shape, len(in))
	for i, v := range in {
		args[i], shapes[i] = v.Data().([]float32), Shape(v.Shape())
	}
	out, err := o.shape(shapes...)
	if err != nil {
		return nil, err
	}
	dst := make([]float32, out.Elems())
	if err := reference(o.op, dst, args); err != nil {
		return nil, err
	}
	return tensor.New(tensor.WithShape(out...), tensor.WithBacking(dst)), nil
}

// gorgonia's own machine, walking a graph of the same ops, must agree bit for bit with
// the Program walked in order.
func TestTapeMachineAgrees(t *testing.T) {
	const rows, want = 5, 2
	inputs := map[string][]float32{
		inTokens:    {3, 0, 19, 7, 7},
		inPositions: {0, 1, 2, 3, 40},
		inWanted:    {1, 4},
	}
	b := NewBuilder(rows, want)
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

	list, err := b.rec.sorted()
	if err != nil {
		t.Fatal(err)
	}
	g := gorgonia.NewGraph()
	nodes := make([]*gorgonia.Node, len(list))
	for _, n := range list {
		if n.op == nil {
			f := inputs[n.name]
			nodes[n.n] = gorgonia.NewVector(g, gorgonia.Float32, gorgonia.WithShape(len(f)), gorgonia.WithName(n.name),
				gorgonia.WithValue(tensor.New(tensor.WithShape(len(f)), tensor.WithBacking(f))))
			continue
		}
		var in gorgonia.Nodes
		for _, i := range n.in {
			in = append(in, nodes[i])
		}
		op := b.rec.(*exprGraph).g.AllNodes()[n.n].Op().(exprOp)
		if nodes[n.n], err = gorgonia.ApplyOp(runOp{op}, in...); err != nil {
			t.Fatal(err)
		}
	}
	m := gorgonia.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	got, ref := values[p.Results[0]], nodes[out.n].Value().Data().([]float32)
	if len(got) != len(ref) {
		t.Fatalf("%d results, gorgonia has %d", len(got), len(ref))
	}
	for i := range ref {
		if math.Float32bits(got[i]) != math.Float32bits(ref[i]) {
			t.Fatalf("[%d]: program %g, gorgonia %g", i, got[i], ref[i])
		}
	}
}
