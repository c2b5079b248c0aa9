package model_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats/gguf"
	"quern/formats/weights"
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

// fixtures is the folder of reference outputs beside the checkout; the test is
// skipped where it is absent.
func fixtures(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if p := filepath.Join(dir, "shared", "fixtures"); isDir(p) {
			return p
		}
	}
	t.Skip("no shared/fixtures beside the checkout")
	return ""
}

func isDir(p string) bool {
	s, err := os.Stat(p)
	return err == nil && s.IsDir()
}

// A runner feeds tokens of one sequence to a model.
type runner struct {
	t     *testing.T
	exec  graph.Exec
	cache graph.Cache
	table []int32
	pos   int32
}

func newRunner(t *testing.T, set *weights.Set, cacheType quant.Type) *runner {
	t.Helper()
	m, err := model.Open(set)
	if err == nil {
		err = set.Fill()
	}
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(512, 16)
	p, err := b.Compile(m.Logits(b, m.Hidden(b)))
	if err != nil {
		t.Fatal(err)
	}
	be := cpu.Open(2)
	t.Cleanup(func() { be.Close() })
	exec, err := be.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	const blocks, size = 40, 16
	c := m.Config()
	cache, err := be.NewCache(graph.CacheSpec{Layers: c.Layers, KVHeads: c.KVHeads, HeadDim: c.HeadDim, Blocks: blocks, BlockSize: size, Type: cacheType})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	r := &runner{t: t, exec: exec, cache: cache}
	for i := range int32(blocks) { // blocks out of order: nothing may assume they are in one
		r.table = append(r.table, blocks-1-i)
	}
	return r
}

// feed runs tokens as one batch and returns the logits of the wanted rows.
func (r *runner) feed(tokens []int32, want ...int32) [][]float32 {
	r.t.Helper()
	in := &graph.Batch{Tokens: tokens, Tables: [][]int32{r.table}, Want: want}
	for range tokens {
		in.Positions = append(in.Positions, r.pos)
		in.Seq = append(in.Seq, 0)
		r.pos++
	}
	out, err := r.exec.Run(context.Background(), in, r.cache)
	if err != nil {
		r.t.Fatal(err)
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

// compare runs g's prompt and checks every vector and greedy id of it.
func compare(t *testing.T, set *weights.Set, g *golden, limit, tie float64) {
	t.Helper()
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
	dir := filepath.Join(fixtures(t), "llm")
	for _, name := range []string{"llama-mha", "llama3-gqa-tied", "smollm2", "falcon3", "mistral"} {
		t.Run(name, func(t *testing.T) {
			set := open(t, filepath.Join(dir, name, "model.gguf"))
			compare(t, set, readGolden(t, filepath.Join(dir, name, "golden.json")), 1e-4, 1e-2)
			if long := filepath.Join(dir, name, "golden-long.json"); isFile(long) {
				compare(t, set, readGolden(t, long), 2e-4, 1e-2)
			}
		})
	}
}

// TestGoldenSmall needs nothing outside the repository.
func TestGoldenSmall(t *testing.T) {
	for _, name := range []string{"smollm2-F32", "smollm2-Q4_K_M", "llama-Q4_K_M"} {
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
	dir := filepath.Join(fixtures(t), "llm", "quant")
	files, err := filepath.Glob(filepath.Join(dir, "llama-*.gguf"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d quantised files, %v", len(files), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "llama-"), ".gguf")
		t.Run(name, func(t *testing.T) { compareQuantised(t, f, filepath.Join(dir, fmt.Sprintf("golden-%s.json", name))) })
	}
	for _, name := range []string{"smollm2-Q4_K_M", "smollm2-Q2_K"} {
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
