package model_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels"
	"quern/kernels/quant"
)

// A golden is llama.cpp's output for one file; see fixtures/llm/README.md.
type golden struct {
	Prompt     []int32              `json:"prompt_ids"`
	Last       []float64            `json:"logits_last"`
	Pos        map[string][]float64 `json:"logits_pos"`
	Greedy     []int32              `json:"greedy_ids"`
	Margin     []float64            `json:"greedy_margin"`
	FinalStep  []float64            `json:"logits_final_step"`
	Dequantise *golden              `json:"dequantised_f32"`

	// Of files with two sets of rotary factors: a short prompt run with the set
	// for short contexts.
	Short *golden `json:"short"`

	// Of embedding models.
	Embedding []float64            `json:"embedding"`
	Pooling   string               `json:"pooling"`
	Vector    []float64            `json:"vector"` // behind the layers after pooling
	Rows      map[string][]float64 `json:"token_embedding"`
}

func readGolden(t *testing.T, path string) *golden {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g := new(golden)
	if err := json.Unmarshal(b, g); err != nil {
		t.Fatal(err)
	}
	return g
}

// A runner feeds tokens of one sequence to a model. Its program takes as many rows as were fed
// at a time: what one of more takes in memory costs more than the tests do.
type runner struct {
	t       *testing.T
	backend *cpu.Backend
	record  func(rows int) *graph.Program
	rows    int // the program takes
	exec    graph.Exec
	cache   graph.Cache
	table   []int32
	pos     int32
}

func newRunner(t *testing.T, set *weights.Set, cacheType quant.Type) *runner {
	t.Helper()
	return newRunnerOf(t, openModel(t, set), cacheType, model.LM.Logits)
}

func openModel(t *testing.T, set *weights.Set) model.LM {
	t.Helper()
	m, err := model.Open(set)
	if err == nil {
		err = set.Fill()
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// newRunnerOf runs what result makes of m's hidden rows.
func newRunnerOf(t *testing.T, m model.LM, cacheType quant.Type, result func(model.LM, *graph.Builder, graph.Value) graph.Value) *runner {
	t.Helper()
	r := &runner{t: t, backend: cpu.Open(2), record: func(rows int) *graph.Program {
		b := graph.NewBuilder(rows, rows)
		p, err := b.Compile(result(m, b, m.Hidden(b)))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}}
	t.Cleanup(func() { r.backend.Close() })
	p := r.compile(32)
	const blocks, size = 40, 16
	cache, err := r.backend.NewCache(p.CacheSpec(blocks, size, 1, cacheType))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	r.cache = cache
	for i := range int32(blocks) { // blocks out of order: nothing may assume they are in one
		r.table = append(r.table, blocks-1-i)
	}
	return r
}

// compile makes a program of rows.
func (r *runner) compile(rows int) *graph.Program {
	r.t.Helper()
	p := r.record(rows)
	exec, err := r.backend.Compile(r.t.Context(), p, graph.Watch{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.exec, r.rows = exec, rows
	return p
}

// run runs a batch.
func (r *runner) run(in *graph.Batch) [][]float32 {
	r.t.Helper()
	if n := len(in.Tokens); n > r.rows {
		r.compile(n)
	}
	out, err := r.exec.Run(r.t.Context(), in, r.cache)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// feed runs tokens as one batch and returns the logits of the wanted rows.
func (r *runner) feed(tokens []int32, want ...int32) [][]float32 {
	r.t.Helper()
	in := &graph.Batch{Tokens: tokens, Tables: [][]int32{r.table}, States: []int32{0}, Want: want}
	for range tokens {
		in.Positions = append(in.Positions, r.pos)
		in.Seq = append(in.Seq, 0)
		r.pos++
	}
	out := r.run(in)
	if len(want) == 0 {
		return nil
	}
	n := len(out[0]) / len(want)
	var rows [][]float32
	for i := range want {
		rows = append(rows, append([]float32(nil), out[0][i*n:(i+1)*n]...))
	}
	return rows
}

// distance is max|a-b| / rms(b).
func distance(a []float32, b []float64) float64 {
	var worst, ss float64
	for i := range b {
		worst = max(worst, math.Abs(float64(a[i])-b[i]))
		ss += b[i] * b[i]
	}
	return worst / math.Sqrt(ss/float64(len(b)))
}

func argmax(x []float32) int32 {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return int32(best)
}

// tiled is what limits grow by at AMX: there activations are rounded to two pieces of
// bf16 where weights have 16 bits; see dot.SplitRows.
func tiled() float64 {
	if kernels.Level() == "amx" {
		return 3e-4
	}
	return 0
}

// compare runs g's prompt and checks every vector and greedy id of it.
func compare(t *testing.T, set *weights.Set, g *golden, limit, tie float64) {
	t.Helper()
	limit += tiled()
	r := newRunner(t, set, quant.F32)
	var want []int32
	var ref [][]float64
	for _, p := range []int32{0, 7, 23} {
		want, ref = append(want, p), append(ref, g.Pos[strconv.Itoa(int(p))])
	}
	want, ref = append(want, int32(len(g.Prompt)-1)), append(ref, g.Last)
	worst := 0.0
	got := r.feed(g.Prompt, want...)
	for i := range want {
		d := distance(got[i], ref[i])
		worst = max(worst, d)
		if !(d <= limit) {
			t.Errorf("position %d: logits are off by %.3g of their rms, want at most %.3g", want[i], d, limit)
		}
	}
	logits := got[len(got)-1]
	for i, id := range g.Greedy {
		if i > 0 {
			logits = r.feed(g.Greedy[i-1:i], 0)[0]
		}
		if got := argmax(logits); got != id && g.Margin[i] > tie {
			t.Errorf("greedy step %d: token %d, want %d (margin %g)", i, got, id, g.Margin[i])
		}
	}
	d := distance(logits, g.FinalStep)
	worst = max(worst, d)
	if !(d <= limit) {
		t.Errorf("last step: logits are off by %.3g, want at most %.3g", d, limit)
	}
	t.Logf("worst distance %.2g of %.2g", worst, limit)
}

// logits are g's vectors by position of its prompt.
func (g *golden) logits(t *testing.T) map[int32][]float64 {
	t.Helper()
	rows := byPosition(t, g.Pos)
	rows[int32(len(g.Prompt)-1)] = g.Last
	return rows
}

func byPosition(t *testing.T, m map[string][]float64) map[int32][]float64 {
	t.Helper()
	rows := make(map[int32][]float64)
	for p, x := range m {
		n, err := strconv.Atoi(p)
		if err != nil {
			t.Fatal(err)
		}
		rows[int32(n)] = x
	}
	return rows
}

// compareRows runs a prompt and compares the rows at some of its positions.
func compareRows(t *testing.T, r *runner, prompt []int32, rows map[int32][]float64, limit float64) {
	t.Helper()
	limit += tiled()
	want := slices.Sorted(maps.Keys(rows))
	worst := 0.0
	for i, got := range r.feed(prompt, want...) {
		d := distance(got, rows[want[i]])
		worst = max(worst, d)
		if !(d <= limit) {
			t.Errorf("position %d is off by %.3g of its rms, want at most %.3g", want[i], d, limit)
		}
	}
	t.Logf("worst distance %.2g of %.2g", worst, limit)
}

// compareEmbedding checks the rows and the pooled vector of a text.
func compareEmbedding(t *testing.T, set *weights.Set, g *golden, pooling model.Pooling, limit float64) {
	t.Helper()
	limit += tiled()
	m := openModel(t, set)
	if got := m.Config().Pooling; got != pooling {
		t.Fatalf("pooling is %v, want %v", got, pooling)
	}
	r := newRunnerOf(t, m, quant.F32, func(_ model.LM, _ *graph.Builder, h graph.Value) graph.Value { return h })
	var all []int32
	for i := range g.Prompt {
		all = append(all, int32(i))
	}
	rows := r.feed(g.Prompt, all...)
	worst := 0.0
	for pos, want := range byPosition(t, g.Rows) {
		worst = max(worst, distance(rows[pos], want))
	}
	pooled := rows[0]
	switch pooling {
	case model.PoolLast:
		pooled = rows[len(rows)-1]
	case model.PoolMean:
		pooled = make([]float32, len(rows[0]))
		for _, row := range rows {
			for i, v := range row {
				pooled[i] += v / float32(len(rows))
			}
		}
	}
	worst = max(worst, distance(pooled, g.Embedding))
	if g.Vector != nil {
		worst = max(worst, distance(project(t, m, pooled), g.Vector))
	}
	if !(worst <= limit) {
		t.Errorf("off by %.3g, want at most %.3g", worst, limit)
	}
	t.Logf("worst distance %.2g of %.2g", worst, limit)
}

// TestGoldenEmbeddings holds the rows of embedding models and their pooled
// vectors against llama.cpp and, with the activation as it is defined, float64.
func TestGoldenEmbeddings(t *testing.T) {
	dir := fixtures.Path(t, "llm")
	for _, tt := range []struct {
		name    string
		pooling model.Pooling
		limit   float64
	}{
		{"bert-cls", model.PoolCLS, 5e-3},
		{"bert-mean", model.PoolMean, 5e-3},
		{"qwen3-embedding", model.PoolLast, 1e-4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := filepath.Join(dir, tt.name)
			set := open(t, filepath.Join(at, "model.gguf"))
			compareEmbedding(t, set, readGolden(t, filepath.Join(at, "golden.json")), tt.pooling, tt.limit)
			compareEmbedding(t, set, readGolden(t, filepath.Join(at, "golden-hf-f64.json")), tt.pooling, 1e-4)
		})
	}
}

// TestGoldenMade holds the architectures without llama.cpp's output against
// testdata/make_golden.py.
func TestGoldenMade(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit float64
	}{
		{"llama-bias-linear", 1e-5},
		{"falcon-40b", 1e-5},
		{"qwen2moe", 1e-5},
		{"qwen3moe", 1e-5},
		{"phimoe", 1e-5},
		{"phimoe-layer-norm", 1e-5},
		{"olmo2", 1e-5},
		{"granite", 1e-5},
		{"gpt-oss", 1e-5},
		{"gemma4-moe", 1e-5},
		{"gpt-oss-MXFP4", 0.15}, // activations of 8 bits
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := readGolden(t, filepath.Join("testdata", tt.name+".golden.json"))
			r := newRunner(t, open(t, filepath.Join("testdata", tt.name+".gguf")), quant.F32)
			compareRows(t, r, g.Prompt, g.logits(t), tt.limit)
		})
	}
	t.Run("nomic-bert", func(t *testing.T) {
		g := readGolden(t, "testdata/nomic-bert.golden.json")
		compareEmbedding(t, open(t, "testdata/nomic-bert.gguf"), g, model.PoolMean, 1e-5)
	})
	for _, tt := range []struct {
		name    string
		pooling model.Pooling
	}{{"modern-bert", model.PoolCLS}, {"jina-bert-v2", model.PoolMean}, {"modern-bert-scores", model.PoolMean}, {"xlm-roberta-scores", model.PoolCLS}, {"qwen3-scores", model.PoolLast}, {"gemma-embedding", model.PoolMean}} {
		t.Run(tt.name, func(t *testing.T) {
			compareEmbedding(t, open(t, "testdata/"+tt.name+".gguf"), readGolden(t, "testdata/"+tt.name+".golden.json"), tt.pooling, 1e-5)
		})
	}
	t.Run("bert-mean-Q8_0", func(t *testing.T) { // llama.cpp's
		g := readGolden(t, "testdata/bert-mean-Q8_0.golden.json")
		compareEmbedding(t, open(t, "testdata/bert-mean-Q8_0.gguf"), g, model.PoolMean, 0.15)
	})
}

func open(t *testing.T, path string) *weights.Set {
	t.Helper()
	set, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return set
}

func TestGoldenF32(t *testing.T) {
	dir := fixtures.Path(t, "llm")
	for _, tt := range []struct {
		name, file string
		limit      float64 // against llama.cpp; 5e-3 where it looks GELU up in a table
	}{
		{"llama-mha", "", 1e-4},
		{"llama3-gqa-tied", "", 1e-4},
		{"smollm2", "", 1e-4},
		{"falcon3", "", 1e-4},
		{"mistral", "", 1e-4},
		{"mixtral", "", 1e-4},
		{"qwen2", "", 1e-4},
		{"qwen3", "", 1e-4},
		{"phi3", "", 1e-4},
		{"phi3-longrope", "", 1e-4},
		{"phi4-mini", "", 1e-4},
		{"phi2", "", 5e-3},
		{"phi2", "model-fused-qkv.gguf", 5e-3},
		{"falcon-7b-style", "", 5e-3},
		{"smollm3", "", 1e-4},
		{"starcoder2", "", 5e-3},
		{"gemma2", "", 5e-3},
		{"gemma3", "", 5e-3},
	} {
		t.Run(tt.name+tt.file, func(t *testing.T) {
			at := filepath.Join(dir, tt.name)
			file := tt.file
			if file == "" {
				file = "model.gguf"
			}
			set := open(t, filepath.Join(at, file))
			g := readGolden(t, filepath.Join(at, "golden.json"))
			compare(t, set, g, tt.limit, 1e-2)
			if long := filepath.Join(at, "golden-long.json"); isFile(long) {
				compare(t, set, readGolden(t, long), max(2e-4, tt.limit), 1e-2)
			}
			// The same in float64 with the activation as it is defined.
			exact := readGolden(t, filepath.Join(at, "golden-hf-f64.json"))
			compareLogits(t, set, exact, 1e-4)
			if g.Short != nil {
				for _, short := range []*golden{g.Short, exact.Short} {
					m := openModel(t, set)
					m.Config().Served = 32
					compareRows(t, newRunnerOf(t, m, quant.F32, model.LM.Logits), short.Prompt, short.logits(t), 1e-4)
				}
			}
		})
	}
}

// TestGoldenSmall needs nothing outside the repository.
func TestGoldenSmall(t *testing.T) {
	for _, name := range []string{"smollm2-F32", "smollm2-Q4_K_M", "llama-Q4_K_M", "mixtral-Q8_0"} {
		t.Run(name, func(t *testing.T) {
			compareQuantised(t, filepath.Join("testdata", name+".gguf"), filepath.Join("testdata", name+".golden.json"))
		})
	}
}

func isFile(p string) bool {
	s, err := os.Stat(p)
	return err == nil && s.Mode().IsRegular()
}

// Limits of the README: an engine with float32 activations is held against the
// dequantised run, one with 8-bit activations against llama.cpp's own values.
func quantLimit(file string) (limit, tie float64, dequantised bool) {
	switch {
	case strings.Contains(file, "-F32"):
		return 1e-4, 1e-2, false
	case strings.Contains(file, "-F16"), strings.Contains(file, "-BF16"):
		return 1e-4, 1e-2, true
	}
	return 0.15, 0.5, false
}

func TestGoldenQuantised(t *testing.T) {
	dir := fixtures.Path(t, "llm", "quant")
	files, err := filepath.Glob(filepath.Join(dir, "llama-*.gguf"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d quantised files, %v", len(files), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "llama-"), ".gguf")
		t.Run(name, func(t *testing.T) { compareQuantised(t, f, filepath.Join(dir, fmt.Sprintf("golden-%s.json", name))) })
	}
	for _, name := range []string{"smollm2-Q4_K_M", "smollm2-Q2_K", "mixtral-Q8_0", "phi3-Q4_0", "phi2-Q8_0", "falcon-7b-style-Q5_1"} {
		t.Run(name, func(t *testing.T) {
			compareQuantised(t, filepath.Join(dir, "other", name+".gguf"), filepath.Join(dir, "other", name+".golden.json"))
		})
	}
}

func compareQuantised(t *testing.T, file, ref string) {
	t.Helper()
	g := readGolden(t, ref)
	limit, tie, dequantised := quantLimit(file)
	if dequantised {
		d := g.Dequantise
		d.Prompt = g.Prompt
		g = d
	}
	compare(t, open(t, file), g, limit, tie)
}
