package engine

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/engine/token"
	"quern/formats/gguf"
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
		b := w.Data
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
				b = append(b, w.Data[from*n:(from+1)*n]...)
			}
		}
		s := k % 2
		k++
		if headers[s] == nil {
			headers[s] = map[string]entry{}
		}
		headers[s][name] = entry{"F32", w.Shape, [2]int{len(data[s]), len(data[s]) + len(b)}}
		data[s] = append(data[s], b...)
		index["weight_map"][name] = shard(s)
	}
	write := func(name string, v any) {
		b, ok := v.([]byte)
		if !ok {
			if b, err = json.Marshal(v); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
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
		"model_type": "llama", "hidden_size": hidden, "intermediate_size": number("feed_forward_length"), "num_hidden_layers": number("block_count"),
		"num_attention_heads": heads, "num_key_value_heads": number("attention.head_count_kv"), "max_position_embeddings": number("context_length"),
		"rms_norm_eps": eps, "rope_theta": base, "vocab_size": 320, "tie_word_embeddings": true,
	})
	vocab := map[string]int{}
	for i, text := range set.Meta.Strings("tokenizer.ggml.tokens") {
		vocab[text] = i
	}
	write("tokenizer.json", map[string]any{
		"model":          map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}, "unk_token": "<unk>", "byte_fallback": true, "fuse_unk": true},
		"added_tokens":   []map[string]any{{"id": 0, "content": "<unk>", "special": true}, {"id": 1, "content": "<s>", "special": true}, {"id": 2, "content": "</s>", "special": true}},
		"pre_tokenizer":  map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false},
		"decoder":        map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"},
		"post_processor": nil,
	})
	write("tokenizer_config.json", map[string]any{"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": true, "bos_token": "<s>", "eos_token": map[string]any{"content": "</s>"},
		"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"})
	write("generation_config.json", map[string]any{"eos_token_id": []int{2}})
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
	e := open(t, Options{Models: []ModelOptions{{Name: "gguf", Path: small}, {Path: dir}}, Dirs: []string{models}})
	var ids []string
	for _, m := range e.Models() {
		ids = append(ids, m.ID)
		if m.ID != "gguf" && (m.Format != "safetensors" || m.Kind != KindChat || m.Quantization != "F32") {
			t.Errorf("%+v, want a chat model of F32 in safetensors", m)
		}
	}
	if want := []string{"gguf", "Tiny-0.1B", "owner/Tiny-0.1B"}; !slices.Equal(ids, want) {
		t.Fatalf("models %q, want %q", ids, want)
	}
	prompt := Prompt{Tokens: []token.ID{1, 270, 280, 290, 300, 310}}
	var texts []string
	for _, id := range ids {
		res, err := gather(t.Context(), e, GenerateRequest{Model: id, Prompt: prompt, MaxTokens: 24, IgnoreEOS: true})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, res.text[0])
	}
	if texts[0] == "" || texts[1] != texts[0] || texts[2] != texts[0] {
		t.Errorf("replies %q, want the same three times", texts)
	}
	if _, err := gather(t.Context(), e, GenerateRequest{Model: "Tiny-0.1B", Prompt: user("hi there"), MaxTokens: 2}); err != nil {
		t.Errorf("chat: %v", err)
	}
}
