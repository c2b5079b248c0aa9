package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/model"
	"quern/formats/gguf"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// long says that what takes long to interpret is asked for, as .ci/steps/ptx.sh does.
var long = os.Getenv("QUERN_TEST_CUDA") != ""

// asked skips what takes long.
func asked(t *testing.T) {
	t.Helper()
	if !long {
		t.Skip("QUERN_TEST_CUDA is not set")
	}
}

// TestSharedFamilies runs the families beside the checkout that a device has every op of, and
// wants the others named for the op that it lacks.
func TestSharedFamilies(t *testing.T) {
	asked(t)
	device := []string{"cohere2", "command-r", "deepseek-v3", "ernie4-5", "falcon-h1", "falcon-mamba", "gemma4-e", "glm4-moe", "granite4-hybrid",
		"hunyuan-dense", "lfm2", "llama4", "mamba", "mamba2", "minimax-m2", "ministral3", "nemotron-h", "olmo3", "qwen25vl-text", "qwen35", "qwen3next", "qwen3vl-text", "rwkv7", "seed-oss"}
	files, err := filepath.Glob(filepath.Join(fixtures.Path(t, "families"), "*", "model.gguf"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			set, err := gguf.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			if m, err := model.Open(set); err != nil || m.Config().Encoder {
				t.Skip("makes embeddings only, or is refused")
			}
			_, m := loadFile(t, file)
			p, spec := program(t, m, 8, 8)
			if err := supported(p); (err == nil) != slices.Contains(device, name) {
				t.Fatalf("lacks %v", err)
			} else if err != nil {
				t.Log(err)
				return
			}
			spec.Type = quant.F32
			compare(t, open(t, fake(75), AllLayers), p, spec, prompts([]int32{3, 1, 4}, []int32{2}, 1), 1e-3)
		})
	}
}

// TestQuantised runs llama.cpp's own files in Q4_0 of families whose ops multiply in ways of their
// own: what differs is that the CPU rounds activations in other groups, and the GPU some not at all.
func TestQuantised(t *testing.T) {
	asked(t)
	for _, name := range []string{"deepseek-v3", "falcon-h1", "gemma4-e", "qwen35"} {
		t.Run(name, func(t *testing.T) {
			_, m := load(t, filepath.Join("families", name+"-Q4_0.gguf"))
			p, spec := program(t, m, 8, 8)
			if err := supported(p); err != nil {
				t.Fatal(err)
			}
			spec.Type = quant.F32
			compare(t, open(t, fake(75), AllLayers), p, spec, prompts([]int32{3, 1, 4}, []int32{2}, 1), 0.15)
		})
	}
}

// TestFixtures runs the model files beside the checkout: every text family and
// every type of weights as files have them. It takes minutes.
func TestFixtures(t *testing.T) {
	asked(t)
	dir := fixtures.Path(t, "llm")
	files, err := filepath.Glob(filepath.Join(dir, "*", "model*.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(dir, "quant", "llama-*.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	if files = append(files, more...); len(files) == 0 {
		t.Fatal("no files")
	}
	for _, file := range files {
		name := strings.TrimPrefix(file, dir+string(filepath.Separator))
		t.Run(name, func(t *testing.T) {
			_, m := loadFile(t, file)
			if m.Config().Encoder {
				t.Skip("makes embeddings only")
			}
			limit := 1e-3 // a cache of F16 turns a difference in the last place into 2⁻¹¹
			if filepath.Base(filepath.Dir(file)) == "quant" && !strings.Contains(name, "F16") && !strings.Contains(name, "F32") {
				limit = 0.15
			}
			p, spec := program(t, m, 8, 8)
			spec.Type = quant.F32
			b := open(t, driver.NewFake(1, gigabyte), AllLayers)
			compare(t, b, p, spec, prompts([]int32{3, 1}, []int32{2}, 1), limit)
		})
	}
}
