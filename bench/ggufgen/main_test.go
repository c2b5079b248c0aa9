package main

import (
	"bytes"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/model"
	"quern/formats/gguf"
	"quern/kernels/quant"
)

// tiny is small enough to write in memory. Its rows are whole K-blocks.
var tiny = shape{
	name: "tiny", layers: 2, width: 256, ff: 512, heads: 8, kvHeads: 2, headDim: 32,
	vocab: 1000, context: 128, ropeBase: 1e4, eps: 1e-5,
}

// TestLatent: quern knows what a file of DeepSeek's shape has.
func TestLatent(t *testing.T) {
	s := tiny
	s.heads, s.kvHeads, s.headDim, s.latent = 4, 1, 96, &latent{rank: 64, nope: 32, rotate: 32, value: 32}
	for _, m := range mixes {
		set, err := gguf.Parse(generate(t, s, m, 1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := model.Open(set); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// TestDrafting: quern knows the drafting layer of a shape that has one, and others are refused.
func TestDrafting(t *testing.T) {
	s := tiny
	s.layers, s.delta, s.drafts = 4, &delta{keyHeads: 2, valueHeads: 2, dim: 32, taps: 4}, true
	lm := opened(t, s)
	if _, err := model.OpenMTP(lm); err != nil || lm.Config().Layers != s.layers {
		t.Errorf("%d layers, %v", lm.Config().Layers, err)
	}
	if err := run([]string{"-shape", "tinyllama-1.1b", "-mtp", "-o", filepath.Join(t.TempDir(), "x")}, io.Discard); err == nil || !strings.Contains(err.Error(), "take -shape qwen3.5-0.8b") {
		t.Error(err)
	}
}

func generate(t *testing.T, s shape, m mix, seed uint64) []byte {
	var b bytes.Buffer
	if err := gguf.Write(&b, metadata(s, m), tensors(s, m, seed)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// opened is quern's model of a generated file.
func opened(t *testing.T, s shape) model.LM {
	t.Helper()
	set, err := gguf.Parse(generate(t, s, mixes[0], 1))
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Open(set)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestWeights decodes every tensor of every mixture and checks that matrices
// have the mean and deviation they should, and norms are about one.
func TestWeights(t *testing.T) {
	narrowRows := tiny
	narrowRows.width, narrowRows.heads, narrowRows.kvHeads, narrowRows.tied = 96, 3, 1, true
	for _, s := range []shape{tiny, narrowRows} {
		for _, m := range mixes {
			set, err := gguf.Parse(generate(t, s, m, 1))
			if err != nil {
				t.Fatal(err)
			}
			for tn := range set.All() {
				x := make([]float32, tn.Elems())
				tn.Type.Layout().Decode(x, tn.Data)
				var sum, squares float64
				for _, v := range x {
					sum += float64(v)
					squares += float64(v) * float64(v)
				}
				n := float64(len(x))
				mean, std := sum/n, math.Sqrt(squares/n-sum/n*sum/n)
				wantMean, wantStd := 0.0, 0.1
				if len(tn.Shape) == 2 {
					wantStd = 1 / math.Sqrt(float64(tn.Shape[1]))
				} else {
					wantMean = 1
				}
				// Block scales make the samples of a block depend on each other.
				// The norms are few.
				if math.Abs(mean-wantMean) > 0.2*wantStd || std < 0.8*wantStd || std > 1.2*wantStd {
					t.Errorf("%s of %d, %s %s: mean %.4f, deviation %.4f; want %.4f, %.4f", m.name, s.width, tn.Name, tn.Type, mean, std, wantMean, wantStd)
				}
			}
		}
	}
}

func TestDeterministic(t *testing.T) {
	a, b, c := generate(t, tiny, mixes[0], 1), generate(t, tiny, mixes[0], 1), generate(t, tiny, mixes[0], 2)
	if !bytes.Equal(a, b) {
		t.Error("the same seed gives other bytes")
	}
	if bytes.Equal(a, c) || len(a) != len(c) {
		t.Errorf("another seed gives the same bytes, or %d for %d", len(c), len(a))
	}
}

// TestMixtures holds the types we choose against files llama.cpp quantised.
func TestMixtures(t *testing.T) {
	dir := fixtures.Path(t, "llm", "quant")
	for _, tt := range []struct {
		file, mix string
		s         shape
	}{
		{"llama-Q4_K_M.gguf", "Q4_K_M", shape{layers: 2, width: 256, ff: 256, heads: 8, kvHeads: 2, headDim: 32, vocab: 512}},
		{"llama-Q8_0.gguf", "Q8_0", shape{layers: 2, width: 256, ff: 256, heads: 8, kvHeads: 2, headDim: 32, vocab: 512}},
		{"llama-Q6_K.gguf", "Q6_K", shape{layers: 2, width: 256, ff: 256, heads: 8, kvHeads: 2, headDim: 32, vocab: 512}},
		{"llama-Q4_0.gguf", "Q4_0", shape{layers: 2, width: 256, ff: 256, heads: 8, kvHeads: 2, headDim: 32, vocab: 512}},
		{"llama-F16.gguf", "F16", shape{layers: 2, width: 256, ff: 256, heads: 8, kvHeads: 2, headDim: 32, vocab: 512}},
		{"other/smollm2-Q4_K_M.gguf", "Q4_K_M", shape{layers: 2, width: 96, ff: 288, heads: 3, kvHeads: 1, headDim: 32, vocab: 512, tied: true}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			set, err := gguf.Open(filepath.Join(dir, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			m, _ := lookup(mixes, tt.mix, func(m mix) string { return m.name })
			ours := tensors(tt.s, m, 1)
			if len(ours) != set.Len() {
				t.Errorf("%d tensors, want %d", len(ours), set.Len())
			}
			for _, o := range ours {
				theirs, ok := set.Tensor(o.Name)
				if !ok {
					t.Errorf("%s: llama.cpp's file has no such tensor", o.Name)
				} else if o.Type != theirs.Type {
					t.Errorf("%s is %s, want %s", o.Name, o.Type, theirs.Type)
				}
			}
		})
	}
}

func TestMoreBits(t *testing.T) {
	var got []int
	for i := range 22 {
		if moreBits(i, 22) {
			got = append(got, i)
		}
	}
	if want := []int{0, 1, 4, 7, 10, 13, 16, 19, 20, 21}; !slices.Equal(got, want) {
		t.Errorf("of 22 layers %v get more bits, want %v", got, want)
	}
}

func TestVocabulary(t *testing.T) {
	seen := map[int]bool{}
	for _, s := range shapes {
		if seen[s.vocab] {
			continue
		}
		seen[s.vocab] = true
		v := vocabulary(s.vocab)
		if len(v.tokens) != s.vocab || len(v.scores) != s.vocab || len(v.types) != s.vocab {
			t.Fatalf("%d tokens, %d scores, %d types; want %d", len(v.tokens), len(v.scores), len(v.types), s.vocab)
		}
		seen := make(map[string]bool, s.vocab)
		for i, tok := range v.tokens {
			if seen[tok] {
				t.Fatalf("%q occurs twice", tok)
			}
			seen[tok] = true
			// A piece is reached through its first letters and the last one.
			if r := []rune(tok); v.types[i] == typeNormal && len(r) > 1 && (!seen[string(r[:len(r)-1])] || !seen[string(r[len(r)-1])]) {
				t.Fatalf("%q comes before its parts", tok)
			}
		}
		if v.tokens[bosID] != "<s>" || v.tokens[eosID] != "</s>" || v.tokens[3] != "<0x00>" || v.tokens[258] != "<0xFF>" {
			t.Errorf("tokens begin %q, bytes end %q", v.tokens[:4], v.tokens[258])
		}
	}
}

// TestRopeFreqs holds the ends of Llama 3's scaling: short waves stay, long
// ones are stretched by the factor.
func TestRopeFreqs(t *testing.T) {
	s, _ := lookup(shapes, "llama-3.2-1b", func(s shape) string { return s.name })
	var b bytes.Buffer
	st := ropeFreqs(s)
	if err := st.Data(&b); err != nil {
		t.Fatal(err)
	}
	f := make([]float32, 32)
	quant.F32.Layout().Decode(f, b.Bytes())
	if f[0] != 1 || f[31] != 32 || !slices.IsSorted(f) || st.Shape[0] != 32 {
		t.Errorf("factors %v of shape %v; want 32 rising from 1 to 32", f, st.Shape)
	}
}

func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	var out bytes.Buffer
	if err := run([]string{"-shape", "smollm2-135m", "-type", "q4_0", "-layers", "1", "-o", path}, &out); err != nil {
		t.Fatal(err)
	}
	set, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if n, _ := set.Meta.Int("llama.block_count"); n != 1 || set.Len() != 11 || !strings.Contains(out.String(), "smollm2-135m Q4_0") {
		t.Errorf("%d layers, %d tensors, said %q; want 1, 11 and the model's name", n, set.Len(), out.String())
	}
	for _, args := range [][]string{
		{}, {"-o", path, "rest"}, {"-shape", "gpt-5", "-o", path}, {"-type", "Q3", "-o", path}, {"-layers", "-1", "-o", path},
		{"-layers", "1", "-o", filepath.Join(path, "under", "a", "file")},
	} {
		if err := run(args, io.Discard); err == nil {
			t.Errorf("run(%q): no error", args)
		}
	}
}

// TestRWKV: a file of RWKV-7's shape is one that quern runs.
func TestRWKV(t *testing.T) {
	s := tiny
	s.heads, s.kvHeads, s.headDim = 0, 0, 0
	s.rwkv = &rwkv{head: 64, decay: 32, rate: 32, draw: 32, gate: 32}
	m := opened(t, s)
	if want := s.layers * s.width * (2 + 64); m.Config().State != want {
		t.Errorf("states of %d numbers, want %d", m.Config().State, want)
	}
}

// TestEncoder: a file of BERT's shape is one that makes vectors.
func TestEncoder(t *testing.T) {
	s := tiny
	s.kvHeads, s.encoder = s.heads, &encoder{poolCLS}
	m := opened(t, s)
	c := m.Config()
	if c.Pooling != model.PoolCLS || c.Context != s.context || c.Hidden != s.width || c.Layers != s.layers {
		t.Errorf("%+v", c)
	}
}
