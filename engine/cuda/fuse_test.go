package cuda

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// counted makes f count launches by kernel.
func counted(f *driver.Fake) map[string]int {
	counts := make(map[string]int)
	f.Fail = func(kernel string) error {
		counts[kernel]++
		return nil
	}
	return counts
}

// sameBits fails where two results are not the same to the bit.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: number %d is %g, want %g: they are %.2g of their size apart", what, i, got[i], want[i], distance(got, want))
		}
	}
}

// Every family gives the bits that it gives with a launch for each step, for few
// rows and for more than fused kernels take.
func TestFusedBits(t *testing.T) {
	t.Parallel()
	for i, file := range []string{
		"smollm2-Q4_K_M.gguf", "falcon-40b.gguf", "qwen2moe.gguf", "qwen3moe.gguf", "olmo2.gguf", "granite.gguf", "gpt-oss.gguf",
		"llama-bias-linear.gguf", "phimoe.gguf", "llama-Q4_K_M.gguf", "mixtral-Q8_0.gguf",
	} {
		t.Run(file, func(t *testing.T) {
			if i > 2 {
				asked(t)
			}
			_, m := load(t, file)
			p, spec := program(t, m, 16, 8)
			var runs [2]*runner
			for i := range runs {
				b := open(t, driver.NewFake(1, gigabyte), AllLayers)
				b.apart = i == 1
				runs[i] = newRunner(t, b, p, spec)
			}
			for i, in := range prompts([]int32{3, 1, 4, 1, 5, 9, 2}, []int32{2, 7, 1}, 1) {
				sameBits(t, fmt.Sprintf("step %d", i), runs[0].run(in), runs[1].run(in))
			}
		})
	}
}

// shape is a decoder like Llama's or Qwen's, of random weights.
type shape struct {
	typ, v     quant.Type // of the matrices; of attn_v and ffn_down
	biases     bool       // of Qwen 2
	headNorms  bool       // of Qwen 3
	neighbours bool       // rotate together, as in GGUF files of Llama
	experts    bool       // of Qwen 3 MoE
}

func (s shape) program(t *testing.T, layers, rows int) (*graph.Program, graph.CacheSpec) {
	t.Helper()
	const hidden, ff, vocab, heads, kvHeads, headDim = 256, 256, 16, 2, 1, 128
	r := rand.New(rand.NewPCG(3, 5))
	g := graph.NewBuilder(rows, rows)
	vector := func(name string, n int) *weights.Tensor { return tensor(r, name, quant.F32, n) }
	bias := func(name string, n int) *weights.Tensor {
		if !s.biases {
			return nil
		}
		return vector(name, n)
	}
	freqs := make([]float64, headDim/2)
	for i := range freqs {
		freqs[i] = math.Pow(10000, -float64(i)/float64(len(freqs)))
	}
	rope := graph.Rope{HeadDim: headDim, Freqs: freqs, Magnitude: 1, Interleaved: s.neighbours}
	x := g.Embed(g.Tokens(), tensor(r, "embed", quant.F32, vocab, hidden))
	for i := range layers {
		h := g.RMSNorm(x, vector("attn_norm", hidden), 1e-5)
		q := g.Linear(h, tensor(r, "q", s.typ, heads*headDim, hidden), bias("qb", heads*headDim))
		k := g.Linear(h, tensor(r, "k", s.typ, kvHeads*headDim, hidden), bias("kb", kvHeads*headDim))
		v := g.Linear(h, tensor(r, "v", s.v, kvHeads*headDim, hidden), bias("vb", kvHeads*headDim))
		if s.headNorms {
			q, k = g.RMSNorm(q, vector("qn", headDim), 1e-6), g.RMSNorm(k, vector("kn", headDim), 1e-6)
		}
		q, k = g.Rope(q, g.Positions(), rope), g.Rope(k, g.Positions(), rope)
		a := g.Attention(q, k, v, graph.Attention{Layer: i, Heads: heads, KVHeads: kvHeads, HeadDim: headDim, Scale: 0.125})
		x = g.Add(x, g.Linear(a, tensor(r, "o", s.typ, hidden, heads*headDim), nil))
		h = g.RMSNorm(x, vector("ffn_norm", hidden), 1e-5)
		if s.experts {
			x = g.Add(x, g.Experts(h, g.Linear(h, tensor(r, "router", quant.F32, experts, hidden), nil), graph.Experts{
				Gate: tensor(r, "gates", s.typ, experts, ff, hidden), Up: tensor(r, "ups", s.typ, experts, ff, hidden), Down: tensor(r, "downs", s.v, experts, hidden, ff),
				Routing: graph.Routing{Used: used, Renormalise: true}, Act: graph.SiLU,
			}))
			continue
		}
		up := g.Gate(g.Linear(h, tensor(r, "gate", s.typ, ff, hidden), nil), g.Linear(h, tensor(r, "up", s.typ, ff, hidden), nil), graph.SiLU)
		x = g.Add(x, g.Linear(up, tensor(r, "down", s.v, hidden, ff), nil))
	}
	x = g.RMSNorm(x, vector("norm", hidden), 1e-5)
	p, err := g.Compile(g.Linear(x, tensor(r, "out", s.v, vocab, hidden), nil))
	if err != nil {
		t.Fatal(err)
	}
	return p, graph.CacheSpec{Layers: graph.Alike(layers, kvHeads, headDim), Blocks: 8, BlockSize: 4, Type: quant.F16}
}

// A layer of a decode step is six launches, of which one puts the pieces of
// attention together, and one more where query and key heads have norms. An MoE layer
// is three, with a norm, a router and a sum around it.
func TestLaunches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		s            shape
		rows         int
		apart, fused int // a layer
		beside       [2]int
	}{
		{"Llama F16", shape{typ: quant.F16, v: quant.F16}, 1, 15, 6, [2]int{3, 2}},
		{"Llama Q8_0", shape{typ: quant.Q8_0, v: quant.Q8_0}, 1, 19, 6, [2]int{4, 2}},
		{"Llama Q4_K_M", shape{typ: quant.Q4_K, v: quant.Q6_K}, 1, 19, 6, [2]int{4, 2}},
		{"Qwen 2 Q4_K_M", shape{typ: quant.Q4_K, v: quant.Q6_K, biases: true}, 1, 19, 6, [2]int{4, 2}},
		{"Qwen 3 Q4_K_M", shape{typ: quant.Q4_K, v: quant.Q6_K, headNorms: true}, 1, 21, 7, [2]int{4, 2}},
		{"Qwen 3 MoE Q4_K_M", shape{typ: quant.Q4_K, v: quant.Q6_K, experts: true}, 1, 23, 10, [2]int{4, 2}},
		{"Mixtral F16", shape{typ: quant.F16, v: quant.F16, experts: true}, 1, 19, 10, [2]int{3, 2}},
		{"Llama Q4_K_M, eight rows", shape{typ: quant.Q4_K, v: quant.Q6_K}, 8, 19, 6, [2]int{4, 2}},
		{"Llama Q4_K_M, nine rows", shape{typ: quant.Q4_K, v: quant.Q6_K}, 9, 19, 15, [2]int{4, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var per, rest [2]int
			var seen map[string]int
			var launches [2][2]int // apart and fused, of one layer and two
			for layers := 1; layers <= 2; layers++ {
				p, spec := tt.s.program(t, layers, tt.rows)
				spec.Blocks = tt.rows
				for i := range 2 {
					f := driver.NewFake(1, gigabyte)
					f.Idle = true
					b := open(t, f, AllLayers)
					b.apart = i == 0
					r := newRunner(t, b, p, spec)
					in := &graph.Batch{}
					for n := range int32(tt.rows) {
						in.Tokens, in.Positions, in.Seq = append(in.Tokens, n), append(in.Positions, 0), append(in.Seq, n)
						in.Tables, in.Want = append(in.Tables, []int32{n}), append(in.Want, n)
					}
					seen = counted(f)
					r.run(in)
					for _, n := range seen {
						launches[i][layers-1] += n
					}
				}
			}
			for i, n := range launches {
				per[i] = n[1] - n[0]
				rest[i] = n[0] - per[i]
			}
			t.Logf("a layer: %d launches apart, %d fused; beside: %d and %d; fused: %v", per[0], per[1], rest[0], rest[1], seen)
			if per != [2]int{tt.apart, tt.fused} || rest != tt.beside {
				t.Errorf("a layer takes %v launches, the rest %v; want [%d %d] and %v", per, rest, tt.apart, tt.fused, tt.beside)
			}
		})
	}
}

// Shapes of every kind of weights keep their bits, also in batches of several rows,
// and with any cache.
func TestFusedShapes(t *testing.T) {
	t.Parallel()
	for i, tt := range []struct {
		shape
		cache quant.Type
	}{
		{shape{typ: quant.F16, v: quant.F32}, quant.F8_E4M3},
		{shape{typ: quant.BF16, v: quant.F16, headNorms: true}, quant.F32},
		{shape{typ: quant.Q8_0, v: quant.Q4_0, biases: true}, quant.Q8_0},
		{shape{typ: quant.Q4_K, v: quant.Q6_K, biases: true, neighbours: true}, quant.BF16},
		{shape{typ: quant.Q5_K, v: quant.F16, headNorms: true}, quant.F16},
		{shape{typ: quant.Q4_K, v: quant.F16, experts: true}, quant.F16},
	} {
		t.Run(fmt.Sprintf("%v with %v, cache %v", tt.typ, tt.v, tt.cache), func(t *testing.T) {
			if i > 1 {
				asked(t)
			}
			p, spec := tt.program(t, 1, 16)
			spec.Type = tt.cache
			f := driver.NewFake(1, gigabyte)
			fused, apart := open(t, f, AllLayers), open(t, driver.NewFake(1, gigabyte), AllLayers)
			apart.apart = true
			got, want := newRunner(t, fused, p, spec), newRunner(t, apart, p, spec)
			seen := counted(f)
			for i, in := range prompts([]int32{3, 1, 4, 1}, []int32{2, 7, 1}, 1) {
				sameBits(t, fmt.Sprintf("step %d", i), got.run(in), want.run(in))
			}
			if !slices.ContainsFunc(slices.Collect(maps.Keys(seen)), func(k string) bool { return strings.HasPrefix(k, "project_") }) {
				t.Errorf("nothing was fused: %v", seen)
			}
		})
	}
}
