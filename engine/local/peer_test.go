package local

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine"
	"quern/engine/builtin"
	"quern/engine/measure"
	"quern/engine/quantize"
	"quern/engine/sample"
	"quern/engine/token"
	"quern/formats/gguf"
)

// TestPeer lets llama.cpp continue a prompt with files quern has quantised,
// half of them from SafeTensors, and expects our own continuation. It needs
// PEER_DIR, a folder whose node_modules has node-llama-cpp; see bench/peers.
func TestPeer(t *testing.T) {
	if os.Getenv("PEER_DIR") == "" {
		t.Skip("no PEER_DIR")
	}
	dir := t.TempDir()
	tiny := filepath.Join(dir, "tiny.gguf")
	if err := os.WriteFile(tiny, builtin.GGUF(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, source, prompt string }{
		{"quern-tiny", tiny, "Once upon a time there was a fox."},
		{"stories260K", filepath.Join("..", "..", "..", "shared", "fixtures", "real", "stories260K.gguf"), "Once upon a time"},
	} {
		if _, err := os.Stat(tt.source); err != nil {
			t.Logf("%s: no shared/fixtures beside the checkout", tt.name)
			continue
		}
		set, err := gguf.Open(tt.source)
		if err != nil {
			t.Fatal(err)
		}
		hf := filepath.Join(dir, tt.name)
		if err := os.Mkdir(hf, 0o777); err != nil {
			t.Fatal(err)
		}
		publish(t, hf, set)
		set.Close()
		for _, typ := range quantize.Types() {
			t.Run(tt.name+"/"+typ, func(t *testing.T) {
				sameAsPeer(t, hf, typ, tt.prompt)
			})
		}
	}
}

// sameAsPeer quantises a model and compares what quern and llama.cpp make of the
// file.
func sameAsPeer(t *testing.T, source, typ, prompt string) {
	t.Helper()
	target := filepath.Join(t.TempDir(), "q.gguf")
	if err := quantize.File(t.Context(), quantize.Options{Source: source, Target: target, Type: typ}); err != nil {
		t.Fatal(err)
	}
	const n = 40
	text, err := exec.CommandContext(t.Context(), "node", filepath.Join("..", "..", "bench", "peers", "greedy.mjs"), target, prompt, strconv.Itoa(n)).Output()
	if err != nil {
		t.Fatalf("%v %s", err, text)
	}
	var peer struct {
		Tokens, IDs []token.ID
		Text        string
	}
	if err := json.Unmarshal(text, &peer); err != nil {
		t.Fatal(err)
	}
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "q", Path: target}}})
	in, err := e.Tokenize(t.Context(), "q", engine.TokenizeRequest{Prompt: engine.Prompt{Text: prompt}, AddSpecial: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(in.Tokens, peer.Tokens) {
		t.Errorf("prompt %v, want %v", in.Tokens, peer.Tokens)
	}
	// Given llama.cpp's reply token by token, quern wants the same token
	// next wherever llama.cpp's is not as good as another: the two round
	// activations to eight bits in different places.
	res, err := gather(t.Context(), e, "q", engine.GenerateRequest{Prompt: engine.Prompt{Tokens: slices.Concat(peer.Tokens, peer.IDs)}, NoTokens: true,
		PromptLogprobs: true, Sample: sample.Params{Logprobs: true, Top: 2}})
	if err != nil {
		t.Fatal(err)
	}
	same, near := 0, 0.0
	for i, l := range res.events[1].Prompt[len(peer.Tokens):] {
		if l.ID != peer.IDs[i] {
			t.Fatalf("entry %d is of token %d, want %d", i, l.ID, peer.IDs[i])
		}
		if l.Top[0].ID == l.ID {
			same++
		}
		near = max(near, float64(l.Top[0].Logprob-l.Logprob))
	}
	limit := 0.5
	if mix, err := quantize.Find(typ); err != nil || mix.Most.Layout().Block == 1 {
		limit = 0.05
	}
	if near > limit || len(peer.IDs) < n {
		t.Errorf("of %d tokens of llama.cpp's reply %d are quern's choice too, the farthest is %.3f behind; reply %q", len(peer.IDs), same, near, peer.Text)
	}
	t.Logf("%d of %d tokens the same, farthest %.3f behind", same, len(peer.IDs), near)
}

// TestPeerFamilies does the same for the team's fixtures, which have random
// weights: every family whose SafeTensors files become a GGUF file.
func TestPeerFamilies(t *testing.T) {
	if os.Getenv("PEER_DIR") == "" {
		t.Skip("no PEER_DIR")
	}
	dirs, err := filepath.Glob(filepath.Join(fixtures.Path(t, "llm"), "*", "hf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range dirs {
		twin, err := gguf.Open(filepath.Join(filepath.Dir(from), "model.gguf"))
		if err != nil {
			t.Fatal(err)
		}
		defer twin.Close()
		if twin.Meta.String("general.architecture") == "bert" || filepath.Base(filepath.Dir(from)) == "qwen3-embedding" {
			continue // no text to compare
		}
		for _, typ := range []string{"F32", "Q8_0", "Q4_K_M"} {
			t.Run(filepath.Base(filepath.Dir(from))+"/"+typ, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
				writeTokenizer(t, dir, twin)
				sameAsPeer(t, dir, typ, "the quick brown fox")
			})
		}
	}
}

// TestPeerQuality holds files quern has quantised against those of llama.cpp's
// own quantiser: on texts of a trained model's own, predictions must be no
// farther from those of the original. It needs PEER_DIR, python3 and Linux.
func TestPeerQuality(t *testing.T) {
	if os.Getenv("PEER_DIR") == "" {
		t.Skip("no PEER_DIR")
	}
	dir := t.TempDir()
	original, err := gguf.Parse(builtin.GGUF())
	if err != nil {
		t.Fatal(err)
	}
	hf, plain := filepath.Join(dir, "hf"), filepath.Join(dir, "f32.gguf")
	if err := os.Mkdir(hf, 0o777); err != nil {
		t.Fatal(err)
	}
	publish(t, hf, original)
	if err := quantize.File(t.Context(), quantize.Options{Source: hf, Target: plain, Type: "F32"}); err != nil {
		t.Fatal(err)
	}
	e := open(t, engine.Options{})
	var text strings.Builder
	for seed := range uint64(24) {
		res, err := gather(t.Context(), e, "", engine.GenerateRequest{Prompt: engine.Prompt{Text: "Once upon a time"}, MaxTokens: 500, IgnoreEOS: true, Sample: sample.Params{Temperature: 1, Seed: seed}})
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("Once upon a time" + res.text[0] + "\n\n")
	}
	for _, typ := range []string{"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M"} {
		t.Run(typ, func(t *testing.T) {
			ours, theirs := filepath.Join(t.TempDir(), "ours.gguf"), filepath.Join(t.TempDir(), "theirs.gguf")
			if err := quantize.File(t.Context(), quantize.Options{Source: plain, Target: ours, Type: typ}); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), "python3", filepath.Join("..", "..", "bench", "peers", "quantize.py"), plain, theirs, strconv.Itoa(int(fileType(t, typ)))).CombinedOutput()
			if err != nil {
				t.Fatalf("%v %s", err, out)
			}
			var kl [2]float64
			for i, path := range []string{ours, theirs} {
				r, err := measure.Quality(t.Context(), measure.QualityOptions{Path: path, Against: plain, Text: text.String()})
				if err != nil {
					t.Fatal(err)
				}
				d := r.Reference
				kl[i] = d.MeanKL
				t.Logf("%s: perplexity %.4f ± %.4f (original %.4f), KL mean %.5f, 99%% %.4f, max %.3f, same top %.2f%%, %d tokens",
					filepath.Base(path), r.Perplexity, r.Error, d.Perplexity, d.MeanKL, d.KL99, d.MaxKL, 100*d.SameTop, r.Scored)
			}
			// A few thousand tokens: a twentieth is chance.
			if kl[0] > kl[1]*1.05 {
				t.Errorf("mean KL divergence %.5f, llama.cpp's file has %.5f", kl[0], kl[1])
			}
		})
	}
}

// fileType is the number of a mixture in GGUF files.
func fileType(t *testing.T, name string) int64 {
	t.Helper()
	mix, err := quantize.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return mix.FileType
}
