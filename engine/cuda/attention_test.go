package cuda

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quern/engine/graph"
	gpu "quern/kernels/cuda"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// fake is a driver of one device of a compute capability.
func fake(capability int) *driver.Fake {
	f := driver.NewFake(1, gigabyte)
	f.List[0].Capability = capability
	return f
}

func TestStretches(t *testing.T) {
	run := func(seq int32, n int) []int32 {
		s := make([]int32, n)
		for i := range s {
			s[i] = seq
		}
		return s
	}
	join := func(runs ...[]int32) (s []int32) {
		for _, r := range runs {
			s = append(s, r...)
		}
		return s
	}
	for _, tt := range []struct {
		name string
		seq  []int32
		want []stretch
	}{
		{"decode", []int32{0, 1, 2}, []stretch{{0, 3, false}}},
		{"prompt", run(3, 20), []stretch{{0, 20, true}}},
		{"short prompt", run(3, minPrompt-1), []stretch{{0, minPrompt - 1, false}}},
		{"prompts", join(run(0, 16), run(1, 40)), []stretch{{0, 56, true}}},
		{"all kinds", join(run(4, 1), run(0, 1), run(1, 30), run(2, 5), run(5, 1), run(3, 16)), []stretch{{0, 2, false}, {2, 32, true}, {32, 38, false}, {38, 54, true}}},
	} {
		if got := stretches(tt.seq); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// What there are no kernels for runs on the host: passing over a window to both sides, or a
// slope, would give other numbers.
func TestAttentionOnHost(t *testing.T) {
	for name, o := range map[string]graph.Attention{
		"slopes and a window":        {Slopes: []float32{1, 2}, Window: 4},
		"wide heads":                 {HeadDim: gpu.MaxHead + 1},
		"wide heads with both sides": {HeadDim: gpu.MaxSidedHead + 1, Window: 4, Bidirectional: true},
	} {
		if err := attentionOp.check(o); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	for name, o := range map[string]graph.Attention{"window": {Window: 4}, "chunks": {Chunk: 4}, "all": {Bidirectional: true}, "both sides": {Window: 4, Bidirectional: true}, "slopes": {Slopes: []float32{1}}} {
		if err := attentionOp.check(o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// oneLayer is a program of one layer of attention with heads of 64. A window below 0 is a chunk.
func oneLayer(t testing.TB, rows, window int) (*graph.Program, graph.CacheSpec) {
	t.Helper()
	const hidden, heads, headDim = 32, 2, 64
	r := rand.New(rand.NewPCG(9, 9))
	g := graph.NewBuilder(rows, 8)
	x := g.Embed(g.Tokens(), tensor(r, "embed", quant.F32, vocab, hidden))
	q := g.Linear(x, tensor(r, "q", quant.F32, heads*headDim, hidden), nil)
	k := g.Linear(x, tensor(r, "k", quant.F32, headDim, hidden), nil)
	v := g.Linear(x, tensor(r, "v", quant.F32, headDim, hidden), nil)
	a := g.Attention(q, k, v, graph.Attention{Heads: heads, KVHeads: 1, HeadDim: headDim, Scale: 1, Window: max(0, window), Chunk: max(0, -window), Sinks: tensor(r, "sinks", quant.F32, heads)})
	p, err := g.Compile(g.Linear(g.Take(a, g.Wanted()), tensor(r, "out", quant.F32, vocab, heads*headDim), nil))
	if err != nil {
		t.Fatal(err)
	}
	return p, graph.CacheSpec{Layers: graph.Alike(1, 1, headDim), Blocks: 16, BlockSize: 8, Type: quant.F16}
}

// step is a batch of these runs of rows: a sequence, its tokens before, and rows.
func step(runs ...[3]int) *graph.Batch {
	in := &graph.Batch{Tables: [][]int32{{9, 1, 14, 3, 6}, {15, 2, 8, 0, 4}, {5, 12, 7, 10, 13}}}
	for _, r := range runs {
		for i := range r[2] {
			pos := r[1] + i
			in.Tokens, in.Positions, in.Seq = append(in.Tokens, int32((7*pos+5*r[0])%vocab)), append(in.Positions, int32(pos)), append(in.Seq, int32(r[0]))
		}
		in.Want = append(in.Want, int32(len(in.Tokens)-1))
	}
	return in
}

// Prompts attend on tensor cores where there are some, rows of decoding beside them
// do not, and both give what the CPU does.
func TestPrompts(t *testing.T) {
	batches := []*graph.Batch{
		step([3]int{1, 0, 20}),
		step([3]int{1, 20, 1}, [3]int{0, 0, 17}),
		step([3]int{0, 17, 18}, [3]int{1, 21, 1}, [3]int{2, 0, 16}),
		step([3]int{0, 35, 1}, [3]int{1, 22, 1}, [3]int{2, 16, 1}),
		step([3]int{2, 17, 16}),
	}
	for _, tt := range []struct {
		capability, window int
		typ                quant.Type
		prompts            int
		rows               string
	}{
		{75, 0, quant.F16, 0, "attend"}, {80, 0, quant.F16, 5, "attend_group"}, {80, 9, quant.F16, 5, "attend_group"}, {80, -9, quant.F16, 5, "attend_group"},
		{75, -9, quant.F32, 0, "attend"},
		{90, 0, quant.Q8_0, 5, "attend_group"}, {80, 0, quant.F32, 0, "attend"},
	} {
		t.Run(fmt.Sprintf("%d %v window %d", tt.capability, tt.typ, tt.window), func(t *testing.T) {
			p, spec := oneLayer(t, 40, tt.window)
			spec.Type = tt.typ
			f := fake(tt.capability)
			counts := counted(f)
			limit := 1e-3
			if tt.capability >= tensorCores {
				limit = 0.02 // products are rounded to bf16
			}
			compare(t, open(t, f, AllLayers), p, spec, batches, limit)
			prompts, rows := gpu.PrefillName(tt.typ, 64), tt.rows+"_"+strings.ToLower(tt.typ.String())
			if tt.rows == "attend_group" {
				rows += "_64"
			}
			if counts[prompts] != tt.prompts || counts[rows] == 0 {
				t.Errorf("launches: %v; want %d of %q, and %s", counts, tt.prompts, prompts, rows)
			}
		})
	}
}

// A cache of the types of GPUs gives what one of F32 does, but for its rounding.
func TestCacheTypesOfGPUs(t *testing.T) {
	batches := []*graph.Batch{step([3]int{1, 0, 20}), step([3]int{1, 20, 1}, [3]int{0, 0, 3}), step([3]int{0, 3, 1}, [3]int{1, 21, 1})}
	for _, tt := range []struct {
		typ   quant.Type
		limit float64
	}{{quant.BF16, 0.03}, {quant.F8_E4M3, 0.3}} {
		for _, capability := range []int{75, 80} {
			t.Run(fmt.Sprintf("%v %d", tt.typ, capability), func(t *testing.T) {
				p, spec := oneLayer(t, 40, 0)
				exact := newRunner(t, open(t, fake(75), AllLayers), p, spec)
				spec.Type = tt.typ
				f := fake(capability)
				counts := counted(f)
				r := newRunner(t, open(t, f, AllLayers), p, spec)
				for i, in := range batches {
					d := distance(r.run(in), exact.run(in))
					t.Logf("step %d: %.2g", i, d)
					if d > tt.limit || d == 0 {
						t.Errorf("step %d: logits are %.2g of their size from an F16 cache's, want %g at most", i, d, tt.limit)
					}
				}
				if prompts := counts["attend_prefill_bf16_64"] + counts["attend_prefill_f8_e4m3_64"]; prompts != map[int]int{75: 0, 80: 1}[capability] {
					t.Errorf("launches: %v", counts)
				}
			})
		}
	}
	// The processor's layers need a type it has.
	_, spec := oneLayer(t, 40, 0)
	spec.Type = quant.F8_E4M3
	b := open(t, fake(80), 0)
	if _, err := b.NewCache(spec); err == nil {
		t.Error("an F8_E4M3 cache for layers on the processor was accepted")
	}
	spec.Type = quant.Q4_0
	if _, err := open(t, fake(80), AllLayers).NewCache(spec); err == nil {
		t.Error("a Q4_0 cache was accepted")
	}
}

// Layers that share keys, of all rows and then of those wanted, in recorded steps and others,
// give what the processor does; where their keys are on another device the processor takes all.
func TestSharedKeys(t *testing.T) {
	const hidden, headDim = 32, 32
	r := rand.New(rand.NewPCG(9, 9))
	g := graph.NewBuilder(24, 8)
	freqs := []float64{1, 0.5, 0.2, 0.1}
	x := g.Embed(g.Tokens(), tensor(r, "embed", quant.F32, vocab, hidden))
	of := func(name string) graph.Value { return g.Linear(x, tensor(r, name, quant.F32, headDim, hidden), nil) }
	turned := func(name string) graph.Value {
		return g.Rope(of(name), g.Positions(), graph.Rope{HeadDim: headDim, Freqs: freqs, Magnitude: 1})
	}
	shared := func(layer, window int) graph.Attention {
		return graph.Attention{Layer: layer, Heads: 1, KVHeads: 1, HeadDim: headDim, Scale: 0.3, Window: window}
	}
	for i := range 2 {
		x = g.Add(x, g.Attention(turned("q"), turned("k"), of("v"), shared(i, 9*i)))
	}
	x = g.Add(x, g.SharedAttention(turned("q"), graph.SharedAttention{Attention: shared(0, 0)}))
	q := [2]graph.Value{g.Take(turned("q"), g.Wanted()), g.Take(turned("q"), g.Wanted())}
	x = g.Take(x, g.Wanted())
	for i := range 2 {
		x = g.Add(x, g.SharedAttention(q[i], graph.SharedAttention{Attention: shared(i, 9*i)}))
	}
	p, err := g.Compile(g.Linear(x, tensor(r, "out", quant.F32, vocab, hidden), nil))
	if err != nil {
		t.Fatal(err)
	}
	spec := p.CacheSpec(16, 8, 1, quant.F16)
	batches := []*graph.Batch{
		step([3]int{1, 0, 20}),
		step([3]int{1, 20, 1}, [3]int{0, 0, 17}),
		step([3]int{0, 17, 1}, [3]int{1, 21, 1}, [3]int{2, 0, 1}),
		step([3]int{0, 18, 1}, [3]int{1, 22, 1}, [3]int{2, 1, 1}), // recorded
		step([3]int{0, 19, 1}, [3]int{1, 23, 1}, [3]int{2, 2, 1}),
	}
	for _, tt := range []struct {
		layers  int
		devices []int
		here    bool
	}{{AllLayers, []int{0}, true}, {AllLayers, []int{0, 1}, false}, {1, []int{0}, false}} {
		f := driver.NewFake(2, gigabyte)
		counts := counted(f)
		compare(t, open(t, f, tt.layers, tt.devices...), p, spec, batches, 1e-3)
		if here := counts["attend_f16"] > 0; here != tt.here {
			t.Errorf("layers %d, devices %v: launches %v", tt.layers, tt.devices, counts)
		}
	}
}

func TestSplits(t *testing.T) {
	const processors = 132
	for _, tt := range []struct {
		name                 string
		blocks, fill, tokens int
		want                 int
	}{
		{"a short sequence", 8, 3 * processors, 100, 1},
		{"as many parts as there are tokens for", 8, 3 * processors, 1024, 16},
		{"one wave of a long sequence", 8, 3 * processors, 32768, 49},
		{"two whole waves, not one and a bit", 256, 3 * processors, 1024, 3},
		{"more blocks than run at once", 2048, 3 * processors, 32768, 1},
	} {
		if got := splits(tt.blocks, tt.fill, 4*processors, tt.tokens); got != tt.want {
			t.Errorf("%s: %d parts, want %d", tt.name, got, tt.want)
		}
	}
}

func TestPortions(t *testing.T) {
	d := &device{info: driver.Info{Processors: 132}}
	for _, tt := range []struct{ rows, out, in, want int }{
		{32, 4096, 4096, 8},
		{32, 14336, 4096, 2},
		{32, 4096, 14336, 8},
		{64, 1024, 1024, 2},
		{128, 4096, 4096, 4},
		{512, 4096, 4096, 1},
		{512, 1024, 4096, 4},
		{32, 128256, 4096, 1},
	} {
		if got := d.portions(tt.rows, tt.out, tt.in); got != tt.want {
			t.Errorf("%d rows, %d by %d: %d parts, want %d", tt.rows, tt.out, tt.in, got, tt.want)
		}
	}
}

// Layers with a window give the same bits from a table of their own, with holes where no row
// sees anything any more.
func TestWindowsApart(t *testing.T) {
	const window = 9
	batches := []*graph.Batch{
		step([3]int{1, 0, 20}),
		step([3]int{1, 20, 1}, [3]int{0, 0, 17}),
		step([3]int{0, 17, 1}, [3]int{1, 21, 1}),
		step([3]int{0, 18, 1}, [3]int{1, 22, 1}), // recorded
		step([3]int{0, 19, 1}, [3]int{1, 23, 1}),
		step([3]int{0, 20, 18}, [3]int{1, 24, 1}),
	}
	for _, capability := range []int{75, 80} {
		p, spec := oneLayer(t, 40, window)
		whole := newRunner(t, open(t, fake(capability), AllLayers), p, spec)
		apart := p.CacheSpec(16, 8, 1, spec.Type)
		apart.Apart(p, 40)
		apart.Near[0].Blocks = 20
		r := newRunner(t, open(t, fake(capability), AllLayers), p, apart)
		for i, in := range batches {
			want := whole.run(in)
			own := *in
			for s, table := range in.Tables {
				first := 40
				for row, pos := range in.Positions {
					if int(in.Seq[row]) == s {
						first = min(first, apart.Near[0].First(int(pos)))
					}
				}
				near := make([]int32, len(table))
				for k, b := range table {
					if near[k] = 19 - b; k < first/8 {
						near[k] = -1
					}
				}
				own.NearTable(near)
			}
			if got := r.run(&own); !slices.Equal(got, want) {
				t.Errorf("capability %d, step %d: logits are %.2g from those of one table", capability, i, distance(got, want))
			}
		}
	}
}
