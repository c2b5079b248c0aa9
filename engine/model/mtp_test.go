package model_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/quantize"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// drafters are the models of testdata/made with a layer for multi-token prediction.
var drafters = []string{"glm-4.7-flash", "glm4moe", "qwen35moe"}

// A drafter runs a model with its drafting layer.
type drafter struct {
	t          *testing.T
	main, next graph.Exec
	cache, own graph.Cache
	table      []int32
	width      int
}

func newDrafter(t *testing.T, set *weights.Set) *drafter {
	t.Helper()
	lm, err := model.Open(set)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.OpenMTP(lm)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Fill(); err != nil {
		t.Fatal(err)
	}
	const blocks, size, rows = 12, 16, 128
	be := cpu.Open(2)
	t.Cleanup(func() { be.Close() })
	compile := func(record func(b *graph.Builder) []graph.Value) (graph.Exec, graph.Cache) {
		b := graph.NewBuilder(rows, rows)
		p, err := b.Compile(record(b)...)
		if err != nil {
			t.Fatal(err)
		}
		exec, err := be.Compile(t.Context(), p, graph.Watch{})
		if err != nil {
			t.Fatal(err)
		}
		cache, err := be.NewCache(p.CacheSpec(blocks, size, 1, quant.F32))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { exec.Close(); cache.Close() })
		return exec, cache
	}
	d := &drafter{t: t, width: lm.Config().Hidden}
	d.main, d.cache = compile(func(b *graph.Builder) []graph.Value {
		all := m.Rows(b)
		return []graph.Value{lm.Logits(b, b.Take(all, b.Wanted())), all}
	})
	d.next, d.own = compile(func(b *graph.Builder) []graph.Value {
		made, logits := m.Next(b)
		return []graph.Value{logits, made}
	})
	for i := range int32(blocks) {
		d.table = append(d.table, i)
	}
	return d
}

// run feeds tokens from a position on to one of the two and returns copies of its results, with
// all rows wanted.
func (d *drafter) run(exec graph.Exec, cache graph.Cache, tokens []int32, from int, given []float32) (logits, made []float32) {
	d.t.Helper()
	in := new(graph.Batch)
	in.Sequence(d.table, nil)
	in.State(0)
	for i, id := range tokens {
		in.Row(id, int32(from+i))
		in.Want = append(in.Want, int32(i))
	}
	in.Features = given
	out, err := exec.Run(d.t.Context(), in, cache)
	if err != nil {
		d.t.Fatal(err)
	}
	return slices.Clone(out[0]), slices.Clone(out[1])
}

// TestMTP holds what drafting layers make of a prompt, and of three tokens of their own behind
// it, against the float64 of testdata/make_families.py and make_decoders.py: GGUF and Hugging
// Face form. The model's own logits are as without.
func TestMTP(t *testing.T) {
	for _, name := range drafters {
		at := filepath.Join("testdata", "made", name)
		var g struct {
			golden
			Rows  map[string][]float64 `json:"mtp_pos"`
			Chain [][]float64          `json:"mtp_chain"`
		}
		b, err := os.ReadFile(filepath.Join(at, "golden.json"))
		if err == nil {
			err = json.Unmarshal(b, &g)
		}
		if err != nil || len(g.Rows) != 4 || len(g.Chain) != 3 {
			t.Fatal(name, err, len(g.Rows), len(g.Chain))
		}
		for form, set := range map[string]*weights.Set{"gguf": open(t, filepath.Join(at, "model.gguf")), "hf": openHF(t, filepath.Join(at, "hf"), "")} {
			t.Run(name+"/"+form, func(t *testing.T) {
				limit := 1e-5 + tiled()
				d := newDrafter(t, set)
				logits, made := d.run(d.main, d.cache, g.Prompt, 0, nil)
				n := len(g.Prompt)
				vocab := len(logits) / n
				plain := newRunner(t, set, quant.F32).feed(g.Prompt, int32(n-1))[0]
				if !slices.Equal(plain, logits[(n-1)*vocab:]) {
					t.Error("with the rows of all tokens logits have other bits")
				}
				drafted, last := d.run(d.next, d.own, g.Prompt[1:], 0, made[:(n-1)*d.width])
				for p, want := range byPosition(t, g.Rows) {
					if off := distance(drafted[int(p)*vocab:(int(p)+1)*vocab], want); !(off <= limit) {
						t.Errorf("position %d is off by %.3g of its rms, want at most %.3g", p, off, limit)
					}
				}
				row := drafted[(n-2)*vocab:]
				last = last[(n-2)*d.width:]
				for k, want := range g.Chain {
					if k > 0 {
						row, last = d.run(d.next, d.own, []int32{argmax(row)}, n-2+k, last)
					}
					if off := distance(row, want); !(off <= limit) {
						t.Errorf("token %d of a draft is off by %.3g of its rms, want at most %.3g", k+1, off, limit)
					}
				}
				// In pieces the layer makes the same, to the bit.
				d = newDrafter(t, set)
				var pieces []float32
				for from := 0; from < n-1; {
					to := min(n-1, 2*from+5)
					some, _ := d.run(d.next, d.own, g.Prompt[from+1:to+1], from, made[from*d.width:to*d.width])
					pieces, from = append(pieces, some...), to
				}
				if !slices.Equal(pieces, drafted) {
					t.Error("in pieces the layer gives other bits")
				}
			})
		}
	}
}

// TestMTPFixture: a file with such a layer by llama.cpp's names opens, and runs.
func TestMTPFixture(t *testing.T) {
	set := open(t, filepath.Join(fixtures.Path(t, "families"), "qwen35", "model-mtp.gguf"))
	d := newDrafter(t, set)
	tokens := []int32{5, 9, 33, 2, 80}
	_, made := d.run(d.main, d.cache, tokens, 0, nil)
	if logits, _ := d.run(d.next, d.own, tokens[1:], 0, made[:4*d.width]); len(logits) == 0 || logits[0] != logits[0] {
		t.Errorf("%d logits, %v", len(logits), logits[:min(4, len(logits))])
	}
}

// TestMTPQuantised: a quantised file keeps its drafting layer, and ToGGUF writes it.
func TestMTPQuantised(t *testing.T) {
	for _, name := range drafters {
		set, err := model.ToGGUF(openHF(t, filepath.Join("testdata", "made", name, "hf"), ""))
		if err == nil {
			set, err = quantize.Set(t.Context(), set, "q8_0", 1)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		newDrafter(t, set)
	}
}

// TestMTPRefused: files without such a layer, with one that is not whole, or with more in it than
// is known, are refused by name if it is asked for, and run without.
func TestMTPRefused(t *testing.T) {
	without := func(drop string) func(*weights.Set) {
		return func(set *weights.Set) {
			rest := &weights.Set{Source: set.Source, Meta: set.Meta}
			for w := range set.All() {
				if !strings.Contains(w.Name, drop) {
					if err := rest.Add(w); err != nil {
						t.Fatal(err)
					}
				}
			}
			*set = *rest
		}
	}
	add := func(w *weights.Tensor) func(*weights.Set) {
		w.Type, w.Data = quant.F32, make([]byte, 4*w.Elems())
		return func(set *weights.Set) {
			if err := set.Add(w); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name, file string
		change     func(*weights.Set)
		want       string
		kind       error
	}{
		{"no such architecture", "dots1", nil, "drafting layers (nextn, MTP) of architecture dots1", model.ErrUnsupported},
		{"no such layer", "deepseek-v2-lite", nil, "no drafting layer (nextn, MTP): tensor blk.2.nextn.eh_proj.weight", model.ErrUnsupported},
		{"no product", "glm4moe", without("eh_proj"), "blk.2.nextn.eh_proj.weight", model.ErrUnsupported},
		{"no norm", "glm4moe", without("nextn.hnorm"), "blk.2.nextn.hnorm.weight is missing", model.ErrFormat},
		{"no attention", "qwen35moe", without("blk.3.attn_q."), "blk.3.attn_q.weight is missing", model.ErrFormat},
		{"another shape", "glm4moe", func(set *weights.Set) {
			without("nextn.enorm")(set)
			add(&weights.Tensor{Name: "blk.2.nextn.enorm.weight", Shape: []int{31}})(set)
		}, "has shape [31], want [32]", model.ErrFormat},
		{"more than is known", "glm-4.7-flash", add(&weights.Tensor{Name: "blk.2.indexer.k.weight", Shape: []int{1}}), "blk.2.indexer.k.weight", model.ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := open(t, filepath.Join("testdata", "made", tt.file, "model.gguf"))
			if tt.change != nil {
				tt.change(set)
			}
			lm, err := model.Open(set)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := model.OpenMTP(lm); !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want it refused for %q", err, tt.want)
			}
		})
	}
}

// TestWithoutMTP: what a model that does not draft leaves out is the drafting layer, no more.
func TestWithoutMTP(t *testing.T) {
	for _, name := range drafters {
		set := open(t, filepath.Join("testdata", "made", name, "model.gguf"))
		_, drafts := model.Skipped(set)
		rest := model.WithoutMTP(set)
		if rest.Len() != set.Len()-drafts || drafts == 0 {
			t.Errorf("%s: %d tensors of %d, of which %d draft", name, rest.Len(), set.Len(), drafts)
		}
		if _, err := model.Open(rest); err != nil {
			t.Error(err)
		}
	}
	if set := open(t, "testdata/made/glm4/model.gguf"); model.WithoutMTP(set) != set {
		t.Error("a set without drafting layers is copied")
	}
}
