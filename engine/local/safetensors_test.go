package local

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/builtin"
	"quern/engine/token"
	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// asHuggingFace writes the small model into dir as Hugging Face publishes
// models: two shards with an index, config.json, tokenizer.json.
func asHuggingFace(t *testing.T, dir string) {
	t.Helper()
	set, err := gguf.Open(small)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	publish(t, dir, set)
}

// publish writes a model of llama's architecture, whatever its number types, as
// F32.
func publish(t *testing.T, dir string, set *weights.Set) {
	t.Helper()
	publishAs(t, dir, set, nil)
}

// publishAs is publish with another quantization_config. With one the matrices
// of layers are F8_E4M3 with a scale for every 128 × 128.
func publishAs(t *testing.T, dir string, set *weights.Set, quantization any) {
	t.Helper()
	number := func(key string) int {
		n, ok := set.Meta.Int("llama." + key)
		if !ok {
			t.Fatalf("no %s", key)
		}
		return int(n)
	}
	heads, hidden := number("attention.head_count"), number("embedding_length")
	names := strings.NewReplacer("blk.", "model.layers.", "attn_norm", "input_layernorm", "ffn_norm", "post_attention_layernorm",
		"attn_output", "self_attn.o_proj", "attn_", "self_attn.", "ffn_gate", "mlp.gate_proj",
		"ffn_up", "mlp.up_proj", "ffn_down", "mlp.down_proj", "token_embd", "model.embed_tokens", "output_norm", "model.norm", "output.", "lm_head.")
	type entry struct {
		Dtype   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	var headers [2]map[string]entry
	var data [2][]byte
	index := map[string]map[string]string{"weight_map": {}}
	shard := func(i int) string { return fmt.Sprintf("model-%05d-of-00002.safetensors", i+1) }
	k := 0
	for w := range set.All() {
		name := names.Replace(w.Name)
		x := make([]float32, w.Elems())
		w.Type.Layout().Decode(x, w.Data)
		data32 := make([]byte, 4*len(x))
		quant.F32.Layout().Encode(data32, x)
		b := data32
		for _, p := range []string{"q", "k", "v"} {
			name = strings.Replace(name, "self_attn."+p+".", "self_attn."+p+"_proj.", 1)
		}
		if strings.Contains(w.Name, "attn_q.") || strings.Contains(w.Name, "attn_k.") {
			// From neighbouring pairs back to halves.
			dim := hidden / heads
			n := len(b) / w.Shape[0]
			b = nil
			for r := range w.Shape[0] {
				head, i := r/dim, r%dim
				from := head*dim + 2*(i%(dim/2)) + i/(dim/2)
				b = append(b, data32[from*n:(from+1)*n]...)
			}
		}
		s := k % 2
		k++
		if headers[s] == nil {
			headers[s] = map[string]entry{}
		}
		add := func(name, dtype string, shape []int, b []byte) {
			headers[s][name] = entry{dtype, shape, [2]int{len(data[s]), len(data[s]) + len(b)}}
			data[s] = append(data[s], b...)
			index["weight_map"][name] = shard(s)
		}
		if quantization != nil && len(w.Shape) == 2 && strings.HasPrefix(w.Name, "blk.") {
			eight, scales, blocks := eightBits(b, w.Shape)
			add(name+"_scale_inv", "F32", blocks, scales)
			add(name, "F8_E4M3", w.Shape, eight)
			continue
		}
		add(name, "F32", w.Shape, b)
	}
	write := func(name string, v any) { writeJSON(t, dir, name, v) }
	for s := range headers {
		h, err := json.Marshal(headers[s])
		if err != nil {
			t.Fatal(err)
		}
		write(shard(s), slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(h))), h, data[s]))
	}
	write("model.safetensors.index.json", index)
	eps, _ := set.Meta.Lookup("llama.attention.layer_norm_rms_epsilon")
	base, _ := set.Meta.Lookup("llama.rope.freq_base")
	write("config.json", map[string]any{
		"quantization_config": quantization,
		"model_type":          "llama", "hidden_size": hidden, "intermediate_size": number("feed_forward_length"), "num_hidden_layers": number("block_count"),
		"num_attention_heads": heads, "num_key_value_heads": number("attention.head_count_kv"), "max_position_embeddings": number("context_length"),
		"rms_norm_eps": eps, "rope_theta": base, "vocab_size": len(set.Meta.Strings("tokenizer.ggml.tokens")), "tie_word_embeddings": true,
	})
	writeTokenizer(t, dir, set)
}

// eightBits rounds F32 to F8_E4M3 with a scale for every 128 × 128, so that the
// largest number of each becomes 448.
func eightBits(b []byte, shape []int) (eight, scales []byte, blocks []int) {
	const side = 128
	x := make([]float32, len(b)/4)
	quant.F32.Layout().Decode(x, b)
	rows, cols := shape[0], shape[1]
	blocks = []int{(rows + side - 1) / side, (cols + side - 1) / side}
	eight = make([]byte, len(x))
	s := make([]float32, blocks[0]*blocks[1])
	for i, v := range x {
		at := i/cols/side*blocks[1] + i%cols/side
		s[at] = max(s[at], float32(math.Abs(float64(v)))/448)
	}
	values := make([]float64, 127) // without a sign, e·8+m: they grow
	for q := range values {
		values[q] = math.Ldexp(float64(q&7), -9)
		if q > 7 {
			values[q] = math.Ldexp(float64(8+(q&7)), q>>3-10)
		}
	}
	for i, v := range x {
		a := math.Abs(float64(v / s[i/cols/side*blocks[1]+i%cols/side]))
		q, _ := slices.BinarySearch(values, a)
		if q == len(values) || q > 0 && a-values[q-1] < values[q]-a {
			q--
		}
		if eight[i] = byte(q); v < 0 {
			eight[i] |= 128
		}
	}
	scales = make([]byte, 4*len(s))
	quant.F32.Layout().Encode(scales, s)
	return eight, scales, blocks
}

// writeTokenizer writes the tokenizer of a GGUF file as Hugging Face does.
func writeTokenizer(t *testing.T, dir string, set *weights.Set) {
	t.Helper()
	write := func(name string, v any) { writeJSON(t, dir, name, v) }
	vocab := map[string]int{}
	texts := set.Meta.Strings("tokenizer.ggml.tokens")
	for i, text := range texts {
		// The fixtures have pieces with characters that are no tokens, which only
		// SentencePiece itself would find.
		if strings.HasPrefix(text, "▁") && len(text) > len("▁") && !slices.Contains(texts, text[len("▁"):len("▁")+1]) && set.Meta.String("tokenizer.ggml.model") == "llama" {
			text = fmt.Sprintf("[unused%d]", i)
		}
		vocab[text] = i
	}
	if set.Meta.String("tokenizer.ggml.model") == "gpt2" { // with the pre-tokenizer smollm
		var added []map[string]any
		for i, k := range set.Meta.Ints("tokenizer.ggml.token_type") {
			if k == int64(token.Control) {
				added = append(added, map[string]any{"id": i, "content": set.Meta.Strings("tokenizer.ggml.tokens")[i], "special": true})
			}
		}
		write("tokenizer.json", map[string]any{
			"model": map[string]any{"type": "BPE", "vocab": vocab, "merges": set.Meta.Strings("tokenizer.ggml.merges")}, "added_tokens": added,
			"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{
				map[string]any{"type": "Digits", "individual_digits": true}, map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}}},
			"decoder": map[string]any{"type": "ByteLevel"},
		})
		write("tokenizer_config.json", map[string]any{"bos_token": "<|endoftext|>", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
			"chat_template": set.Meta.String("tokenizer.chat_template")})
		return
	}
	write("tokenizer.json", map[string]any{
		"model":          map[string]any{"type": "BPE", "vocab": vocab, "merges": mergesOf(set), "unk_token": "<unk>", "byte_fallback": true, "fuse_unk": true},
		"added_tokens":   []map[string]any{{"id": 0, "content": "<unk>", "special": true}, {"id": 1, "content": "<s>", "special": true}, {"id": 2, "content": "</s>", "special": true}},
		"pre_tokenizer":  map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false},
		"decoder":        map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"},
		"post_processor": nil,
	})
	write("tokenizer_config.json", map[string]any{"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": true, "bos_token": "<s>", "eos_token": map[string]any{"content": "</s>"},
		"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"})
	write("generation_config.json", map[string]any{"eos_token_id": []int{2}})
}

// writeJSON writes v, or bytes as they are.
func writeJSON(t *testing.T, dir, name string, v any) {
	t.Helper()
	b, ok := v.([]byte)
	if !ok {
		var err error
		if b, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// mergesOf spells out a SentencePiece vocabulary as converters to tokenizer.json
// do: every way to make a token of two others, best tokens first.
func mergesOf(set *weights.Set) []string {
	texts, scores := set.Meta.Strings("tokenizer.ggml.tokens"), set.Meta.Floats("tokenizer.ggml.scores")
	known := map[string]bool{}
	order := make([]int, len(texts))
	for i, text := range texts {
		known[text], order[i] = true, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	merges := []string{}
	for _, i := range order {
		for at := range texts[i] {
			if l, r := texts[i][:at], texts[i][at:]; known[l] && known[r] {
				merges = append(merges, l+" "+r)
			}
		}
	}
	return merges
}

// A model in eight bits answers as before, also when it becomes four when it is
// loaded.
func TestEightBits(t *testing.T) {
	original, err := gguf.Parse(builtin.GGUF())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	publishAs(t, dir, original, map[string]any{"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": []int{128, 128}})
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "eight", Path: dir}, {Name: "quantised", Path: dir, Quantize: "q8_0"}}})
	for id, quantization := range map[string]string{"eight": "BF16", "quantised": "Q8_0"} {
		for prompt, want := range map[string]string{"What is the capital of France?": "Paris", "What is 2 + 2?": "4"} {
			res, err := gather(t.Context(), e, id, engine.GenerateRequest{Prompt: user(prompt), MaxTokens: 40})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(res.text[0], want) {
				t.Errorf("%s answers %q with %q, want %q in it", id, prompt, res.text[0], want)
			}
		}
		if m, err := e.described(id, engine.KindChat); err != nil || m.Quantization != quantization || m.Format != "safetensors" {
			t.Errorf("%+v, %v; want %s", m, err, quantization)
		}
	}
}

// A directory of SafeTensors is one model of a folder, and its tokens are
// those of the GGUF file with the same weights.
func TestSafeTensorsDirectory(t *testing.T) {
	models := t.TempDir()
	dir := filepath.Join(models, "owner", "Tiny-0.1B")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	asHuggingFace(t, dir)
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "gguf", Path: small}, {Path: dir}}, Dirs: []string{models}})
	var ids []string
	for _, m := range texts(e) {
		ids = append(ids, m.ID)
		if m.ID != "gguf" && (m.Format != "safetensors" || m.Kind != engine.KindChat || m.Quantization != "F32") {
			t.Errorf("%+v, want a chat model of F32 in safetensors", m)
		}
	}
	if want := []string{"gguf", "Tiny-0.1B", "owner/Tiny-0.1B"}; !slices.Equal(ids, want) {
		t.Fatalf("models %q, want %q", ids, want)
	}
	prompt := engine.Prompt{Tokens: []token.ID{1, 270, 280, 290, 300, 310}}
	var texts []string
	for _, id := range ids {
		res, err := gather(t.Context(), e, id, engine.GenerateRequest{Prompt: prompt, MaxTokens: 24, IgnoreEOS: true})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, res.text[0])
	}
	if texts[0] == "" || texts[1] != texts[0] || texts[2] != texts[0] {
		t.Errorf("replies %q, want the same three times", texts)
	}
	if _, err := gather(t.Context(), e, "Tiny-0.1B", engine.GenerateRequest{Prompt: user("hi there"), MaxTokens: 2}); err != nil {
		t.Errorf("chat: %v", err)
	}
}
