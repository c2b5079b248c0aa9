package graph

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"quern/formats/weights"
	"quern/kernels/quant"
)

// matrix is a float32 tensor of small values that differ by name and place.
func matrix(name string, shape ...int) *weights.Tensor {
	t := &weights.Tensor{Name: name, Type: quant.F32, Shape: shape}
	f := make([]float32, t.Elems())
	for i := range f {
		f[i] = float32(math.Sin(float64(i*len(name)+len(name)))) / 4
	}
	t.Data = append([]byte(nil), quant.Floats(f)...)
	return t
}

// record makes a pass with every op in it: two blocks of attention, a gated
// feed-forward layer and a mixture of experts.
func record(b *Builder, attention bool) Value {
	const hidden, ff, vocab = 8, 12, 20
	freqs := []float64{1, 0.1}
	x := b.Embed(b.Tokens(), matrix("embed", vocab, hidden))
	for _, l := range []string{"a", "bb"} {
		h := b.RMSNorm(x, matrix(l+"norm", hidden), 1e-5)
		q := b.Rope(b.Linear(h, matrix(l+"q", hidden, hidden), matrix(l+"qb", hidden)), b.Positions(), Rope{HeadDim: 4, Freqs: freqs, Magnitude: 1})
		q = b.Temper(q, b.Positions(), Temper{Beta: 0.1, Period: 2, Offset: 1})
		if attention {
			k, v := b.Linear(h, matrix(l+"k", 4, hidden), nil), b.Linear(h, matrix(l+"v", 4, hidden), nil)
			q = b.HeadLinear(q, matrix(l+"heads", 2, 4, 4))
			q = b.HeadJoin(b.HeadCut(q, 2, 0, 1), b.HeadCut(q, 2, 1, 4), 2)
			q = b.Attention(q, k, v, Attention{Layer: len(l) - 1, Heads: 2, KVHeads: 1, HeadDim: 4, Scale: 0.5})
		}
		x = b.Add(x, b.Linear(q, matrix(l+"o", hidden, hidden), nil))
		g := b.Gate(b.Linear(x, matrix(l+"gate", ff, hidden), nil), b.Linear(x, matrix(l+"up", ff, hidden), nil), SiLU)
		x = b.Add(x, b.Linear(g, matrix(l+"down", hidden, ff), nil))
		h = b.Bias(b.LayerNorm(x, matrix(l+"ln", hidden), matrix(l+"lnb", hidden), 1e-5), matrix(l+"bias", hidden))
		router := b.Linear(h, matrix(l+"router", 3, hidden), nil)
		moe := b.Experts(h, router, Experts{
			Gate: matrix(l+"gates", 3, ff, hidden), Up: matrix(l+"ups", 3, ff, hidden), Down: matrix(l+"downs", 3, hidden, ff),
			UpBias: matrix(l+"upbias", 3, ff), Routing: Routing{Used: 2, Renormalise: true}, Act: SwiGLUClamped,
		})
		shared := b.Linear(b.Activate(b.Linear(h, matrix(l+"sup", ff, hidden), nil), GELU), matrix(l+"sdown", hidden, ff), nil)
		shared = b.Weigh(shared, b.Linear(h, matrix(l+"sgate", 1, hidden), nil))
		x = b.Add(x, b.XIELU(b.Scale(b.Clamp(b.SoftCap(b.Add(moe, shared), 3), 2), 0.5), XIELU{Positive: 1, Negative: 1, Beta: 0.5}))
	}
	x = b.Add(x, x)
	x = b.Sparsify(b.MatchRMS(b.Blend(x, x, b.Linear(x, matrix("blend", 4, hidden), nil), 2), x, 1e-5), 0.5)
	x = b.Times(x, matrix("times", hidden))
	if attention {
		// What adapters change.
		lookup, o, ups := matrix("embed2", vocab, hidden), matrix("o2", hidden, hidden), matrix("ups2", 2, hidden, hidden)
		b.Adapt(Changes{
			Embed: map[*weights.Tensor][]Change{lookup: {{}, {A: matrix("ea", vocab, 2), B: matrix("eb", 2, hidden), Scale: 0.5}}},
			Linear: map[*weights.Tensor][]Change{
				o:   {{A: matrix("oa", 3, hidden), B: matrix("ob", 3, hidden), Scale: 2}, {}},
				ups: {{}, {A: matrix("ua", 2, 3, hidden), B: matrix("ub", 2, 3, hidden), Scale: 2}},
			},
		})
		x = b.Add(x, b.Experts(x, b.Linear(x, matrix("router2", 2, hidden), nil), Experts{Up: ups, Down: matrix("downs2", 2, hidden, hidden), Routing: Routing{Used: 1}, Act: SquaredReLU}))
		x = b.Add(x, b.Linear(b.Embed(b.Tokens(), lookup), o, nil))
		l := b.LatentAttention(x, b.HeadCut(x, 1, 0, 4), LatentAttention{Layer: 3, Heads: 2, HeadDim: 4, Values: 2, Scale: 0.5})
		x = b.Add(x, b.HeadJoin(l, l, 1))
		x = b.SharedAttention(x, SharedAttention{Attention{Layer: 1, Heads: 2, KVHeads: 1, HeadDim: 4, Scale: 0.5}})
		// What carries states.
		at := 0
		carry := func(n int) int { at += n; return at - n }
		c := b.ShortConv(x, ShortConv{Weight: matrix("sc", hidden, 3), Act: true, At: carry(hidden * 2)})
		m := b.Mamba2(b.HeadJoin(c, b.HeadCut(c, 1, 0, 6), 1), b.HeadCut(c, 1, 0, 2), Mamba2{A: matrix("a", 2), D: matrix("a", 2), DtBias: matrix("a", 2), Head: 4, Groups: 1, State: 3, At: carry(24)})
		m = b.Mamba1(m, c, b.HeadCut(c, 1, 0, 2), b.HeadCut(c, 1, 2, 4), Mamba1{A: matrix("a1", hidden, 2), D: matrix("d1", hidden), At: carry(hidden * 2)})
		x = b.Add(x, b.DeltaNet(b.HeadJoin(m, c, 1), b.HeadCut(c, 1, 0, 4), b.HeadCut(c, 1, 4, 8), DeltaNet{A: matrix("ad", 4), DtBias: matrix("ad", 4), Heads: 4, KeyHeads: 2, Key: 2, Value: 2, At: carry(16)}))
		shifted := b.TokenShift(x, TokenShift{Mix: matrix("ts", 2, hidden), At: carry(hidden)})
		r, w := b.HeadCut(shifted, 1, 0, hidden), b.HeadCut(shifted, 1, hidden, 2*hidden)
		each := matrix("wkv", hidden)
		x = b.WKV7(r, w, x, x, w, WKV7{Key: each, Rate: each, Bonus: each, Norm: each, Shift: each, Eps: 1, Head: 4, At: carry(hidden * 4)})
		// An encoder of the same width, and a decoder's look at it.
		e := b.Activate(b.Conv1D(b.Features(6), Conv1D{Weight: matrix("conv", hidden, 3, 3), Bias: matrix("convb", hidden, 1), Steps: 2, Stride: 2}), GELU)
		e = b.DenseAttention(e, e, e, DenseAttention{Heads: 2, HeadDim: 4, Scale: 0.5})
		x = b.Store(x, e, e, 2)
		cross := CrossAttention{Layer: 2, Heads: 2, HeadDim: 4, Tokens: 8, Scale: 0.5}
		x = b.Add(x, b.CrossAttention(x, cross))
		x = b.CrossScores(x, CrossScores{cross, []int{1}})
	}
	return b.Linear(b.Take(x, b.Wanted()), matrix("out", vocab, hidden), nil)
}

// TestGather: projections of one value are neighbours, whatever was recorded between them, but for an
// encoder's.
func TestGather(t *testing.T) {
	for _, encodes := range []bool{false, true} {
		b := NewBuilder(6, 2)
		var h Value
		if encodes {
			h = b.Conv1D(b.Features(8), Conv1D{Weight: matrix("conv", 8, 8, 3), Bias: matrix("convb", 8, 1), Steps: 1, Stride: 1})
		} else {
			h = b.RMSNorm(b.Embed(b.Tokens(), matrix("embed", 20, 8)), matrix("norm", 8), 1e-5)
		}
		sum := b.Activate(b.Linear(h, matrix("q", 8, 8), nil), GELU)
		for _, name := range []string{"k", "v"} {
			sum = b.Add(sum, b.Activate(b.Linear(h, matrix(name, 8, 8), nil), GELU))
		}
		p, err := b.Compile(b.Linear(sum, matrix("o", 8, 8), nil))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range p.Steps {
			names = append(names, strings.Fields(opName(s.Op) + " -")[1])
		}
		if got := strings.Contains(strings.Join(names, " "), "q k v"); got == encodes {
			t.Errorf("steps of %v; encodes: %v", names, encodes)
		}
	}
}

func TestProgram(t *testing.T) {
	b := NewBuilder(6, 2)
	p, err := b.Compile(record(b, true))
	if err != nil {
		t.Fatal(err)
	}
	inPlace := p.InPlace(func(op Op) bool {
		switch op.(type) {
		case Add, Gate, Rope:
			return true
		}
		return false
	})
	checkBuffers(t, p, false)
	checkBuffers(t, inPlace, true)
	if a, b := len(p.Buffers), len(inPlace.Buffers); a > 11 || b >= a {
		t.Errorf("%d steps take %d buffers, %d in place; they should share", len(p.Steps), a, b)
	}
	if got, want := p.Values[p.Results[0]], (ValueInfo{Shape: Shape{2, 20}, Lead: PerWant, Buffer: p.Values[p.Results[0]].Buffer}); !reflect.DeepEqual(got, want) {
		t.Errorf("result is %+v, want %+v", got, want)
	}
}

// checkBuffers fails unless the value that a buffer holds is the one every step expects.
func checkBuffers(t *testing.T, p *Program, inPlace bool) {
	t.Helper()
	holds := make([]int, len(p.Buffers))
	for i := range holds {
		holds[i] = -1
	}
	read := func(step, v int) {
		if buf := p.Values[v].Buffer; buf >= 0 && holds[buf] != v {
			t.Fatalf("step %d reads value %d from buffer %d, which holds %d", step, v, buf, holds[buf])
		}
	}
	for i, s := range p.Steps {
		out := p.Values[s.Out]
		for _, v := range s.In {
			read(i, v)
			if p.Values[v].Buffer == out.Buffer && !inPlace {
				t.Fatalf("step %d writes the buffer of its input %d", i, v)
			}
		}
		if out.Shape.Elems() > p.Buffers[out.Buffer] {
			t.Fatalf("step %d: shape %v in a buffer of %d", i, out.Shape, p.Buffers[out.Buffer])
		}
		holds[out.Buffer] = s.Out
	}
	read(len(p.Steps), p.Results[0])
}

func TestUnusedStepsAreDropped(t *testing.T) {
	b := NewBuilder(4, 1)
	x := b.Embed(b.Tokens(), matrix("embed", 5, 8))
	y := b.Add(x, x)
	b.Linear(y, matrix("unused", 3, 8), nil)
	p, err := b.Compile(y)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Steps) != 2 {
		t.Errorf("%d steps, want 2", len(p.Steps))
	}
}

func TestBuilderErrors(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		build      func(b *Builder) Value
	}{
		{"linear width", "linear: w [3 7] on input of shape [4 8]", func(b *Builder) Value {
			return b.Linear(b.Embed(b.Tokens(), matrix("e", 5, 8)), matrix("w", 3, 7), nil)
		}},
		{"bias", "bias v [2] for w [3 8]", func(b *Builder) Value {
			return b.Linear(b.Embed(b.Tokens(), matrix("e", 5, 8)), matrix("w", 3, 8), matrix("v", 2))
		}},
		{"no weight", "embed: weight must be a matrix, got nothing", func(b *Builder) Value { return b.Embed(b.Tokens(), nil) }},
		{"norm", "rmsnorm: w [3] over rows", func(b *Builder) Value {
			return b.RMSNorm(b.Embed(b.Tokens(), matrix("e", 5, 8)), matrix("w", 3), 1)
		}},
		{"add", "shapes [4 8] and [4 6] differ", func(b *Builder) Value {
			x := b.Embed(b.Tokens(), matrix("e", 5, 8))
			return b.Add(x, b.Linear(x, matrix("w", 6, 8), nil))
		}},
		{"gate", "gate: shapes", func(b *Builder) Value {
			x := b.Embed(b.Tokens(), matrix("e", 5, 8))
			return b.Gate(x, b.Linear(x, matrix("w", 6, 8), nil), SiLU)
		}},
		{"rope", "rope: 3 pairs in a head of 4", func(b *Builder) Value {
			return b.Rope(b.Embed(b.Tokens(), matrix("e", 5, 8)), b.Positions(), Rope{HeadDim: 4, Freqs: make([]float64, 3)})
		}},
		{"attention", "attention: 3 heads of 4 share 2 key heads", func(b *Builder) Value {
			x := b.Embed(b.Tokens(), matrix("e", 5, 8))
			return b.Attention(x, x, x, Attention{Heads: 3, KVHeads: 2, HeadDim: 4})
		}},
		{"attention sinks", "attention: sinks s [3] for 2 heads", func(b *Builder) Value {
			x := b.Embed(b.Tokens(), matrix("e", 5, 8))
			return b.Attention(x, x, x, Attention{Heads: 2, KVHeads: 2, HeadDim: 4, Sinks: matrix("s", 3)})
		}},
		{"attention in chunks", "attention: window 0, chunk 4, soft cap 0, bidirectional true", func(b *Builder) Value {
			x := b.Embed(b.Tokens(), matrix("e", 5, 8))
			return b.Attention(x, x, x, Attention{Heads: 2, KVHeads: 2, HeadDim: 4, Chunk: 4, Bidirectional: true})
		}},
		{"attention slopes", "attention: 3 slopes for 2 heads", func(b *Builder) Value {
			x := b.Embed(b.Tokens(), matrix("e", 5, 8))
			return b.Attention(x, x, x, Attention{Heads: 2, KVHeads: 2, HeadDim: 4, Slopes: make([]float32, 3)})
		}},
		{"layernorm", "layernorm: w [8] and b [7] over rows", func(b *Builder) Value {
			return b.LayerNorm(b.Embed(b.Tokens(), matrix("e", 5, 8)), matrix("w", 8), matrix("b", 7), 1)
		}},
		{"bias vector", "bias: v [3] on rows", func(b *Builder) Value {
			return b.Bias(b.Embed(b.Tokens(), matrix("e", 5, 8)), matrix("v", 3))
		}},
		{"softcap", "softcap: limit 0", func(b *Builder) Value {
			return b.SoftCap(b.Embed(b.Tokens(), matrix("e", 5, 8)), 0)
		}},
		{"activate", "activate: silu does not stand alone", func(b *Builder) Value {
			return b.Activate(b.Embed(b.Tokens(), matrix("e", 5, 8)), SiLU)
		}},
		{"unknown activation", "gate: Act(9) is no activation", func(b *Builder) Value {
			x := b.Embed(b.Tokens(), matrix("e", 5, 8))
			return b.Gate(x, x, Act(9))
		}},
		{"weigh", "weigh: rows [4 8] by [4 8]", func(b *Builder) Value {
			x := b.Embed(b.Tokens(), matrix("e", 5, 8))
			return b.Weigh(x, x)
		}},
		{"experts", "experts: 3 used of 2", func(b *Builder) Value {
			x := b.Embed(b.Tokens(), matrix("e", 5, 8))
			return b.Experts(x, b.Linear(x, matrix("r", 2, 8), nil), Experts{Gate: matrix("g", 2, 4, 8), Up: matrix("u", 2, 4, 8), Down: matrix("d", 2, 8, 4), Routing: Routing{Used: 3}})
		}},
		{"experts' widths", "experts: g [2 4 8], u [2 5 8] and d [2 8 4] do not fit", func(b *Builder) Value {
			x := b.Embed(b.Tokens(), matrix("e", 5, 8))
			return b.Experts(x, b.Linear(x, matrix("r", 2, 8), nil), Experts{Gate: matrix("g", 2, 4, 8), Up: matrix("u", 2, 5, 8), Down: matrix("d", 2, 8, 4), Routing: Routing{Used: 1}})
		}},
		{"experts without a gate", "experts: activation silu without a gate", func(b *Builder) Value {
			x := b.Embed(b.Tokens(), matrix("e", 5, 8))
			return b.Experts(x, b.Linear(x, matrix("r", 2, 8), nil), Experts{Up: matrix("u", 2, 4, 8), Down: matrix("d", 2, 8, 4), Routing: Routing{Used: 1}})
		}},
		{"experts with a gate", "experts: activation squared-relu with a gate", func(b *Builder) Value {
			x := b.Embed(b.Tokens(), matrix("e", 5, 8))
			return b.Experts(x, b.Linear(x, matrix("r", 2, 8), nil), Experts{Gate: matrix("g", 2, 4, 8), Up: matrix("u", 2, 4, 8), Down: matrix("d", 2, 8, 4), Routing: Routing{Used: 1}, Act: SquaredReLU})
		}},
		{"experts' router", "on input of shape [4 8] routed by [4 3]", func(b *Builder) Value {
			x := b.Embed(b.Tokens(), matrix("e", 5, 8))
			return b.Experts(x, b.Linear(x, matrix("r", 3, 8), nil), Experts{Gate: matrix("g", 2, 4, 8), Up: matrix("u", 2, 4, 8), Down: matrix("d", 2, 8, 4), Routing: Routing{Used: 1}})
		}},
		{"conv width", "conv1d: w [4 3 3] over 2 steps a row of shape [4 8]", func(b *Builder) Value {
			return b.Conv1D(b.Features(8), Conv1D{Weight: matrix("w", 4, 3, 3), Steps: 2, Stride: 1})
		}},
		{"conv stride", "conv1d: 3 taps over 2 steps a row, stride 3", func(b *Builder) Value {
			return b.Conv1D(b.Features(8), Conv1D{Weight: matrix("w", 4, 4, 3), Steps: 2, Stride: 3})
		}},
		{"conv bias", "conv1d: bias b [3] for w [4 4 3]", func(b *Builder) Value {
			return b.Conv1D(b.Features(8), Conv1D{Weight: matrix("w", 4, 4, 3), Bias: matrix("b", 3), Steps: 2, Stride: 1})
		}},
		{"two kinds of features", "features of 8 and of 6", func(b *Builder) Value { b.Features(8); return b.Features(6) }},
		{"dense attention", "dense attention: q [4 8], k [4 8], v [4 6]; want [4 8]", func(b *Builder) Value {
			x := b.Features(8)
			y := b.Linear(x, matrix("w", 6, 8), nil)
			return b.DenseAttention(x, x, y, DenseAttention{Heads: 2, HeadDim: 4})
		}},
		{"store", "store: k [4 8] and v [4 6] beside rows [4 8]", func(b *Builder) Value {
			x := b.Features(8)
			return b.Store(x, x, b.Linear(x, matrix("w", 6, 8), nil), 0)
		}},
		{"cross attention", "cross attention: q [4 8] for 3 heads of 4", func(b *Builder) Value {
			return b.CrossAttention(b.Features(8), CrossAttention{Heads: 3, HeadDim: 4, Tokens: 2})
		}},
		{"cross scores", "cross scores: head 2 of 2", func(b *Builder) Value {
			return b.CrossScores(b.Features(8), CrossScores{CrossAttention{Heads: 2, HeadDim: 4, Tokens: 2}, []int{2}})
		}},
		{"adapted linear", "a change by a [3 8] and b [2 6] of 8 numbers into 6", func(b *Builder) Value {
			w := matrix("w", 6, 8)
			b.Adapt(Changes{Linear: map[*weights.Tensor][]Change{w: {{}, {A: matrix("a", 3, 8), B: matrix("b", 2, 6)}}}})
			return b.Linear(b.Features(8), w, nil)
		}},
		{"adapted embedding", "a change by a [8 3] and b [3 8] of 9 numbers into 8", func(b *Builder) Value {
			w := matrix("w", 9, 8)
			b.Adapt(Changes{Embed: map[*weights.Tensor][]Change{w: {{A: matrix("a", 8, 3), B: matrix("b", 3, 8)}}}})
			return b.Embed(b.Tokens(), w)
		}},
		{"half a change", "a change by a [3 8] and nothing, want two matrices", func(b *Builder) Value {
			w := matrix("w", 6, 8)
			b.Adapt(Changes{Linear: map[*weights.Tensor][]Change{w: {{A: matrix("a", 3, 8)}}}})
			return b.Linear(b.Features(8), w, nil)
		}},
		{"adapted experts", "a change by a [2 3 8] and b [2 2 6] of 2 matrices of 8 numbers into 6", func(b *Builder) Value {
			up := matrix("w", 2, 6, 8)
			b.Adapt(Changes{Linear: map[*weights.Tensor][]Change{up: {{}, {A: matrix("a", 2, 3, 8), B: matrix("b", 2, 2, 6)}}}})
			x := b.Features(8)
			return b.Experts(x, b.Linear(x, matrix("r", 2, 8), nil), Experts{Up: up, Down: matrix("d", 2, 8, 6), Routing: Routing{Used: 1}, Act: SquaredReLU})
		}},
		{"changes of fewer experts", "a change by a [1 3 6] and b [1 3 8] of 2 matrices of 6 numbers into 8", func(b *Builder) Value {
			down := matrix("d", 2, 8, 6)
			b.Adapt(Changes{Linear: map[*weights.Tensor][]Change{down: {{A: matrix("a", 1, 3, 6), B: matrix("b", 1, 3, 8)}}}})
			x := b.Features(8)
			return b.Experts(x, b.Linear(x, matrix("r", 2, 8), nil), Experts{Up: matrix("w", 2, 6, 8), Down: down, Routing: Routing{Used: 1}, Act: SquaredReLU})
		}},
		{"experts of unlike adapters", "changes of 1 and of 2 adapters", func(b *Builder) Value {
			up, down := matrix("w", 2, 6, 8), matrix("d", 2, 8, 6)
			b.Adapt(Changes{Linear: map[*weights.Tensor][]Change{up: {{}}, down: {{}, {}}}})
			x := b.Features(8)
			return b.Experts(x, b.Linear(x, matrix("r", 2, 8), nil), Experts{Up: up, Down: down, Routing: Routing{Used: 1}, Act: SquaredReLU})
		}},
		{"zero value", "input 0 was never recorded", func(b *Builder) Value { return b.Add(Value{}, Value{}) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := NewBuilder(4, 1)
			v := tt.build(b)
			b.Add(v, v) // later ops must not replace the first error
			if _, err := b.Compile(v); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
			if _, err := b.Dot(); err == nil {
				t.Error("Dot of a failed recording gave no error")
			}
		})
	}
}

func TestDot(t *testing.T) {
	for name, rec := range map[string]recorder{"default": newRecorder(), "inorder": new(inorder)} {
		b := newBuilder(2, 1, rec)
		record(b, true)
		dot, err := b.Dot()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"digraph", "aq", "Attention"} {
			if !strings.Contains(string(dot), want) {
				t.Errorf("%s: no %q in the drawing", name, want)
			}
		}
	}
}

func TestOpsIsComplete(t *testing.T) {
	listed, recorded := map[reflect.Type]bool{}, map[reflect.Type]bool{}
	for _, op := range Ops() {
		listed[reflect.TypeOf(op)] = true
	}
	b := newBuilder(2, 1, new(inorder))
	record(b, true)
	nodes, err := b.rec.sorted()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if n.op != nil {
			recorded[reflect.TypeOf(n.op)] = true
		}
	}
	if !reflect.DeepEqual(listed, recorded) {
		t.Errorf("Ops lists %v, the recording of these tests has %v", listed, recorded)
	}
}
