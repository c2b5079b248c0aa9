package hub

import (
	"errors"
	"strings"
	"testing"
)

func TestPick(t *testing.T) {
	gguf := []string{"README.md", "config.json", "x-Q8_0.gguf", "x-Q4_K_M.gguf", "x-UD-Q4_K_XL.gguf", "x-IQ4_XS.gguf", "x-f16.gguf", "mmproj-x-f16.gguf", "x.mmproj-Q8_0.gguf", "x.imatrix.gguf"}
	split := []string{"Q8_0/x-Q8_0-00001-of-00002.gguf", "Q8_0/x-Q8_0-00002-of-00002.gguf", "BF16/x-00001-of-00003.gguf", "BF16/x-00003-of-00003.gguf"}
	st := []string{".gitattributes", "README.md", "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
		"model.safetensors.index.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "consolidated.safetensors", "pytorch_model.bin"}
	minilm := []string{"config.json", "model.safetensors", "pytorch_model.bin", "1_Pooling/config.json", "modules.json", "vocab.txt", "onnx/model.onnx",
		"onnx/model_O1.onnx", "onnx/model_qint8_avx512.onnx", "openvino/x.bin"}
	onnx := []string{"config.json", "tokenizer.json", "onnx/encoder_model.onnx", "onnx/decoder_model_merged.onnx", "onnx/decoder_model_merged.onnx_data",
		"onnx/encoder_model_q4.onnx", "onnx/decoder_model_merged_q4.onnx", "onnx/model.txt"}
	kokoro := []string{"config.json", "kokoro-v1_0.pth", "voices/af.pt", "voices/am.pt", "samples/x.wav", "VOICES.md"}
	kokoroONNX := []string{"config.json", "tokenizer.json", "onnx/model.onnx", "onnx/model_q8f16.onnx", "voices/af.bin"}
	whisper := []string{"ggml-tiny.bin", "ggml-base.bin", "ggml-base-q5_1.bin", "ggml-base.en.bin", "README.md"}
	parakeet := []string{".gitattributes", "README.md", "config.json", "decoder_joint-model.int8.onnx", "decoder_joint-model.onnx", "encoder-model.int8.onnx", "encoder-model.onnx", "encoder-model.onnx.data", "nemo128.onnx", "vocab.txt"}
	sherpa := []string{"README.md", "decoder.onnx", "encoder.onnx", "encoder.weights", "encoder.int8.onnx", "joiner.onnx", "joiner.int8.onnx", "tokens.txt", "test_wavs/0.wav"}
	canary := []string{"decoder.int8.onnx", "encoder.int8.onnx", "tokens.txt", "test_wavs/en.wav"}
	ctc := []string{"config.json", "model.int8.onnx", "model.onnx", "vocab.txt"}
	for _, tt := range []struct {
		name   string
		ref    string
		files  []string
		want   string // paths, the weights last
		chosen bool
		err    error
		says   string
	}{
		{"the usual quant", "o/n", gguf, "x-Q4_K_M.gguf", true, nil, ""},
		{"a quant by name", "o/n:q8_0", gguf, "x-Q8_0.gguf", false, nil, ""},
		{"fp16", "o/n:F16", gguf, "x-f16.gguf", false, nil, ""},
		{"a dynamic quant without its prefix", "o/n:Q4_K_XL", gguf, "x-UD-Q4_K_XL.gguf", false, nil, ""},
		{"no such quant", "o/n:Q2_K", gguf, "", false, ErrNoModel, "there is IQ4_XS, Q4_K_M"},
		{"a file", "o/n/x-IQ4_XS.gguf", gguf, "x-IQ4_XS.gguf", false, nil, ""},
		{"a file of no kind", "o/n/mmproj-x-f16.gguf", gguf, "mmproj-x-f16.gguf", false, nil, ""},
		{"no such file", "o/n/y.gguf", gguf, "", false, ErrNoModel, "x-Q8_0.gguf"},
		{"a split model, whole ones only", "o/n", split, "Q8_0/x-Q8_0-00001-of-00002.gguf Q8_0/x-Q8_0-00002-of-00002.gguf", false, nil, ""},
		{"a split model by a part", "o/n/Q8_0/x-Q8_0-00002-of-00002.gguf", split, "Q8_0/x-Q8_0-00001-of-00002.gguf Q8_0/x-Q8_0-00002-of-00002.gguf", false, nil, ""},
		{"a part is missing", "o/n:bf16", split, "", false, ErrNoModel, "2 of the 3 parts"},
		{"safetensors", "o/n", st, "config.json generation_config.json tokenizer.json tokenizer_config.json chat_template.jinja model.safetensors.index.json " +
			"model-00001-of-00002.safetensors model-00002-of-00002.safetensors", false, nil, ""},
		{"an encoder", "o/n", minilm, "config.json 1_Pooling/config.json modules.json vocab.txt model.safetensors", false, nil, ""},
		{"an encoder with layers behind", "o/n", []string{"config.json", "model.safetensors", "modules.json", "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors", "2_Dense/pytorch_model.bin"},
			"config.json modules.json 1_Pooling/config.json 2_Dense/config.json 2_Dense/model.safetensors model.safetensors", false, nil, ""},
		{"ONNX of the same", "o/n/onnx/model.onnx", minilm, "config.json 1_Pooling/config.json modules.json vocab.txt onnx/model.onnx", false, nil, ""},
		{"ONNX, both halves and the data first", "o/n", onnx, "config.json tokenizer.json onnx/decoder_model_merged.onnx_data onnx/decoder_model_merged.onnx onnx/encoder_model.onnx", true, nil, ""},
		{"ONNX by type", "o/n:q4", onnx, "config.json tokenizer.json onnx/decoder_model_merged_q4.onnx onnx/encoder_model_q4.onnx", false, nil, ""},
		{"Kokoro", "o/n", kokoro, "config.json voices/af.pt voices/am.pt kokoro-v1_0.pth", false, nil, ""},
		{"Kokoro as ONNX", "o/n", kokoroONNX, "", false, ErrNoModel, "pull hexgrad/Kokoro-82M"},
		{"Kokoro as ONNX by type", "o/n:q8f16", kokoroONNX, "", false, ErrNoModel, "pull hexgrad/Kokoro-82M"},
		{"a graph of Kokoro", "o/n/onnx/model.onnx", kokoroONNX, "onnx/model.onnx", false, nil, ""},
		{"Kokoro as both", "o/n", append([]string{"kokoro.pth"}, kokoroONNX...), "config.json tokenizer.json voices/af.bin kokoro.pth", false, nil, ""},
		{"Parakeet", "o/n", parakeet, "config.json vocab.txt encoder-model.onnx.data decoder_joint-model.onnx encoder-model.onnx", true, nil, ""},
		{"Parakeet in 8 bits", "o/n:int8", parakeet, "config.json vocab.txt decoder_joint-model.int8.onnx encoder-model.int8.onnx", false, nil, ""},
		{"Parakeet by a file", "o/n/encoder-model.int8.onnx", parakeet, "config.json vocab.txt decoder_joint-model.int8.onnx encoder-model.int8.onnx", false, nil, ""},
		{"Parakeet of sherpa-onnx", "o/n", sherpa, "tokens.txt encoder.weights decoder.onnx encoder.onnx joiner.onnx", true, nil, ""},
		{"in 8 bits, as far as there are", "o/n:int8", sherpa, "tokens.txt encoder.int8.onnx joiner.int8.onnx decoder.onnx", false, nil, ""},
		{"Canary", "o/n", canary, "tokens.txt decoder.int8.onnx encoder.int8.onnx", false, nil, ""},
		{"CTC", "o/n", ctc, "config.json vocab.txt model.onnx", true, nil, ""},
		{"CTC in 8 bits", "o/n:INT8", ctc, "config.json vocab.txt model.int8.onnx", false, nil, ""},
		{"Whisper, which one?", "o/n", whisper, "", false, ErrAmbiguous, "ggml-tiny.bin"},
		{"Whisper by file", "o/n/ggml-base.en.bin", whisper, "ggml-base.en.bin", false, nil, ""},
		{"Whisper by type", "o/n:q5_1", whisper, "ggml-base-q5_1.bin", false, nil, ""},
		{"two models of one quant", "o/n:Q4_0", []string{"a-Q4_0.gguf", "b-Q4_0.gguf"}, "", false, ErrAmbiguous, "o/n/FILE"},
		{"pickles only", "o/n", []string{"config.json", "pytorch_model.bin"}, "", false, ErrNoModel, "GGUF"},
		{"an adapter", "o/n", []string{"config.json", "adapter_model.safetensors"}, "", false, ErrNoModel, ""},
		{"nothing", "o/n", nil, "", false, ErrNoModel, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var files []File
			for _, f := range tt.files {
				files = append(files, File{Path: f, Size: 1})
			}
			v, chosen, err := pick(ref(t, tt.ref), files)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v; want %v", err, tt.err)
			}
			if err != nil {
				if !strings.Contains(err.Error(), tt.says) {
					t.Errorf("error %q; want %q in it", err, tt.says)
				}
				return
			}
			if got := strings.Join(paths(v.all()), " "); got != tt.want || chosen != tt.chosen {
				t.Errorf("got  %s, %v\nwant %s, %v", got, chosen, tt.want, tt.chosen)
			}
		})
	}
}

func TestLabels(t *testing.T) {
	for _, tt := range []struct{ stem, rest, label string }{
		{"Llama-3.2-1B-Instruct-Q4_K_M", "Llama-3.2-1B-Instruct", "Q4_K_M"},
		{"llama-2-7b.Q5_K_S", "llama-2-7b", "Q5_K_S"},
		{"qwen2.5-0.5b-instruct-q4_0", "qwen2.5-0.5b-instruct", "Q4_0"},
		{"x-UD-IQ2_XXS", "x", "UD-IQ2_XXS"},
		{"phi-fp16", "phi", "F16"},
		{"gpt-oss-20b-mxfp4", "gpt-oss-20b", "MXFP4"},
		{"a/UD-Q4_K_XL/b", "a/UD-Q4_K_XL/b", "UD-Q4_K_XL"},
		{"model_q8_0", "model", "Q8_0"},
		{"ggml-base.en-q5_1", "ggml-base.en", "Q5_1"},
		{"Qwen3-Q", "Qwen3-Q", ""},
		{"", "", ""},
	} {
		if rest, label := ggmlLabel(tt.stem); rest != tt.rest || label != tt.label {
			t.Errorf("ggmlLabel(%q) = %q, %q; want %q, %q", tt.stem, rest, label, tt.rest, tt.label)
		}
	}
}

// Whatever names a hub sends, picking does not panic and takes only what was
// offered.
func FuzzPick(f *testing.F) {
	f.Add("o/n", "a-Q4_0.gguf\nconfig.json\nmodel.safetensors\n../x.gguf")
	f.Add("o/n:q8_0", "onnx/model_q8.onnx\nonnx/model_q8.onnx_data\nvoices/a.bin")
	f.Add("o/n/x-00001-of-00002.gguf", "x-00001-of-00002.gguf\nx-00002-of-00002.gguf\n-00001-of-00000.gguf")
	f.Fuzz(func(t *testing.T, text, names string) {
		r, err := ParseRef(text)
		if err != nil {
			return
		}
		in := info{SHA: testCommit}
		for name := range strings.Lines(names) {
			in.Siblings = append(in.Siblings, sibling{Name: strings.TrimSuffix(name, "\n")})
		}
		offered := map[string]bool{}
		for _, f := range in.files() {
			if !validPath(f.Path) {
				t.Fatalf("%q was let through", f.Path)
			}
			offered[f.Path] = true
		}
		v, _, err := pick(r, in.files())
		if err != nil {
			if !errors.Is(err, ErrNoModel) && !errors.Is(err, ErrAmbiguous) {
				t.Fatal(err)
			}
			return
		}
		taken := map[string]bool{}
		for _, f := range v.all() {
			if !offered[f.Path] || taken[f.Path] {
				t.Fatalf("%q taken out of %q", f.Path, names)
			}
			taken[f.Path] = true
		}
	})
}
