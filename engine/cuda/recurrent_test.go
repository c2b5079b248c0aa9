package cuda

import (
	"math/rand/v2"
	"slices"
	"testing"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// carrying records a program with every op that carries states, and so many layers of
// attention, each behind some of those.
func carrying(t testing.TB, layers int) *graph.Program {
	t.Helper()
	const hidden, groups, state = 32, 2, 8
	r := rand.New(rand.NewPCG(3, 4))
	weight := func(name string, shape ...int) *weights.Tensor { return tensor(r, name, quant.F32, shape...) }
	slow := func(name string, shape ...int) *weights.Tensor { // rates of forgetting
		w := weight(name, shape...)
		for i := range w.Elems() {
			w.Data[4*i+3] |= 0x80
		}
		return w
	}
	at := 0
	carry := func(n int) int {
		at += n
		return at - n
	}
	g := graph.NewBuilder(16, 8)
	x := g.Embed(g.Tokens(), weight("embed", vocab, hidden))
	linear := func(x graph.Value, name string, out, in int) graph.Value {
		return g.Linear(x, weight(name, out, in), nil)
	}
	for i := range max(layers, 1) {
		const xbc = hidden + 2*groups*state
		c := g.ShortConv(linear(x, "xbc", xbc, hidden), graph.ShortConv{Weight: weight("conv", xbc, 4), Bias: weight("bias", xbc), Act: true, At: carry(3 * xbc)})
		y := g.Mamba2(c, linear(x, "dt", 4, hidden), graph.Mamba2{A: slow("a", 4), D: weight("d", 4), DtBias: weight("db", 4), Head: hidden / 4, Groups: groups, State: state, At: carry(hidden * state)})
		x = g.Add(x, linear(y, "o", hidden, hidden))
		y = g.Mamba1(x, linear(x, "dt1", hidden, hidden), linear(x, "b", state, hidden), linear(x, "c", state, hidden), graph.Mamba1{A: slow("a1", hidden, state), D: weight("d1", hidden), At: carry(hidden * state)})
		x = g.Add(x, linear(y, "o1", hidden, hidden))
		y = g.DeltaNet(linear(x, "qkv", 2*16+32, hidden), linear(x, "beta", 4, hidden), linear(x, "alpha", 4, hidden),
			graph.DeltaNet{A: slow("a2", 4), DtBias: weight("db2", 4), Heads: 4, KeyHeads: 2, Key: 8, Value: 8, Tiled: i > 0, At: carry(4 * 8 * 8)})
		x = g.Add(x, y)
		s := g.TokenShift(x, graph.TokenShift{Mix: weight("mix", 5, hidden), At: carry(hidden)})
		of := func(k int) graph.Value { return g.HeadCut(s, 1, k*hidden, (k+1)*hidden) }
		y = g.WKV7(of(0), of(1), of(2), of(3), of(4), graph.WKV7{Key: weight("k_k", hidden), Rate: weight("k_a", hidden), Bonus: weight("r_k", hidden),
			Norm: weight("ln", hidden), Shift: weight("lnb", hidden), Eps: 1e-3, Head: 16, At: carry(16 * hidden)})
		x = g.Add(x, y)
		if i < layers {
			q := func(name string) graph.Value { return linear(x, name, 32, hidden) }
			x = g.Add(x, g.Attention(q("q"), q("k"), q("v"), graph.Attention{Layer: i, Heads: 1, KVHeads: 1, HeadDim: 32, Scale: 0.2}))
		}
	}
	p, err := g.Compile(linear(g.Take(x, g.Wanted()), "out", vocab, hidden))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// rowsOf is a batch of these runs of rows: a sequence, its tokens before, and rows. All are wanted.
func rowsOf(slots []int32, runs ...[3]int) *graph.Batch {
	in := step(runs...)
	in.States, in.Want = slots, nil
	for i := range in.Tokens {
		in.Want = append(in.Want, int32(i))
	}
	return in
}

// Steps of several sequences, recorded and filled up or not, give what the processor does, on
// one device, on two and with layers beside them.
func TestStates(t *testing.T) {
	slots := []int32{2, 0, 3}
	for _, tt := range []struct {
		name           string
		layers, onCard int
		devices        []int
	}{
		{"no attention", 0, AllLayers, []int{0}},
		{"one device", 1, AllLayers, []int{0}},
		{"two devices", 2, AllLayers, []int{1, 0}},
		{"a layer on the processor", 2, 1, []int{0}},
		{"none on a device", 0, 0, []int{0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := carrying(t, tt.layers)
			b := open(t, driver.NewFake(2, gigabyte), tt.onCard, tt.devices...)
			compare(t, b, p, p.CacheSpec(16, 8, 4, quant.F32), []*graph.Batch{
				rowsOf(slots, [3]int{1, 0, 5}, [3]int{2, 0, 1}),
				rowsOf(slots, [3]int{0, 0, 1}, [3]int{1, 5, 1}, [3]int{2, 1, 1}), // fills up to four
				rowsOf(slots, [3]int{0, 1, 1}, [3]int{1, 6, 1}, [3]int{2, 2, 1}), // is recorded
				rowsOf(slots, [3]int{0, 2, 2}, [3]int{2, 3, 1}),                  // and replayed
				rowsOf(slots, [3]int{1, 0, 1}, [3]int{2, 4, 2}),                  // one begins anew
			}, 1e-4)
		})
	}
}

// A text gives the same bits in one piece, token by token, and in pieces beside others.
func TestStatesInPieces(t *testing.T) {
	p := carrying(t, 0)
	spec := p.CacheSpec(16, 8, 4, quant.F32)
	b := open(t, driver.NewFake(1, gigabyte), AllLayers)
	last := func(batches ...*graph.Batch) (logits []float32) {
		r := newRunner(t, b, p, spec)
		for _, in := range batches {
			logits = r.run(in)
		}
		return logits[:r.width]
	}
	slots := []int32{1, 3, 0}
	want := func() []float32 {
		in := rowsOf(slots, [3]int{0, 0, 7})
		in.Want = []int32{6}
		return last(in)
	}()
	var steps []*graph.Batch
	for i := range 7 {
		steps = append(steps, rowsOf(slots, [3]int{0, i, 1}))
	}
	if got := last(steps...); !slices.Equal(got, want) {
		t.Errorf("token by token: logits are %.2g from those of one piece", distance(got, want))
	}
	end := rowsOf(slots, [3]int{0, 6, 1}, [3]int{1, 2, 1}, [3]int{2, 0, 1})
	if got := last(rowsOf(slots, [3]int{0, 0, 2}), rowsOf(slots, [3]int{0, 2, 4}, [3]int{1, 0, 2}), end); !slices.Equal(got, want) {
		t.Errorf("in pieces: logits are %.2g from those of one piece", distance(got, want))
	}
}

// Who goes on from a copy of states, or from states that were taken out and brought back, goes
// on as from the states.
func TestStatesMove(t *testing.T) {
	for _, tt := range []struct {
		name           string
		layers, onCard int
		devices        []int
	}{
		{"no attention", 0, AllLayers, []int{0}},
		{"two devices", 2, AllLayers, []int{0, 1}},
		{"a layer on the processor", 2, 1, []int{0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := driver.NewFake(2, gigabyte)
			p := carrying(t, tt.layers)
			spec := p.CacheSpec(16, 8, 4, quant.F32)
			r := newRunner(t, open(t, f, tt.onCard, tt.devices...), p, spec)
			c := r.cache.(graph.Portable)
			// Before anything runs, states can be brought.
			data := make([]byte, spec.StateBytes())
			if err := c.ReadState(data, 1); err != nil || slices.Max(data) != 0 {
				t.Errorf("states before a run: %v, %v; want zeros", data, err)
			}
			if err := c.WriteState(1, data); err != nil {
				t.Error(err)
			}
			r.run(rowsOf([]int32{0, 1, 2}, [3]int{0, 0, 3}))
			c.CopyState(2, 0)
			if err := c.ReadState(data, 0); err != nil {
				t.Fatal(err)
			}
			if err := c.WriteState(3, data); err != nil {
				t.Fatal(err)
			}
			again := make([]byte, len(data))
			if err := c.ReadState(again, 3); err != nil || !slices.Equal(again, data) {
				t.Errorf("what was brought back is not what was taken: %v", err)
			}
			next := func(slot int32) []float32 {
				return r.run(rowsOf([]int32{slot, (slot + 1) % 4, (slot + 2) % 4}, [3]int{0, 3, 1}))
			}
			want := next(0)
			for _, slot := range []int32{2, 3} {
				if got := next(slot); !slices.Equal(got, want) {
					t.Errorf("slot %d: logits are %.2g from those of the states themselves", slot, distance(got, want))
				}
			}
			if got := next(1); slices.Equal(got, want) {
				t.Error("what a slot holds does not matter")
			}
			for _, n := range []int{0, len(data) - 1, len(data) + 1} {
				if c.ReadState(make([]byte, n), 0) == nil || c.WriteState(0, make([]byte, n)) == nil {
					t.Errorf("%d bytes are taken for states of %d", n, len(data))
				}
			}
			if c.Bytes() < spec.Bytes() {
				t.Errorf("a cache of %d bytes, want %d at least", c.Bytes(), spec.Bytes())
			}
		})
	}
}

// Sizes that kernels have no registers for are refused by name.
func TestStatesOnHost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, err := range map[string]error{
		"taps":          shortConvOp.check(graph.ShortConv{Weight: tensor(r, "w", quant.F32, 4, 9)}),
		"states":        mamba2Op.check(graph.Mamba2{State: 257}),
		"Mamba's state": mamba1Op.check(graph.Mamba1{A: tensor(r, "a", quant.F32, 4, 65)}),
		"keys":          deltaNetOp.check(graph.DeltaNet{Key: 257}),
		"heads":         wkv7Op.check(graph.WKV7{Head: 65}),
	} {
		if err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
