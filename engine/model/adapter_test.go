package model_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// adapt opens a model with adapters and returns the rows of its result: of each sequence
// all rows.
func adapt(t *testing.T, base *weights.Set, adapters []*weights.Set, tokens [][]int32, of []int32) [][]float32 {
	t.Helper()
	m := openModel(t, base)
	var list []*model.Adapter
	for _, file := range adapters {
		x, err := model.ReadAdapter(m, base, file, 1)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, x)
		list = append(list, x)
	}
	b := graph.NewBuilder(96, 96)
	b.Adapt(model.Changes(list))
	v := m.Hidden(b)
	if !m.Config().Encoder {
		v = m.Logits(b, v)
	}
	p, err := b.Compile(v)
	if err != nil {
		t.Fatal(err)
	}
	be := cpu.Open(2)
	defer be.Close()
	exec, err := be.Compile(t.Context(), p, graph.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	const size = 16
	cache, err := be.NewCache(p.CacheSpec(len(tokens)*16, size, len(tokens), quant.F32))
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	in := &graph.Batch{Adapters: of}
	for s, list := range tokens {
		var table []int32
		for k := range 16 {
			table = append(table, int32(s*16+k))
		}
		in.Sequence(table, nil)
		in.State(int32(s))
		for i, id := range list {
			in.Row(id, int32(i))
			in.Want = append(in.Want, int32(len(in.Positions)-1))
		}
	}
	res, err := exec.Run(t.Context(), in, cache)
	if err != nil {
		t.Fatal(err)
	}
	width := len(res[0]) / len(in.Want)
	var out [][]float32
	at := 0
	for _, list := range tokens {
		out = append(out, slices.Clone(res[0][at*width:(at+len(list))*width]))
		at += len(list)
	}
	return out
}

func fill(t *testing.T, x *model.Adapter) {
	t.Helper()
	for _, w := range x.Tensors {
		data, err := w.Read()
		if err != nil {
			t.Fatal(err)
		}
		w.Data = data
	}
}

func apart(a, b []float32) float64 {
	want := make([]float64, len(b))
	for i, v := range b {
		want[i] = float64(v)
	}
	return distance(a, want)
}

var someTokens = []int32{5, 9, 2, 14, 7, 3, 11, 8, 6, 10, 4, 12, 1, 13, 15, 5, 5, 9}

// TestAdapters holds random adapters for all matrices of every fixture against merged
// weights: PEFT's on Hugging Face's form and on GGUF, GGUF's on GGUF and on Hugging
// Face's form. Rows that one of them has in another order show at once.
func TestAdapters(t *testing.T) {
	for _, group := range []string{"llm", "families"} {
		dir := fixtures.Path(t, group)
		list, err := filepath.Glob(filepath.Join(dir, "*", "model.gguf"))
		if err != nil || len(list) < 10 {
			t.Fatal(len(list), err)
		}
		for _, path := range list {
			name := filepath.Base(filepath.Dir(path))
			if name == "gemma4-e" || name == "rwkv7" {
				continue // whose adapters are refused by name
			}
			t.Run(name, func(t *testing.T) { adaptersOf(t, path, filepath.Join(filepath.Dir(path), "hf")) })
		}
	}
}

// TestAdaptersMade does the same for the families that the fixtures leave out.
func TestAdaptersMade(t *testing.T) {
	list, err := filepath.Glob("testdata/made/*/model.gguf")
	if err != nil || len(list) < 16 {
		t.Fatal(len(list), err)
	}
	for _, path := range list {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) { adaptersOf(t, path, filepath.Join(filepath.Dir(path), "hf")) })
	}
}

// unchanged reports whether a matrix belongs to what adapters do not change.
func unchanged(name string) bool {
	for _, s := range []string{"kv_b", "conv", "k_b.", "v_b.", "rope_freqs", "rope_factors", "A_log", "ssm_a", "ssm_norm", "ssm_d", "position_emb", "token_type", "position_embd", "visual", "mtp", "wpe", "attn_q_norm", "attn_k_norm", "self_attn.q_norm", "self_attn.k_norm", "embed_positions", "blk.0.time_mix_v1", "altup_proj", "altup_unemb", "correct_coef", "correction_coefs", "blk.0.time_mix_v2"} {
		if strings.Contains(name, s) {
			return true
		}
	}
	return false
}

// wholeStacks reports whether a file has matrices of several experts in one tensor.
func wholeStacks(set *weights.Set) bool {
	for w := range set.All() {
		if len(w.Shape) == 3 && !unchanged(w.Name) {
			return true
		}
	}
	return false
}

// looksUp reports whether a tensor is the embedding.
func looksUp(name string) bool {
	return slices.ContainsFunc([]string{"embed_tokens", "token_embd.", "embeddings", "wte.", "embed_in.", "tok_emb"}, func(part string) bool { return strings.Contains(name, part) })
}

// drafting is how names of the layer begin that drafts, in GGUF files and others.
func drafting(t *testing.T, set *weights.Set) (blk, layers string) {
	t.Helper()
	to, err := model.Translate(set)
	if err != nil {
		t.Fatal(err)
	}
	arch := to.Meta.String("general.architecture")
	n, _ := to.Meta.Int(arch + ".block_count")
	some, _ := to.Meta.Int(arch + ".nextn_predict_layers")
	return fmt.Sprintf("blk.%d.", n-some), fmt.Sprintf("layers.%d.", n-some)
}

func adaptersOf(t *testing.T, gguf, hf string) {
	limit := 1e-4 + 2*tiled()
	tokens, first := [][]int32{someTokens}, []int32{1}
	published, converted := openHF(t, hf, ""), open(t, gguf)
	tied := func(set *weights.Set) bool {
		for w := range set.All() {
			if strings.HasPrefix(w.Name, "lm_head.") || strings.HasPrefix(w.Name, "output.") {
				return false
			}
		}
		return true
	}
	picks := func(set *weights.Set) func(w *weights.Tensor) bool {
		blk, layers := drafting(t, set)
		return func(w *weights.Tensor) bool {
			if strings.Contains(w.Name, blk) || strings.Contains(w.Name, layers) {
				return false // adapters do not change what is drafted
			}
			lookup := looksUp(w.Name)
			if strings.Contains(hf, "/bailingmoe/") && w.Name == "lm_head.weight" {
				return false // refused: its columns have one length
			}
			return !unchanged(w.Name) && !(lookup && tied(set)) && (strings.HasSuffix(w.Name, ".weight") || len(w.Shape) == 3 && strings.Contains(w.Name, ".experts."))
		}
	}
	// The two forms may differ for reasons of their own, which is not what is tested here.
	base := adapt(t, published, nil, tokens, nil)[0]
	other := adapt(t, converted, nil, tokens, nil)[0]
	slack := limit + 4*apart(other, base)
	near := func(what string, got, want []float32, limit float64) {
		t.Helper()
		if d := apart(got, want); !(d <= limit) {
			t.Errorf("%s: %.2g from merged weights, want at most %.2g", what, d, limit)
		}
		if d := apart(got, base); d < 0.01 {
			t.Errorf("%s: the adapter changes next to nothing: %.2g", what, d)
		}
	}
	for _, version := range []string{"0.18.1", "0.19.1"} {
		p := trainBy(t, published, true, version, 5, 8, picks(published))
		want := adapt(t, p.merge(t, published), nil, tokens, nil)[0]
		near("PEFT "+version+" on its own base", adapt(t, published, []*weights.Set{p.file}, tokens, first)[0], want, limit)
		if arch := converted.Meta.String("general.architecture"); arch != "falcon-h1" {
			near("PEFT "+version+" on GGUF", adapt(t, converted, []*weights.Set{p.file}, tokens, first)[0], want, slack)
		} else if _, err := model.ReadAdapter(openModel(t, converted), converted, p.file, 1); !errors.Is(err, model.ErrUnsupported) {
			t.Errorf("PEFT on a GGUF file of %s: %v", arch, err)
		}
		if !wholeStacks(published) {
			break // versions differ only there
		}
	}
	g := train(t, converted, false, 4, 6, picks(converted))
	want := adapt(t, g.merge(t, converted), nil, tokens, nil)[0]
	near("GGUF on its own base", adapt(t, converted, []*weights.Set{g.file}, tokens, first)[0], want, limit)
	near("GGUF on Hugging Face's form", adapt(t, published, []*weights.Set{g.file}, tokens, first)[0], want, slack)
}

// TestAdaptersTogether runs sequences of several adapters in one batch: each has the bits
// that it has alone.
func TestAdaptersTogether(t *testing.T) {
	for _, name := range []string{"smollm2-Q4_K_M", "mixtral-Q8_0", "gpt-oss-MXFP4"} {
		t.Run(name, func(t *testing.T) { adaptersTogether(t, open(t, "testdata/"+name+".gguf")) })
	}
}

func adaptersTogether(t *testing.T, base *weights.Set) {
	all := func(w *weights.Tensor) bool {
		return !unchanged(w.Name) && w.Name != "token_embd.weight" && strings.HasSuffix(w.Name, ".weight")
	}
	some := func(w *weights.Tensor) bool { return strings.Contains(w.Name, "attn_q.") }
	files := []*weights.Set{train(t, base, false, 3, 4, all).file, train(t, base, false, 16, 8, some).file, train(t, base, false, 7, 7, all).file}
	tokens := [][]int32{someTokens, someTokens[:7], someTokens[3:], someTokens, someTokens[:1], someTokens}
	of := []int32{2, 0, 3, 1, 3, 0}
	got := adapt(t, base, files, tokens, of)
	for s := range tokens {
		if alone := adapt(t, base, files, tokens[s:s+1], of[s:s+1])[0]; !slices.Equal(alone, got[s]) {
			t.Errorf("sequence %d with adapter %d has other bits alone", s, of[s])
		}
	}
	if none := adapt(t, base, nil, tokens[5:], nil)[0]; !slices.Equal(none, got[5]) {
		t.Error("a sequence without adapter has other bits than the base has")
	}
	if slices.Equal(got[0], got[3]) || slices.Equal(got[3], got[5]) {
		t.Error("adapters change nothing")
	}
}

// TestTiedAdapters adapts the output of a model whose output is its embedding, and the
// lookup by itself.
func TestTiedAdapters(t *testing.T) {
	base := open(t, "testdata/smollm2-F32.gguf")
	if _, ok := base.Tensor("output.weight"); ok {
		t.Fatal("the model is not tied")
	}
	pick := func(w *weights.Tensor) bool { return w.Name == "token_embd.weight" }
	x := train(t, base, false, 4, 4, pick)
	apartFromOutput := x.merge(t, base)
	embed, _ := base.Tensor("token_embd.weight")
	if err := apartFromOutput.Add(&weights.Tensor{Name: "output.weight", Type: embed.Type, Shape: embed.Shape, Data: embed.Data}); err != nil {
		t.Fatal(err)
	}
	tokens, first := [][]int32{someTokens}, []int32{1}
	want := adapt(t, apartFromOutput, nil, tokens, nil)[0]
	if d := apart(adapt(t, base, []*weights.Set{x.file}, tokens, first)[0], want); !(d <= 1e-4) {
		t.Errorf("a changed lookup is %.2g from merged weights", d)
	}
	// The same of the output alone, by PEFT's name for it.
	head := &weights.Set{Source: weights.SafeTensors}
	head.Meta.Set("hf.adapter_config", `{"peft_type":"LORA","r":4,"lora_alpha":4,"use_rslora":true}`)
	a, _ := x.file.Tensor("token_embd.weight.lora_b") // (hidden, 4)
	b, _ := x.file.Tensor("token_embd.weight.lora_a") // (vocab, 4)
	for _, w := range []*weights.Tensor{
		f32Tensor("base_model.model.lm_head.lora_A.weight", turned(decode(a), a.Shape[0], 4), 4, a.Shape[0]),
		f32Tensor("base_model.model.lm_head.lora_B.weight", decode(b), b.Shape...),
	} {
		if err := head.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	merged := &weights.Set{Source: weights.GGUF, Meta: base.Meta}
	for w := range base.All() {
		if err := merged.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	sum := decode(embed)
	for i, d := range x.delta["token_embd.weight"] {
		sum[i] += 2 * d // alpha is divided by the root of the rank
	}
	if err := merged.Add(f32Tensor("output.weight", sum, embed.Shape...)); err != nil {
		t.Fatal(err)
	}
	want = adapt(t, merged, nil, tokens, nil)[0]
	if d := apart(adapt(t, base, []*weights.Set{head}, tokens, first)[0], want); !(d <= 1e-4) {
		t.Errorf("a changed output is %.2g from merged weights", d)
	}
}

// Ranks and alphas of single modules count as PEFT counts them: the first pattern that
// the end of a name matches.
func TestAdapterPatterns(t *testing.T) {
	base := open(t, "testdata/smollm2-F32.gguf")
	m := openModel(t, base)
	c := m.Config()
	read := func(config string, ranks map[string]int) (*model.Adapter, error) {
		file := &weights.Set{Source: weights.SafeTensors}
		file.Meta.Set("hf.adapter_config", config)
		for _, name := range slices.Sorted(maps.Keys(ranks)) {
			n := ranks[name]
			file.Add(f32Tensor("base_model.model."+name+".lora_A.weight", make([]float32, n*c.Hidden), n, c.Hidden))
			file.Add(f32Tensor("base_model.model."+name+".lora_B.weight", make([]float32, n*c.Hidden), c.Hidden, n))
		}
		return model.ReadAdapter(m, base, file, 3)
	}
	ranks := map[string]int{"model.layers.0.self_attn.q_proj": 4, "model.layers.1.self_attn.q_proj": 2, "model.layers.1.self_attn.o_proj": 8}
	config := `{"peft_type":"LORA","r":8,"lora_alpha":16,"rank_pattern":{"model.layers.0.self_attn.q_proj":4,"q_proj":2},"alpha_pattern":{"^model\\.layers\\.1\\..*q_proj":5,"v_proj":1},"layers_to_transform":[0,1],"fan_in_fan_out":true}`
	x, err := read(config, ranks)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float32{}
	for w, list := range model.Changes([]*model.Adapter{x}).Linear {
		got[w.Name] = list[0].Scale
	}
	if want := (map[string]float32{"blk.0.attn_q.weight": 12, "blk.1.attn_q.weight": 7.5, "blk.1.attn_output.weight": 6}); !maps.Equal(got, want) || x.Rank != 8 {
		t.Errorf("scales %v of rank %d, want %v", got, x.Rank, want)
	}
	ranks["model.layers.1.self_attn.o_proj"] = 3
	if _, err := read(config, ranks); !errors.Is(err, model.ErrFormat) || !strings.Contains(err.Error(), "rank 3, and adapter_config.json says 8") {
		t.Errorf("a rank that the configuration does not have: %v", err)
	}
}
