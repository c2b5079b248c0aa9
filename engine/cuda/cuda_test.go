package cuda

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/formats/weights"
	gpu "quern/kernels/cuda"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// Every family gives the CPU's logits, on devices with and without tensor cores
// for floats. Models of 8-bit weights differ by the CPU's rounding of activations
// to 8 bits, products of more than gemvRows rows by bf16's. A cache of F16 turns a difference in
// the last place into 2⁻¹¹, which is more of some models' logits than of others'.
func TestFamilies(t *testing.T) {
	// Of the made ones, those with ops of their own.
	tensor := map[string]bool{"made/deepseek-v2-lite/model.gguf": true, "made/nemotron_h_moe/model.gguf": true, "made/qwen35moe/model.gguf": true}
	for _, tt := range []struct {
		file  string
		limit float64
	}{
		{"llama-bias-linear.gguf", 1e-4},
		{"falcon-40b.gguf", 1e-4},
		{"qwen2moe.gguf", 1e-4},
		{"qwen3moe.gguf", 1e-4},
		{"phimoe.gguf", 1e-4},
		{"phimoe-layer-norm.gguf", 1e-4},
		{"olmo2.gguf", 1e-4},
		{"granite.gguf", 1e-4},
		{"gpt-oss.gguf", 1e-4},
		{"gpt-oss-MXFP4.gguf", 0.15},
		{"made/exaone4/model.gguf", 1e-4},
		{"made/glm/model.gguf", 1e-4},
		{"made/granite-4/model.gguf", 1e-4},
		{"made/granitemoe/model.gguf", 1e-4},
		{"made/glm4/model.gguf", 1e-4},
		{"made/qwen3vlmoe/model.gguf", 1e-4},
		{"made/gemma/model.gguf", 1e-4},
		{"made/bloom/model.gguf", 1e-4},
		{"made/mpt/model.gguf", 1e-4},
		{"made/gptj/model.gguf", 1e-4},
		{"made/qwen/model.gguf", 1e-4},
		{"made/deepseek/model.gguf", 1e-4},
		{"made/command-r-plus/model.gguf", 1e-4},
		{"made/afmoe/model.gguf", 1e-4},
		{"made/exaone-moe/model.gguf", 1e-4},
		{"made/smollm3/model.gguf", 2e-4},
		{"made/internlm2/model.gguf", 1e-4},
		{"made/minicpm/model.gguf", 1e-4},
		{"made/exaone/model.gguf", 1e-4},
		{"made/stablelm/model.gguf", 1e-4},
		{"made/olmoe/model.gguf", 1e-4},
		{"made/hunyuan-moe/model.gguf", 1e-4},
		{"made/gpt2/model.gguf", 1e-4},
		{"made/gptneox/model.gguf", 1e-4},
		{"made/apertus/model.gguf", 1e-4},
		{"made/arcee/model.gguf", 1e-4},
		{"made/bailingmoe/model.gguf", 1e-4},
		{"made/nemotron/model.gguf", 1e-4},
		{"made/olmo/model.gguf", 1e-4},
		{"made/stablelm-12b/model.gguf", 1e-4},
		{"made/starcoder/model.gguf", 1e-4},
		{"gemma4-moe.gguf", 1e-4},
		{"made/deepseek-v2-lite/model.gguf", 1e-4},
		{"made/glm-4.7-flash/model.gguf", 1e-3},
		{"made/minicpm3/model.gguf", 1e-4},
		{"made/mistral4/model.gguf", 1e-4},
		{"made/bailingmoe2/model.gguf", 1e-4},
		{"made/dots1/model.gguf", 1e-4},
		{"made/ernie4_5-moe/model.gguf", 1e-4},
		{"made/glm4moe/model.gguf", 1e-4},
		{"made/lfm2moe/model.gguf", 3e-4},
		{"made/nemotron_h_moe/model.gguf", 1e-4},
		{"made/nemotron_h_moe-latent/model.gguf", 1e-4},
		{"made/granitehybrid-moe/model.gguf", 1e-4},
		{"made/jamba/model.gguf", 1e-4},
		{"made/qwen35moe/model.gguf", 3e-4},
	} {
		t.Run(tt.file, func(t *testing.T) {
			_, m := load(t, tt.file)
			p, spec := program(t, m, 16, 8)
			if err := supported(p); err != nil {
				t.Fatal(err)
			}
			b := open(t, fake(75), AllLayers)
			compare(t, b, p, spec, prompts([]int32{3, 1, 4, 1, 5}, []int32{2, 7}, 4), tt.limit)
			if long && (tensor[tt.file] || !strings.HasPrefix(tt.file, "made/")) {
				b = open(t, fake(80), AllLayers)
				compare(t, b, p, spec, prompts([]int32{3, 1, 4, 1, 5, 9, 2, 6, 5}, []int32{2, 7}, 1), max(tt.limit, 0.05))
			}
		})
	}
}

// tensor makes a random weight.
func tensor(r *rand.Rand, name string, typ quant.Type, shape ...int) *weights.Tensor {
	t := &weights.Tensor{Name: name, Type: typ, Shape: shape}
	f := make([]float32, t.Elems())
	for i := range f {
		f[i] = float32(r.NormFloat64()) / 8
	}
	t.Data = make([]byte, t.Size())
	typ.Layout().Encode(t.Data, f)
	return t
}

// Sizes of the program made of random weights.
const (
	vocab, places     = 24, 200
	heads, kvHeads    = 2, 1
	blocks, blockSize = 8, 4
	experts, used     = 3, 2
)

// every records a program of so many layers with every op a text model has.
func every(t testing.TB, typ quant.Type, layers int) (*graph.Program, graph.CacheSpec) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	hidden := max(64, typ.Layout().Block) // the interpreter is slow, blocks are whole
	headDim := hidden / heads
	g := graph.NewBuilder(16, 8)
	freqs := []float64{1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001}
	x := g.Add(g.Embed(g.Tokens(), tensor(r, "embed", typ, vocab, hidden)), g.Embed(g.Positions(), tensor(r, "places", quant.F32, places, hidden)))
	for i := range layers {
		h := g.RMSNorm(x, tensor(r, "norm", quant.F32, hidden), 1e-5)
		rope := graph.Rope{HeadDim: headDim, Freqs: freqs, Magnitude: 1.1, Interleaved: i == 1}
		q := g.Rope(g.RMSNorm(g.Linear(h, tensor(r, "q", typ, heads*headDim, hidden), tensor(r, "qb", quant.F32, heads*headDim)), tensor(r, "qn", quant.F32, headDim), 1e-5), g.Positions(), rope)
		k := g.Rope(g.Linear(h, tensor(r, "k", typ, kvHeads*headDim, hidden), nil), g.Positions(), rope)
		v := g.Linear(h, tensor(r, "v", typ, kvHeads*headDim, hidden), nil)
		a := g.Attention(q, k, v, graph.Attention{Layer: i, Heads: heads, KVHeads: kvHeads, HeadDim: headDim, Scale: 0.1, Window: 3 * i, SoftCap: float32(4 * i), Sinks: tensor(r, "sinks", quant.F32, heads)})
		x = g.Add(x, g.Linear(a, tensor(r, "o", typ, hidden, heads*headDim), nil))
		h = g.Bias(g.LayerNorm(x, tensor(r, "ln", quant.F32, hidden), tensor(r, "lnb", quant.F32, hidden), 1e-5), tensor(r, "bias", quant.F32, hidden))
		moe := g.Experts(h, g.Linear(h, tensor(r, "router", quant.F32, experts, hidden), nil), graph.Experts{
			Gate: tensor(r, "gates", typ, experts, hidden, hidden), Up: tensor(r, "ups", typ, experts, hidden, hidden), Down: tensor(r, "downs", typ, experts, hidden, hidden),
			UpBias: tensor(r, "upbias", quant.F32, experts, hidden), Routing: graph.Routing{Used: used}, Act: graph.SwiGLUClamped,
		})
		u := g.Linear(g.Activate(g.Linear(h, tensor(r, "u", typ, hidden, hidden), nil), graph.GELUTanh), tensor(r, "d", typ, hidden, hidden), nil)
		u = g.Weigh(g.Gate(u, moe, graph.GELU), g.Linear(h, tensor(r, "w", quant.F32, 1, hidden), nil))
		x = g.Add(x, g.Scale(g.SoftCap(g.Add(moe, u), 3), 0.5))
	}
	p, err := g.Compile(g.Linear(g.Take(x, g.Wanted()), tensor(r, "out", typ, vocab, hidden), nil))
	if err != nil {
		t.Fatal(err)
	}
	return p, graph.CacheSpec{Layers: graph.Alike(layers, kvHeads, headDim), Blocks: blocks, BlockSize: blockSize, Type: quant.F16}
}

// Every type of weights, kept or decoded to F16, gives the CPU's logits. Where the
// CPU rounds activations in other groups than the GPU, or the GPU not at all,
// their roundings lie between.
func TestTypes(t *testing.T) {
	fixtures.Interpreter(t)
	for typ := quant.F32; typ <= quant.MXFP4; typ++ {
		if typ.Layout().Encode == nil || typ == quant.Q8_K {
			continue
		}
		t.Run(typ.String(), func(t *testing.T) {
			limit := 0.05
			if !gpu.Quantised(typ) {
				limit = 1e-4
			}
			p, spec := every(t, typ, 1)
			b := open(t, driver.NewFake(1, gigabyte), AllLayers)
			compare(t, b, p, spec, prompts([]int32{3, 1}, []int32{2}, 1), limit)
		})
	}
}

func TestCacheTypes(t *testing.T) {
	for typ, limit := range map[quant.Type]float64{quant.F32: 1e-4, quant.F16: 1e-4, quant.Q8_0: 1e-3} {
		t.Run(typ.String(), func(t *testing.T) {
			p, spec := every(t, quant.F32, 1)
			spec.Type = typ
			b := open(t, driver.NewFake(1, gigabyte), AllLayers)
			compare(t, b, p, spec, prompts([]int32{3, 1, 9}, []int32{2}, 2), limit)
		})
	}
}

// Layers on the processor, on one device and on two give the same logits.
func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		name    string
		layers  int
		devices []int
	}{
		{"one device", AllLayers, nil},
		{"two devices", AllLayers, []int{0, 1}},
		{"devices in another order", AllLayers, []int{1, 0}},
		{"a layer on the processor", 2, []int{0}},
		{"a layer each", 2, []int{0, 1}},
		{"more layers than there are", 99, []int{0, 1}},
		{"none on the device", 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, spec := every(t, quant.F32, 3)
			b := open(t, driver.NewFake(2, gigabyte), tt.layers, tt.devices...)
			compare(t, b, p, spec, prompts([]int32{3, 1, 4}, []int32{2, 7}, 2), 1e-4)
		})
	}
}

// Steps of one shape are recorded once and replayed; batches of other sizes fill up.
func TestReplay(t *testing.T) {
	for _, none := range []bool{false, true} {
		f := driver.NewFake(1, gigabyte)
		f.NoGraphs = none
		p, spec := every(t, quant.F16, 1)
		b := open(t, f, AllLayers)
		r := newRunner(t, b, p, spec)
		host := cpu.Open(1)
		defer host.Close()
		want := newRunner(t, host, p, spec)
		table := [][]int32{{0}, {1}, {2}}
		for i, n := range []int{3, 3, 3, 2, 3} {
			in := &graph.Batch{Tables: table}
			for s := range n {
				in.Tokens, in.Positions = append(in.Tokens, int32(s+i)), append(in.Positions, min(int32(i), 3))
				in.Seq, in.Want = append(in.Seq, int32(s)), append(in.Want, int32(s))
			}
			if d := distance(r.run(in), want.run(in)); d > 1e-4 {
				t.Errorf("step %d of %d rows: logits are %.2g of their size from the CPU's", i, n, d)
			}
		}
		// One sequence has two rows, of which the last is wanted, and the step fills up to four;
		// prompts do not.
		for _, rows := range [][]int{{2, 1}, {1, 2, 1}, {1, 3}, {2, 2}} {
			in := &graph.Batch{Tables: table}
			for s, n := range rows {
				for k := range n {
					in.Tokens, in.Positions = append(in.Tokens, int32(s+n+k)), append(in.Positions, int32(k+1))
					in.Seq = append(in.Seq, int32(s))
				}
				in.Want = append(in.Want, int32(len(in.Tokens)-1))
			}
			in.Tables = table[:len(rows)]
			if d := distance(r.run(in), want.run(in)); d > 1e-4 {
				t.Errorf("step of rows %v: logits are %.2g of their size from the CPU's", rows, d)
			}
		}
		if logits := r.run(&graph.Batch{Tables: table[:1], Tokens: []int32{1, 2, 3}, Positions: []int32{0, 1, 2}, Seq: []int32{0, 0, 0}, Want: []int32{2}}); len(logits) != r.width {
			t.Errorf("%d numbers of one wanted row, want %d", len(logits), r.width)
		}
		// The first of four rows is launched, then 7 are replayed; that of two is new.
		if want := 7; !none && f.Replays != want {
			t.Errorf("%d steps were replayed, want %d", f.Replays, want)
		}
		if none && f.Replays != 0 {
			t.Errorf("%d steps were replayed by a driver that records none", f.Replays)
		}
	}
}

// A block's copy holds what the block held, in every layer.
func TestCopy(t *testing.T) {
	p, spec := every(t, quant.F32, 2)
	r := newRunner(t, open(t, driver.NewFake(2, gigabyte), 1, 0), p, spec)
	first := &graph.Batch{Tokens: []int32{3, 1, 4}, Positions: []int32{0, 1, 2}, Seq: []int32{0, 0, 0}, Tables: [][]int32{{2}}, Want: []int32{2}}
	r.run(first)
	r.cache.Copy(0, 5, 2)
	next := func(block int32) []float32 {
		return r.run(&graph.Batch{Tokens: []int32{7}, Positions: []int32{3}, Seq: []int32{0}, Tables: [][]int32{{block}}, Want: []int32{0}})
	}
	if got, want := next(5), next(2); distance(got, want) != 0 {
		t.Errorf("the copy's logits are %g of their size from the block's", distance(got, want))
	}
}

// Weights two Programs use are there once.
func TestSharedWeights(t *testing.T) {
	f := driver.NewFake(1, gigabyte)
	b := open(t, f, AllLayers)
	p, _ := every(t, quant.F32, 1)
	one, err := b.Compile(t.Context(), p, graph.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	first := f.Used(0)
	two, err := b.Compile(t.Context(), p, graph.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	if grown := f.Used(0) - first; grown > first/2 {
		t.Errorf("the second Program took %d bytes, the first %d", grown, first)
	}
	for _, e := range []graph.Exec{one, two} {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if f.Used(0) != 0 {
		t.Errorf("%d bytes are left behind", f.Used(0))
	}
}

// Long sequences are cut into parts; the parts together are the whole.
func TestLong(t *testing.T) {
	p, spec := every(t, quant.F32, 1)
	spec.Blocks, spec.BlockSize = 3, 64
	table := [][]int32{{2, 0, 1}}
	var all []*graph.Batch
	for at := int32(0); at < 160; at += 16 {
		in := &graph.Batch{Tables: table, Want: []int32{15}}
		for i := range int32(16) {
			in.Tokens, in.Positions, in.Seq = append(in.Tokens, (at+i*7)%vocab), append(in.Positions, at+i), append(in.Seq, 0)
		}
		all = append(all, in)
	}
	for at := int32(160); at < 164; at++ {
		all = append(all, &graph.Batch{Tokens: []int32{at % vocab}, Positions: []int32{at}, Seq: []int32{0}, Tables: table, Want: []int32{0}})
	}
	compare(t, open(t, driver.NewFake(1, gigabyte), AllLayers), p, spec, all, 1e-4)
}

// Encoders, whose rows look ahead, give the CPU's rows: of everything, within a window to both
// sides, and with slopes. So does what scores.
func TestEncoder(t *testing.T) {
	for _, file := range []string{"nomic-bert.gguf", "gemma-embedding.gguf", "jina-bert-v2.gguf", "modern-bert.gguf", "modern-bert-scores.gguf", "xlm-roberta-scores.gguf", "qwen3-scores.gguf"} {
		t.Run(file, func(t *testing.T) {
			_, m := load(t, file)
			g := graph.NewBuilder(16, 16)
			p, err := g.Compile(m.Hidden(g))
			if err != nil {
				t.Fatal(err)
			}
			if err := supported(p); err != nil {
				t.Fatal(err)
			}
			spec := p.CacheSpec(8, 4, 1, quant.F32)
			in := prompts([]int32{3, 1, 4, 1, 5, 9, 2, 6, 5, 3}, []int32{2, 7}, 0)
			in[0].Want = []int32{0, 1, 2, 3, 4, 5, 6}
			compare(t, open(t, driver.NewFake(1, gigabyte), AllLayers), p, spec, in, 1e-4)
		})
	}
}

// Models that goroutines run at the same time take turns on the device.
func TestTwoModels(t *testing.T) {
	b := open(t, driver.NewFake(1, gigabyte), AllLayers)
	in := prompts([]int32{3, 1}, []int32{2}, 0)[0]
	var runners [2]*runner
	for i := range runners {
		p, spec := every(t, quant.F16, 1)
		runners[i] = newRunner(t, b, p, spec)
	}
	var results [2][]float32
	done := make(chan error)
	for i, r := range runners {
		go func() {
			out, err := r.exec.Run(context.Background(), in, r.cache)
			if err == nil {
				results[i] = append(results[i], out[0]...)
			}
			done <- err
		}()
	}
	for range runners {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if d := distance(results[0], results[1]); d != 0 {
		t.Errorf("the same model twice is %g apart", d)
	}
}

// The product before a sum adds it up itself: no sum is a launch of its own.
func TestSumsAreFused(t *testing.T) {
	f := driver.NewFake(1, gigabyte)
	counts := make(map[string]int)
	f.Fail = func(kernel string) error {
		counts[kernel]++
		return nil
	}
	_, m := load(t, "llama-bias-linear.gguf")
	p, spec := program(t, m, 16, 8)
	r := newRunner(t, open(t, f, AllLayers), p, spec)
	r.run(&graph.Batch{Tokens: []int32{3}, Positions: []int32{0}, Seq: []int32{0}, Tables: [][]int32{{0}}, Want: []int32{0}})
	if counts["add"] != 0 || counts["attend_combine"] == 0 {
		t.Errorf("launches: %v; want no add", counts)
	}
}
