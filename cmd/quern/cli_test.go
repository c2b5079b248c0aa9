package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"quern/bench/fixtures"
	"quern/engine/builtin"
)

// quern runs a command line in-process, in an empty folder.
func quern(t *testing.T, stdin string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	var out, errs bytes.Buffer
	a := &app{in: strings.NewReader(stdin), out: &out, err: &errs, environ: env}
	code = a.main(t.Context(), args)
	return code, out.String(), errs.String()
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// has wants every part in what was printed.
func has(t *testing.T, what, text string, parts []string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s %q; want %q in it", what, text, part)
		}
	}
}

func TestCommandLine(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "bad.yaml", "listn: x")
	write(t, "override.yaml", "request_timeout_overrides: {/v1/x: 5m}")
	write(t, "template.yaml", "models: [{name: m, path: tiny.gguf, chat_template: '{% if %}'}]")
	write(t, "draft.yaml", "models: [{name: m, path: tiny.gguf, draft: nosuch}]")
	write(t, "text.gguf", "this is no model")
	write(t, "tiny.gguf", string(builtin.GGUF()))
	write(t, "story.txt", strings.Repeat("Once upon a time there was a little fox who lived in a green forest. ", 20))
	write(t, "place.json", `{"type":"object","properties":{"city":{"type":"string","maxLength":8}},"required":["city"],"additionalProperties":false,"vain":1}`)
	write(t, "look.json", `{"properties":{"a":{"pattern":"(?=x)"}}}`)
	for _, tt := range []struct {
		name   string
		args   string
		stdin  string
		env    []string
		code   int
		stdout []string // parts
		stderr []string // parts
	}{
		{"nothing", "", "", nil, 0, []string{"Usage:", "serve", "Examples:"}, nil},
		{"help", "help bench", "", nil, 0, []string{"quern bench MODEL", "--batch", "Compute:"}, nil},
		{"help of serve", "serve --help", "", nil, 0, []string{"Server:", "Models:", "Environment:", "QUERN_API_KEY"}, nil},
		{"help of settings", "help settings", "", nil, 0, []string{"QUERN_CUDA_WGMMA\n", "limits.json_body\n", "(default 16MiB)", "[of serve]"}, nil},
		{"what a command logs", "help run", "", nil, 0, []string{"warn or error (default warn)"}, nil},
		{"unknown command", "serv", "", nil, 2, nil, []string{`unknown command "serv"; did you mean: quern serve` + "\n", "quern --help"}},
		{"a command of others", "chat", "", nil, 2, nil, []string{`unknown command "chat"; did you mean: quern run` + "\n"}},
		{"a file for a command", "tiny.gguf", "", nil, 2, nil, []string{"did you mean: quern run tiny.gguf\n"}},
		{"unknown flag", "serve --thread 3", "", nil, 2, nil, []string{"--thread", "did you mean --threads?", "quern serve --help"}},
		{"a flag of others", "serve --port 3", "", nil, 2, nil, []string{"unknown flag: --port; quern has --listen HOST:PORT\n"}},
		{"a short flag of others", "serve -ngl 99", "", nil, 2, nil, []string{"-ngl; quern has --gpu-layers\n"}},
		{"a flag of others that is a setting", "serve --api-key k", "", nil, 2, nil, []string{"; quern has the variable QUERN_API_KEY, or auth:"}},
		{"a flag that only others have here", "say --port 3", "", nil, 2, nil, []string{"unknown flag: --port\n"}},
		{"a model as flag", "run --model tiny.gguf hello", "", nil, 2, nil, []string{"the model is an argument: quern run [MODEL] [PROMPT...]\n"}},
		{"a prompt as flag", "run -p hello", "", nil, 2, nil, []string{"the prompt is an argument: quern run [MODEL] [PROMPT...]\n"}},
		{"a command of Ollama", "stop llama3.2", "", nil, 2, nil, []string{"unknown command \"stop\"\n"}},
		{"a model as short flag", "bench -m tiny.gguf", "", nil, 2, nil, []string{"the model is an argument: quern bench MODEL"}},
		{"argument where none belongs", "serve model.gguf", "", nil, 2, nil, []string{"takes no arguments", "model.gguf"}},
		{"no file", "inspect", "", nil, 2, nil, []string{"which model? Write: quern inspect MODEL\n"}},
		{"two files", "bench a b", "", nil, 2, nil, []string{"one model is wanted"}},
		{"missing file", "inspect nowhere.gguf", "", nil, 1, nil, []string{"nowhere.gguf"}},
		{"no model file", "inspect text.gguf", "", nil, 1, nil, []string{"text.gguf"}},
		{"flags that exclude each other", "inspect --graph --json text.gguf", "", nil, 2, nil, []string{"graph", "json"}},
		{"bad configuration", "serve --config bad.yaml", "", nil, 2, nil, []string{"bad.yaml:1", `did you mean "listen"?`}},
		{"bad variable", "serve --print-config", "", []string{"QUERN_DEVICE=gpu"}, 2, nil, []string{"QUERN_DEVICE", "use auto or cpu"}},
		{"effective settings", "serve --print-config -t 3", "", []string{"QUERN_LISTEN=:7", "QUERN_LISTN=:8"}, 0,
			[]string{"threads: 3\n", "listen: :7\n"}, []string{"did you mean QUERN_LISTEN?"}},
		{"public without a key", "serve --listen 0.0.0.0:0", "", nil, 2, nil, []string{"QUERN_API_KEY", "--no-auth", "auth: none"}},
		{"everywhere without a key", "serve --listen :0", "", nil, 2, nil, []string{"QUERN_API_KEY"}},
		{"no such address", "serve --listen 127.0.0.1:http-nonsense", "", nil, 2, nil, []string{"listen"}},
		{"bench of nothing", "bench --pp 0 x.gguf", "", nil, 2, nil, []string{"--pp"}},
		{"bench of less than nothing", "bench --depth -1 tiny.gguf", "", nil, 2, nil, []string{"--depth"}},
		{"bench behind tokens", "bench --pp 40 --tg 3 --batch 3 --depth 70 --reps 1 tiny.gguf", "", nil, 0,
			[]string{"prefill pp40", "decode tg3", "both behind 70 tokens", "3 sequences together", "GB/s while decoding"}, nil},
		{"quality without a text", "bench --quality x.gguf", "", nil, 2, nil, []string{"a model and a text file"}},
		{"a reference without quality", "bench x.gguf --against y.gguf", "", nil, 2, nil, []string{"--against has no effect"}},
		{"quality", "bench --quality tiny.gguf story.txt --against tiny.gguf --window 64", "", nil, 0,
			[]string{"perplexity", " ± ", "against", "tiny.gguf", "mean 0.00000", "same first choice  100.00 %"}, nil},
		{"quality as JSON", "bench --quality tiny.gguf story.txt --json --window 64", "", nil, 0, []string{`"model":"tiny.gguf"`, `"window":64`, `"perplexity":`}, nil},
		{"memory", "inspect tiny.gguf", "", nil, 0, []string{"can run it", "llama, makes text", "memory", "KV cache", "for a request of 1024 tokens"}, nil},
		{"bad mixture", "serve --quantize q9", "", nil, 2, nil, []string{"--quantize", `"q9" is not known`, "Q4_K_M"}},
		{"quantised at load", "run --quantize q4_k_m --max-tokens 1 tiny.gguf hello", "", nil, 0, nil, []string{"quantize has no effect", "Q8_0"}},
		{"quantised already", "quantize tiny.gguf x.gguf q4_0", "", nil, 1, nil, []string{"Q8_0 already"}},
		{"quantised inside", "quantize quern-tiny x.gguf q4_0", "", nil, 1, nil, []string{"quern-tiny is part of quern"}},
		{"bad temperature", "run --temperature 3", "", nil, 2, nil, []string{"--temperature must be between 0 and 2"}},
		{"bad max tokens", "run --max-tokens 0", "", nil, 2, nil, []string{"--max-tokens"}},
		{"schema", "run --schema place.json hello there", "", nil, 0, []string{`"city":`}, []string{"place.json: vain: not a keyword"}},
		{"refused schema", "run --schema look.json hello there", "", nil, 1, nil, []string{"look.json#/properties/a/pattern: ", "(keyword pattern)"}},
		{"no schema", "run --schema none.json hello there", "", nil, 2, nil, []string{"--schema", "none.json"}},
		{"empty prompt", "run", " \n", nil, 2, nil, []string{"the prompt is empty"}},
		{"tokens of standard input", "tokenize --ids --no-special -", "a", nil, 0, []string{"\n"}, nil},
		{"a prompt on standard input", "run --max-tokens 1 quern-tiny -", " \n", nil, 2, nil, []string{"the prompt is empty"}},
		{"no ids", "tokenize --decode x1", "", nil, 2, nil, []string{`"x1" is no token id`}},
		{"a language of SSML", `phonemize <speak xml:lang="es">hola</speak>`, "", nil, 0, []string{"ˈola\n"}, nil},
		{"ids of another model", "tokenize --decode 735 1766 15339", "", nil, 1, nil, []string{"15339 is no token of the model, whose are 0 to 3071"}},
		{"settings of something", "help settings threads", "", nil, 2, nil, []string{`takes no more words, got "threads"`}},
		{"threads", "serve --threads 100000", "", nil, 2, nil, []string{"--threads: must be from 0 to 1024, got 100000"}},
		{"no configuration", "serve --config none.yaml", "", nil, 2, nil, []string{"--config: none.yaml"}},
		{"no configuration, environment", "list", "", []string{"QUERN_CONFIG=none.yaml"}, 2, nil, []string{"QUERN_CONFIG: none.yaml"}},
		{"bad reference", "serve --model hub:x", "", nil, 2, nil, []string{"--model: ", "has no owner"}},
		{"bad port", "serve --listen 127.0.0.1:99999", "", nil, 2, nil, []string{"invalid port", "from 0 to 65535"}},
		{"not our address", "serve --no-auth --listen 192.0.2.1:0", "", nil, 1, nil, []string{"192.0.2.1:0 is no address of this machine", "--listen"}},
		{"no folder", "serve --models none", "", nil, 1, nil, []string{"model folder: none"}},
		{"a file for a folder", "serve --models tiny.gguf", "", nil, 1, nil, []string{"tiny.gguf is a file"}},
		{"one name twice", "serve --model tiny.gguf --model tiny.gguf", "", nil, 1, nil, []string{`two models are called "tiny"`, "NAME=FILE"}},
		{"no endpoint", "serve --config override.yaml --listen 127.0.0.1:0", "", nil, 1, nil, []string{"request_timeout_overrides", `no endpoint "/v1/x"`}},
		{"no adapter", "run quern-tiny --adapter none.gguf hello", "", nil, 2, nil, []string{`--adapter: no file "none.gguf"`}},
		{"adapter of no model", "run --adapter . hello", "", nil, 2, nil, []string{"--adapter is of one model; name its file"}},
		{"no file", "run none.gguf hello", "", nil, 1, nil, []string{`no file "none.gguf"`, "there is quern-tiny"}},
		{"no hub", "run o/n hello", "", nil, 1, nil, []string{"hub:o/n"}},
		{"no number", "run --temperature hot", "", nil, 2, nil, []string{`--temperature: "hot" is not a number`}},
		{"bad template", "run --config template.yaml m hello", "", nil, 2, nil, []string{"template.yaml: models[0]: chat_template: ", "malformed chat template", "line 1"}},
		{"no draft", "serve --config draft.yaml --listen 127.0.0.1:0", "", nil, 2, nil, []string{`model "m": draft "nosuch" is neither a model nor a file`}},
		{"a model that was not pulled", "bench hub:o/n", "", nil, 1, nil, []string{"quern pull o/n"}},
		{"nothing to say", "say -", " ", nil, 2, nil, []string{"the text is empty"}},
		{"nothing to say", "say", " ", nil, 2, nil, []string{"the text is empty"}},
		{"no voice model", "say --model tiny.gguf hello", "", nil, 1, nil, []string{"cannot be used for speech"}},
		{"nothing to hear", "transcribe", "", nil, 2, nil, []string{"which file?"}},
		{"no recogniser", "transcribe bad.yaml", "", nil, 2, nil, []string{"--model hub:"}},
		{"subtitles of what is not over", "transcribe --live --format srt -", "", nil, 2, nil, []string{"--format text or json, not srt"}},
		{"two live sources", "transcribe --live story.txt bad.yaml", "", nil, 2, nil, []string{"one source at a time"}},
		{"words of what is not over", "transcribe --live --words --format json -", "", nil, 2, nil, []string{"--words has no effect"}},
		{"a step of a file", "transcribe --step 2 story.txt", "", nil, 2, nil, []string{"--step has no effect: it is for --live"}},
		{"a long step", "transcribe --live --step 99 -", "", nil, 2, nil, []string{"from 0.1 to 30 seconds"}},
		{"unknown samples", "transcribe --raw pcm_1 story.txt", "", nil, 2, nil, []string{"--raw must be one of pcm_8000"}},
		{"no detector", "transcribe --vad none.bin story.txt", "", nil, 2, nil, []string{"--vad: none.bin"}},
		{"a model for a detector", "serve --vad tiny.gguf", "", nil, 2, nil, []string{"--vad: ", "Silero detector"}},
		{"almost the help of settings", "help setings", "", nil, 2, nil, []string{"did you mean: quern help settings\n"}},
		{"no such help", "help serv", "", nil, 2, nil, []string{"did you mean: quern serve"}},
		{"help", "help say", "", nil, 0, []string{"quern say [TEXT...]"}, nil},
		{"completion", "completion bash", "", nil, 0, []string{"bash completion"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := quern(t, tt.stdin, tt.env, strings.Fields(tt.args)...)
			if code != tt.code {
				t.Errorf("exit code %d; want %d", code, tt.code)
			}
			has(t, "stdout", stdout, tt.stdout)
			has(t, "stderr", stderr, tt.stderr)
			if tt.code == 0 && len(tt.stderr) == 0 && stderr != "" {
				t.Errorf("stderr %q; want nothing", stderr)
			}
		})
	}
}

// TestSayToPipe: a WAV file on standard output has a true header, though the writer cannot go
// back there, and a long one does not need memory for it.
func TestSayToPipe(t *testing.T) {
	code, wav, stderr := quern(t, "Hello there.", nil, "say", "-v", "alloy", "-o", "-")
	if code != 0 || len(wav) < 1000 || binary.LittleEndian.Uint32([]byte(wav[4:8])) != uint32(len(wav)-8) {
		t.Errorf("exit code %d, %d bytes, header % x, %s", code, len(wav), wav[:min(44, len(wav))], stderr)
	}
	if runtime.GOOS == "windows" {
		return
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	code, wav, stderr = quern(t, strings.Repeat("Hello there. ", 50), nil, "say", "-v", "alloy", "-o", "-")
	if code != 1 || wav != "" || !strings.Contains(stderr, "no such file or directory") {
		t.Errorf("without a folder for temporary files: exit code %d, %d bytes, %s", code, len(wav), stderr)
	}
}

func TestVersion(t *testing.T) {
	code, text, _ := quern(t, "", nil, "version")
	if code != 0 || !strings.HasPrefix(text, "quern ") || !strings.Contains(text, "CPU level ") {
		t.Errorf("exit code %d, %q", code, text)
	}
	for _, flag := range []string{"--version", "-v"} {
		if code, same, errs := quern(t, "", nil, flag); code != 0 || same != text || errs != "" {
			t.Errorf("%s: exit code %d, %q, %q; want what \"quern version\" prints", flag, code, same, errs)
		}
	}
	_, text, _ = quern(t, "", nil, "version", "--json")
	var b build
	if err := json.Unmarshal([]byte(text), &b); err != nil || b.CPULevel == "" || !strings.HasPrefix(b.Go, "go") {
		t.Errorf("%q: %+v, %v", text, b, err)
	}
}

// Every command has a description, an example where it takes arguments, and
// flags that say what they take.
func TestHelpIsComplete(t *testing.T) {
	a := &app{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	for _, c := range a.root().Commands() {
		if c.Short == "" {
			t.Errorf("%s has no description", c.Name())
		}
		if c.Name() != "version" && c.Name() != "completion" && c.Name() != "help" && (c.Example == "" || c.Long == "") {
			t.Errorf("%s has no example or no long description", c.Name())
		}
		var b strings.Builder
		b.WriteString(c.Long + "\n")
		if err := writeUsage(&b, c); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%s: a line of %d columns: %s", c.Name(), n, line)
			}
			if strings.Contains(line, "  --") && strings.Contains(line, " string ") {
				t.Errorf("%s: the flag's value has no name: %s", c.Name(), line)
			}
		}
	}
}

// A PyTorch checkpoint is shown; of those Kokoro's can be run.
func TestInspectCheckpoint(t *testing.T) {
	for _, tt := range []struct {
		file string
		want []string
	}{
		{"../../formats/torch/testdata/voice_tiny.pt", []string{"PyTorch", "510 × 1 × 16", "cannot run it", "runs only Kokoro's"}},
		{"../../engine/tts/kokoro/testdata/kokoro-tiny.safetensors", []string{"SafeTensors", "can run it"}},
	} {
		code, text, errs := quern(t, "", nil, "inspect", filepath.FromSlash(tt.file))
		for _, part := range tt.want {
			if code != 0 || !strings.Contains(text, part) {
				t.Errorf("inspect %s: exit code %d, %s, %q not in\n%.500s", tt.file, code, errs, part, text)
			}
		}
	}
	t.Run("Kokoro", func(t *testing.T) {
		code, text, errs := quern(t, "", nil, "inspect", filepath.Join(fixtures.Path(t, "kokoro", "tiny"), "kokoro-tiny.pth"))
		if code != 0 || !strings.Contains(text, "PyTorch") || strings.Contains(text, "cannot run it") || !strings.Contains(text, "bert.embeddings.word_embeddings.weight") {
			t.Errorf("exit code %d, %s\n%.500s", code, errs, text)
		}
	})
}

// What a model makes of text is said beside its architecture.
func TestInspectEncoders(t *testing.T) {
	families := fixtures.Path(t, "families")
	for name, want := range map[string]string{"jina-bert-v2": "jina-bert-v2, makes a vector of 32 numbers", "embeddinggemma": "gemma-embedding, makes a vector of 32 numbers"} {
		code, text, errs := quern(t, "", nil, "inspect", filepath.Join(families, name, "model.gguf"))
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("exit code %d, %s, %q not in\n%.500s", code, errs, want, text)
		}
	}
}

func TestInspect(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "m.gguf")
	write(t, file, string(tinyGGUF()))
	code, text, errs := quern(t, "", nil, "inspect", filepath.Join("..", "..", "engine", "model", "testdata", "families", "olmo3-Q4_0.gguf"))
	if want := "a sequence keeps 12 kB in 3 layers that see a window of 16\n"; code != 0 || !strings.Contains(text, want) {
		t.Errorf("%d %s, want %q in\n%.600s", code, errs, want, text)
	}
	code, text, errs = quern(t, "", nil, "inspect", file)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, part := range []string{"GGUF", "cannot run it", `"no-such-architecture"`, `"line\nbreak"`, "… 9 in all]", "2 × 32", "F32", "256"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q not in\n%s", part, text)
		}
	}
	code, text, _ = quern(t, "", nil, "inspect", "--json", file)
	var r struct {
		Runnable bool
		Reason   string
		Weights  int
		Metadata map[string]any
		Tensors  []struct {
			Name, Type string
			Shape      []int
			Bytes      int
		}
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, text)
	}
	if r.Runnable || r.Reason == "" || r.Weights != 64 || len(r.Tensors) != 1 || r.Tensors[0].Bytes != 256 {
		t.Errorf("%+v", r)
	}
	if list, ok := r.Metadata["test.list"].([]any); !ok || len(list) != 9 {
		t.Errorf("metadata %v", r.Metadata)
	}
	if nan, ok := r.Metadata["test.nan"].(string); !ok || nan != "NaN" {
		t.Errorf("NaN is %v", r.Metadata["test.nan"])
	}
	if code, _, errs := quern(t, "", nil, "inspect", "--graph", file); code != 1 || !strings.Contains(errs, "no-such-architecture") {
		t.Errorf("graph: exit code %d, %q", code, errs)
	}
}

// What a text model's file has beside the text model is counted.
func TestInspectSkipped(t *testing.T) {
	dir := filepath.Join("..", "..", "engine", "model", "testdata", "made", "qwen35moe", "hf")
	code, text, errs := quern(t, "", nil, "inspect", dir)
	if code != 0 || !strings.Contains(text, "1 tensors that see or hear") || !strings.Contains(text, "19 tensors of layers that draft (nextn, MTP): left out but with speculation: mtp, which takes ") {
		t.Errorf("exit code %d: %s\n%.500s", code, errs, text)
	}
	code, text, errs = quern(t, "", nil, "inspect", "--json", dir)
	var r struct {
		Senses int   `json:"skipped_tensors"`
		Drafts int   `json:"drafting_tensors"`
		MTP    int64 `json:"mtp_bytes"`
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil || code != 0 || r.Senses != 1 || r.Drafts != 19 || r.MTP < 20000 {
		t.Errorf("exit code %d, %v: %s\n%+v", code, err, errs, r)
	}
}

// tinyGGUF is a valid file of one tensor and an architecture that is not supported.
func tinyGGUF() []byte {
	var b bytes.Buffer
	le := func(v uint64, n int) {
		for range n {
			b.WriteByte(byte(v))
			v >>= 8
		}
	}
	str := func(s string) { le(uint64(len(s)), 8); b.WriteString(s) }
	b.WriteString("GGUF")
	le(3, 4)
	le(1, 8) // tensors
	le(4, 8) // metadata
	str("general.architecture")
	le(8, 4)
	str("no-such-architecture")
	str("test.text")
	le(8, 4)
	str("line\nbreak")
	str("test.list")
	le(9, 4)
	le(4, 4)
	le(9, 8)
	for i := range 9 {
		le(uint64(i), 4)
	}
	str("test.nan")
	le(6, 4)
	le(0x7fc00000, 4)
	str("some.weight")
	le(2, 4)
	le(32, 8) // innermost first in the file
	le(2, 8)
	le(0, 4) // F32
	le(0, 8)
	for b.Len()%32 != 0 {
		b.WriteByte(0)
	}
	b.Write(make([]byte, 256))
	return b.Bytes()
}

// What is said of other programs' flags is true: the flags are there.
func TestOtherFlags(t *testing.T) {
	known := map[string]bool{}
	for _, c := range (&app{}).root().Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	}
	for name, words := range otherFlags {
		flag, isFlag := strings.CutPrefix(words, "--")
		flag, _, _ = strings.Cut(flag, " ")
		if known[name] || isFlag && !known[flag] {
			t.Errorf("%s: %s", name, words)
		}
	}
}
