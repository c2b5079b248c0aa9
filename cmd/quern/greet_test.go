package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/builtin"
)

// The line that a server prints to be tried is tried, for every kind of model.
func TestGreeting(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	testdata, err := filepath.Abs("../../engine/model/testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		models func(t *testing.T, dir string) []string
		env    []string
		intro  string // of the greeting
		answer string // part of what the line prints, or of the file it writes
	}{
		{"chat", func(*testing.T, string) []string { return nil }, nil, "Chat is answered by quern-tiny", "Paris"},
		{"chat, named", func(*testing.T, string) []string { return []string{"quern-tiny"} }, nil, "Chat is answered by quern-tiny", "Paris"},
		{"chat with a key", func(*testing.T, string) []string { return nil }, []string{"QUERN_API_KEY=secret"}, "with a key in QUERN_API_KEY", "Paris"},
		{"two for chat", func(t *testing.T, dir string) []string {
			file := filepath.Join(dir, "a b's.gguf")
			write(t, file, string(builtin.GGUF()))
			return []string{file, "other=" + file}
		}, nil, "Models: a b's, other", "Paris"},
		{"completion", func(t *testing.T, dir string) []string { return []string{fixtures.Path(t, "real", "stories260K.gguf")} }, nil, "Texts are continued by stories260K", `"text_completion"`},
		{"embedding", func(t *testing.T, dir string) []string {
			return []string{filepath.Join(testdata, "bert-mean-Q8_0.gguf")}
		}, nil, "Texts are embedded by bert-mean-Q8_0", `"embedding"`},
		{"rerank", func(t *testing.T, dir string) []string { return []string{reranker(t)} }, nil, "Documents are ranked by reranker", `"relevance_score"`},
		{"transcription", func(t *testing.T, dir string) []string { return []string{fixtures.Path(t, "whisper", "hf_tiny")} }, nil, "Speech is written down by hf_tiny", `"text"`},
		{"transcription, ggml, with a key", func(t *testing.T, dir string) []string {
			return []string{fixtures.Path(t, "whisper", "ggml-tiny-f16.bin")}
		}, []string{"QUERN_API_KEY=secret"}, "Speech is written down by", `"text"`},
		{"two recognisers", func(t *testing.T, dir string) []string {
			file := fixtures.Path(t, "whisper", "hf_tiny")
			return []string{file, "other=" + file}
		}, nil, "Models: hf_tiny, other", `"text"`},
		{"speech", func(t *testing.T, dir string) []string {
			return []string{kokoro(t, dir)}
		}, nil, "Texts are spoken by kokoro", "\xff\xf3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"serve", "--listen", "127.0.0.1:0"}
			for _, m := range tt.models(t, t.TempDir()) {
				args = append(args, "--model", m)
			}
			p := start(t, tt.env, args...)
			lines := p.wait(t, `Try.*:\n((?:  .*\n)+)`)[1]
			has(t, "greeting", p.out.String(), []string{tt.intro})
			if tt.name != "chat" && strings.Contains(tt.name, "transcription") && strings.Contains(lines, "chat") {
				t.Errorf("a recogniser is suggested for chat: %s", lines)
			}
			cmd := exec.CommandContext(t.Context(), shell, "-c", lines)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), append(tt.env, "no_proxy=127.0.0.1", "NO_PROXY=127.0.0.1")...)
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("%s: %v", lines, err)
			}
			if file, err := os.ReadFile(filepath.Join(cmd.Dir, "hello.mp3")); err == nil {
				out = file
			}
			if !strings.Contains(string(out), tt.answer) {
				t.Errorf("%s prints %.300q; want %q in it", lines, out, tt.answer)
			}
			if code := p.end(t); code != 0 {
				t.Errorf("exit code %d: %s", code, p.err.String())
			}
		})
	}
}

// kokoro makes a folder of a Kokoro model below dir, with the voice af_x.
func kokoro(t *testing.T, dir string) string {
	t.Helper()
	from, dir := fixtures.Path(t, "kokoro", "tiny"), filepath.Join(dir, "kokoro")
	for to, file := range map[string]string{"voices/af_x.bin": "voice_tiny.bin", "config.json": "config.json", "kokoro.safetensors": "kokoro-tiny.safetensors"} {
		data, err := os.ReadFile(filepath.Join(from, file))
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, "voices"), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, to), string(data))
	}
	return dir
}

// reranker makes a model that ranks of a BERT: a head of zeros and a tokenizer of
// made-up words.
func reranker(t *testing.T) string {
	t.Helper()
	from := fixtures.Path(t, "llm", "bert-cls", "hf")
	data, err := os.ReadFile(filepath.Join(from, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	type tensor struct {
		Type    string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	n := 8 + int(binary.LittleEndian.Uint64(data))
	var tensors map[string]tensor
	all := map[string]tensor{}
	head, body := data[8:n], data[n:]
	if i := strings.Index(string(head), `"__metadata__"`); i >= 0 {
		var meta map[string]json.RawMessage
		if err := json.Unmarshal(head, &meta); err != nil {
			t.Fatal(err)
		}
		delete(meta, "__metadata__")
		if head, err = json.Marshal(meta); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal(head, &tensors); err != nil {
		t.Fatal(err)
	}
	const hidden = 96
	for name, x := range tensors {
		all["bert."+name] = x
	}
	all["classifier.weight"] = tensor{"F32", []int{1, hidden}, [2]int{len(body), len(body) + 4*hidden}}
	all["classifier.bias"] = tensor{"F32", []int{1}, [2]int{len(body) + 4*hidden, len(body) + 4*hidden + 4}}
	body = append(slices.Clone(body), make([]byte, 4*hidden+4)...)
	if head, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(from, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	words := `"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3`
	for i := 4; i < 320; i++ {
		words += fmt.Sprintf(`,"w%d":%d`, i, i)
	}
	special := `{"id":0,"content":"[PAD]","special":true},{"id":1,"content":"[UNK]","special":true},{"id":2,"content":"[CLS]","special":true},{"id":3,"content":"[SEP]","special":true}`
	dir := filepath.Join(t.TempDir(), "reranker")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"model.safetensors": string(slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head, body)),
		"config.json":       strings.Replace(string(config), `"BertModel"`, `"BertForSequenceClassification"`, 1),
		"tokenizer.json": `{"model":{"type":"WordPiece","vocab":{` + words + `},"unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100},
			"added_tokens":[` + special + `],"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"lowercase":true},
			"pre_tokenizer":{"type":"BertPreTokenizer"},"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},
			"post_processor":{"type":"TemplateProcessing",
			"single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}}],
			"pair":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}},{"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"[SEP]","type_id":1}}],
			"special_tokens":{"[CLS]":{"id":"[CLS]","ids":[2],"tokens":["[CLS]"]},"[SEP]":{"id":"[SEP]","ids":[3],"tokens":["[SEP]"]}}}}`,
		"tokenizer_config.json": `{"tokenizer_class":"BertTokenizer","cls_token":"[CLS]","sep_token":"[SEP]","pad_token":"[PAD]","unk_token":"[UNK]"}`,
	} {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}
