package model_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/model"
	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// Every file quern accepts is refused once it has a key that quern does not read.
func TestUnreadIsRefused(t *testing.T) {
	files, err := filepath.Glob("testdata/*.gguf")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files in testdata, %v", len(files), err)
	}
	made, err := filepath.Glob("testdata/made/*/model.gguf")
	if err != nil || len(made) < 14 {
		t.Fatalf("%d files in testdata/made, %v", len(made), err)
	}
	eachUnread(t, append(append(files, made...), "../builtin/quern-tiny.gguf"))
	t.Run("shared", func(t *testing.T) {
		llm := fixtures.Path(t, "llm")
		var files []string
		for _, pattern := range []string{"*/model*.gguf", "quant/*.gguf", "quant/other/*.gguf"} {
			list, err := filepath.Glob(filepath.Join(llm, filepath.FromSlash(pattern)))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, list...)
		}
		if len(files) < 20 {
			t.Fatalf("%d files", len(files))
		}
		eachUnread(t, files)
	})
}

// understood are the models of testdata/made that read a key that others do not.
var understood = map[string][]string{
	"ssm.state_size":                   {"granitehybrid", "jamba", "nemotron_h", "qwen35"},
	"rope.scaling.yarn_log_multiplier": {"deepseek", "glm-4.7-flash", "mistral4"},
	"attention.clamp_kqv":              {"olmo/", "mpt/"},
}

func eachUnread(t *testing.T, files []string) {
	vector := func(name string) *weights.Tensor {
		return &weights.Tensor{Name: name, Type: quant.F32, Shape: []int{1}, Data: make([]byte, 4)}
	}
	for _, path := range files {
		t.Run(filepath.ToSlash(path), func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			open := func(change func(set *weights.Set, arch string)) error {
				set, err := gguf.Parse(b)
				if err != nil {
					t.Fatal(err)
				}
				change(set, set.Meta.String("general.architecture"))
				_, err = model.Open(set)
				return err
			}
			add := func(name string) func(*weights.Set, string) {
				return func(set *weights.Set, _ string) { _ = set.Add(vector(name)) }
			}
			key := func(name string, v weights.Value) func(*weights.Set, string) {
				return func(set *weights.Set, arch string) { set.Meta.Set(arch+"."+name, v) }
			}
			for _, tt := range []struct {
				name   string
				change func(*weights.Set, string)
			}{
				{"", func(*weights.Set, string) {}},
				{"blk.0.attn_new.weight", add("blk.0.attn_new.weight")},
				{"blk.1.attn_q.scale", add("blk.1.attn_q.scale")},
				{"blk.77.attn_q.weight", add("blk.77.attn_q.weight")}, // of a layer the model has not
				{"dense_4.weight", add("dense_4.weight")},
				{"attention.new", key("attention.new", int64(1))},
				{"rope.new.factor", key("rope.new.factor", 1.5)},
				{"new", key("new", "x")},
				{"ssm.state_size", key("ssm.state_size", int64(16))},
				{"rope.scaling.yarn_log_multiplier", key("rope.scaling.yarn_log_multiplier", 0.1)},
				{"attention.clamp_kqv", key("attention.clamp_kqv", 8.0)},
			} {
				if slices.ContainsFunc(understood[tt.name], func(name string) bool { return strings.Contains(path, "/made/"+name) }) {
					continue
				}
				switch err := open(tt.change); {
				case tt.name == "" && err != nil:
					t.Errorf("the file as it is: %v", err)
				case tt.name != "" && (!errors.Is(err, model.ErrUnsupported) || !strings.Contains(err.Error(), tt.name)):
					t.Errorf("with %s: %v, want it refused by name", tt.name, err)
				}
			}
			for name, change := range map[string]func(*weights.Set, string){
				"of another prefix":    func(set *weights.Set, _ string) { set.Meta.Set("quantize.imatrix.file", "x") },
				"vision tensor":        add("v.blk.0.attn_q.weight"),
				"projector":            add("mm.0.weight"),
				"old frequencies":      add("blk.0.attn_rot_embd.weight"),
				"vision key":           key("vision.block_count", int64(2)),
				"vocabulary":           key("vocab_size", int64(320)),
				"labels":               key("classifier.output_labels", []string{"a"}),
				"no groups":            key("expert_group_count", int64(0)),
				"no clamp":             key("attention.clamp_kqv", 0.0),
				"no drafting":          key("nextn_predict_layers", int64(0)),
				"scaling switched off": key("rope.scaling.type", "none"),
			} {
				if name == "scaling switched off" && strings.Contains(path, "llama-bias-linear") || name == "labels" && strings.Contains(path, "qwen3-scores") || name == "no drafting" && hasMTP(path) {
					continue
				}
				if err := open(change); err != nil {
					t.Errorf("%s: %v, want it accepted", name, err)
				}
			}
		})
	}
}

// hasMTP reports whether a file of ours has a layer that drafts.
func hasMTP(path string) bool {
	return slices.ContainsFunc([]string{"glm-4.7-flash", "glm4moe", "qwen35moe"}, func(name string) bool { return strings.Contains(path, "/"+name+"/") })
}

// Keys that an architecture knows are read, not passed over.
func TestWindowsAndRotation(t *testing.T) {
	for _, tt := range []struct {
		name, file, key string
		value           weights.Value
		want            string // of the refusal, "" when it is accepted
	}{
		{"pattern as computed", "gpt-oss", "gpt-oss.attention.sliding_window_pattern", []bool{true, false}, ""},
		{"pattern as a number", "gpt-oss", "gpt-oss.attention.sliding_window_pattern", int64(2), ""},
		{"another pattern", "gpt-oss", "gpt-oss.attention.sliding_window_pattern", []bool{false, true}, ""},
		{"another number", "gpt-oss", "gpt-oss.attention.sliding_window_pattern", int64(4), ""},
		{"a pattern of numbers", "gpt-oss", "gpt-oss.attention.sliding_window_pattern", []int64{1, 0}, "sliding_window_pattern is neither"},
		{"a pattern that is too short", "gpt-oss", "gpt-oss.attention.sliding_window_pattern", []bool{true}, "sliding_window_pattern has 1 entries for 2 layers"},
		{"a pattern of no layers", "gpt-oss", "gpt-oss.attention.sliding_window_pattern", int64(0), "sliding_window_pattern is 0"},
		{"OLMo 3 with a number as a text", "olmo2", "olmo2.attention.sliding_window", "16", "sliding_window is missing or no integer"},
		{"one base", "gpt-oss", "gpt-oss.rope.freq_base_swa", 1000.0, ""},
		{"two bases", "gpt-oss", "gpt-oss.rope.freq_base_swa", 500.0, "freq_base_swa is 500"},
		{"a window where there is none", "qwen3moe", "qwen3moe.attention.sliding_window", int64(8), "qwen3moe.attention.sliding_window"},
		{"Mistral's window", "llama-Q4_K_M", "llama.attention.sliding_window", int64(8), ""},
		{"granite without rotation", "granite", "granite.rope.scaling.finetuned", false, "finetuned is false"},
		{"sigmoid routing", "mixtral-Q8_0", "llama.expert_gating_func", int64(2), "expert_gating_func is 2"},
		{"softmax routing", "mixtral-Q8_0", "llama.expert_gating_func", int64(1), ""},
		{"weights as they are", "mixtral-Q8_0", "llama.expert_weights_norm", false, "expert_weights_norm is false"},
		{"experts of a dense model", "olmo2", "olmo2.expert_count", int64(4), "olmo2.expert_count"},
		{"causal encoder", "nomic-bert", "nomic-bert.attention.causal", true, "attention.causal is true"},
		{"longrope of another kind", "granite", "granite.rope.scaling.type", "longrope", ""},
		{"layout", "falcon-40b", "falcon.tensor_data_layout", "jploski", ""},
		{"another layout", "falcon-40b", "falcon.tensor_data_layout", "new", "tensor_data_layout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := open(t, "testdata/"+tt.file+".gguf")
			set.Meta.Set(tt.key, tt.value)
			_, err := model.Open(set)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (!errors.Is(err, model.ErrUnsupported) && !errors.Is(err, model.ErrFormat) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// A factor without a type is linear, as in files older than the type; and the
// number a file gives for yarn's magnitude is the magnitude.
func TestRopeScalingKeys(t *testing.T) {
	set := open(t, "testdata/granite.gguf")
	set.Meta.Set("granite.rope.scaling.factor", 4.0)
	m, err := model.Open(set)
	if err != nil {
		t.Fatal(err)
	}
	if r := m.Config().Rope; r.Scaling != "linear" || r.Factor != 4 {
		t.Errorf("scaling %q by %g, want linear by 4", r.Scaling, r.Factor)
	}
	set = open(t, "testdata/gpt-oss.gguf")
	set.Meta.Set("gpt-oss.rope.scaling.yarn_attn_factor", 1.5)
	if m, err = model.Open(set); err != nil {
		t.Fatal(err)
	}
	r := m.Config().Rope
	if got := r.AttnFactor * (1 + 0.1*math.Log(r.Factor)); math.Abs(got-1.5) > 1e-9 {
		t.Errorf("magnitude %g, want 1.5", got)
	}
}

// Layers that only draft come last, and the model's output is that of the
// layers before them.
func TestDraftingLayersAreLeftOut(t *testing.T) {
	set := open(t, "testdata/qwen3moe.gguf")
	set.Meta.Set("qwen3moe.block_count", int64(3))
	set.Meta.Set("qwen3moe.nextn_predict_layers", int64(1))
	for _, name := range []string{"blk.2.nextn.eh_proj.weight", "blk.2.attn_norm.weight"} {
		if err := set.Add(&weights.Tensor{Name: name, Type: quant.F32, Shape: []int{1}, Data: make([]byte, 4)}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := model.Open(set)
	if err != nil {
		t.Fatal(err)
	}
	if m.Config().Layers != 2 {
		t.Errorf("%d layers, want 2", m.Config().Layers)
	}
	set = open(t, "testdata/qwen3moe.gguf")
	if err := set.Add(&weights.Tensor{Name: "blk.1.nextn.eh_proj.weight", Type: quant.F32, Shape: []int{1}, Data: make([]byte, 4)}); err != nil {
		t.Fatal(err)
	}
	if _, err := model.Open(set); !errors.Is(err, model.ErrUnsupported) || !strings.Contains(err.Error(), "nextn") {
		t.Errorf("drafting within a layer of the model: %v, want it refused", err)
	}
}

// A window that a GGUF file of Mistral names is obeyed: the numbers are those of
// the SafeTensors file with that window.
func TestMistralWindow(t *testing.T) {
	dir := fixtures.Path(t, "llm", "mistral")
	set := open(t, filepath.Join(dir, "model.gguf"))
	set.Meta.Set("llama.attention.sliding_window", int64(16))
	compareLogits(t, set, readGolden(t, filepath.Join(dir, "golden-swa16-f64.json")), 1e-4)
}
