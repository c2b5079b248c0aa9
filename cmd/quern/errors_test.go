package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine"
	"quern/engine/builtin"
)

// Whatever goes wrong is said once, in one line, without what files hold.
func TestErrors(t *testing.T) {
	whisper := ""
	stories := ""
	t.Run("stories", func(t *testing.T) { stories = fixtures.Path(t, "real", "stories260K.gguf") })
	t.Run("whisper", func(t *testing.T) { whisper = fixtures.Path(t, "whisper", "ggml-tiny-f16.bin") })
	t.Chdir(t.TempDir())
	write(t, "tiny.gguf", string(builtin.GGUF()))
	write(t, "cut.gguf", string(builtin.GGUF()[:3000]))
	write(t, "secret.txt", "password: hunter2\nroot:x:0:0\n")
	write(t, "secret.json", `{"password": "hunter2"}`)
	write(t, "binary", "\x00\x01hunter2\xff\xfe")
	write(t, "cut.wav", "RIFF\x24\x00\x00\x00WAVEfmt \x10\x00hunter2")
	write(t, "empty", "")
	write(t, "auth1.yaml", "auth: hunter2")
	write(t, "auth2.yaml", "auth: [hunter2]")
	write(t, "auth3.yaml", "auth: [{name: a, key: [hunter2]}]")
	write(t, "auth4.yaml", "auth: [{name: a, sha256: hunter2}]")
	write(t, "listen.yaml", "listen: [hunter2]")
	write(t, "broken.yaml", "listen: [hunter2")
	write(t, "threads.yaml", "threads: four")
	if err := os.Mkdir("dir", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		code int
		want string // the whole message, or its end after "…"
	}{
		{"inspect secret.txt", 1, "malformed model file: secret.txt is a text file, not a model"},
		{"inspect secret.json", 1, "…not a model; it may be a server's error or a model's configuration"},
		{"inspect binary", 1, "malformed model file: binary is no model file of a known kind"},
		{"inspect dir", 1, "malformed model file: dir holds no model file"},
		{"inspect cut.gguf", 1, "…the file is incomplete or damaged"},
		{"inspect none", 1, `no file "none" and no model of that name; there is quern-tiny, quern-formant`},
		{"inspect", 2, "which model? Write: quern inspect MODEL"},
		{"inspect a b", 2, `one model is wanted, and "b" is one too many`},
		{"bench secret.txt", 1, "malformed model file: secret.txt is a text file, not a model"},
		{"bench --quality tiny.gguf none.txt", 1, "none.txt: no such file or directory"},
		{"bench --quality tiny.gguf dir", 1, "dir: is a directory"},
		{"bench --quality --reps 1 tiny.gguf empty", 2, "--reps has no effect: --quality measures no speed"},
		{"bench --window 64 tiny.gguf", 2, "--window has no effect: it belongs to --quality"},
		{"quantize none.gguf x.gguf q8_0", 1, `no file "none.gguf" and no model of that name; there is quern-tiny, quern-formant`},
		{"quantize secret.txt x.gguf q8_0", 1, "malformed model file: secret.txt is a text file, not a model"},
		{"quantize WHISPER x.gguf q8_0", 1, "quantize writes text models, and WHISPER is for: quern transcribe --model WHISPER"},
		{"run-onnx none.onnx", 1, "none.onnx: no such file or directory"},
		{"run-onnx secret.txt", 1, "malformed model file: secret.txt is no ONNX model"},
		{"run secret.txt hi", 1, `model "secret": malformed model file: secret.txt is a text file, not a model`},
		{"run --cache-type fp8 hi", 1, `model "quern-tiny" cannot be loaded: a KV cache of F8_E4M3 is not supported; use F16, BF16, F32, Q8_0 or Q4_0`},
		{"run --gpu-layers 3 hi", 2, "--gpu-layers has no effect: models run on the CPU"},
		{"run --models dir tiny.gguf hi", 2, "--models has no effect: tiny.gguf is a model of its own"},
		{"run --config secret.txt hi", 2, "…"},
		{"run --config binary hi", 2, "…"},
		{"run --config auth1.yaml hi", 2, "auth1.yaml:1: auth: want none or a list of keys, got text"},
		{"run --config auth2.yaml hi", 2, "auth2.yaml:1: auth[0]: want keys and values, got text"},
		{"run --config auth3.yaml hi", 2, "auth3.yaml:1: auth[0].key: want text, got a list"},
		{"run --config auth4.yaml hi", 2, `auth4.yaml: auth[0]: key "a": sha256 is not 64 hexadecimal digits`},
		{"run --config listen.yaml hi", 2, "listen.yaml:1: listen: want text, got a list"},
		{"run --config broken.yaml hi", 2, "…"},
		{"run --config threads.yaml hi", 2, `threads.yaml:1: threads: want a whole number, got "four"`},
		{"run --config none.yaml hi", 2, "--config: none.yaml: no such file or directory"},
		{"run --config dir hi", 2, "--config: dir: is a directory"},
		{"serve secret.txt", 2, `serve takes no arguments, got "secret.txt"; a model is named with --model secret.txt`},
		{"serve --models none", 1, "model folder: none: no such file or directory"},
		{"serve --vad secret.txt", 2, "--vad: malformed model file: secret.txt is a text file, not a model"},
		{"serve --vad none", 2, "--vad: none: no such file or directory"},
		{"serve --model quern-tinny", 2, `--model: no file "quern-tinny", and no model of that name in the configuration; did you mean "quern-tiny"?`},
		{"serve --model o/n", 2, `--model: no file "o/n", and no model of that name in the configuration; a model of the hub is called hub:o/n`},
		{"pull https://hub.example/o/n", 2, "not a model reference: it is a web address: write OWNER/NAME, OWNER/NAME:QUANT or OWNER/NAME/FILE, and @REVISION after it if wanted"},
		{"list x", 2, `list takes no arguments, got "x"`},
		{"pull", 2, "which model? Write OWNER/NAME, OWNER/NAME:QUANT or OWNER/NAME/FILE"},
		{"rm", 2, "which model? Write OWNER/NAME, OWNER/NAME:QUANT or OWNER/NAME/FILE"},
		{"say --voice x hi", 2, `--voice: there is no voice "x"; there is af_bella, af_sarah, af_nicole, af_sky, am_adam, am_michael, bf_emma, bf_isabella, bm_george, bm_lewis`},
		{"say --voice af_bella+x hi", 2, `--voice: voice "af_bella+x": "x" is no voice; there is af_bella, af_sarah, af_nicole, af_sky, am_adam, am_michael, bf_emma, bf_isabella, bm_george, bm_lewis`},
		{"say --language de hi", 2, "--language must be one of " + strings.Join(engine.Languages(), ", ") + `, got "de"`},
		{"phonemize --language de hi", 2, "--language must be one of " + strings.Join(engine.Languages(), ", ") + `, got "de"`},
		{"say -o none/x.wav hi", 1, "none/x.wav: no such file or directory"},
		{"transcribe none.wav", 1, "none.wav: no such file or directory"},
		{"transcribe dir", 1, "dir is a folder; name the files in it"},
		{"transcribe empty", 2, "…as in --model hub:ggerganov/whisper.cpp/ggml-base.bin"},
		{"transcribe --beams 0 empty", 2, "--beams must be between 1 and 10, got 0"},
		{"transcribe --words empty", 2, "--words has no effect: only --format json has words"},
		{"transcribe --vad x --without vad empty", 2, "--vad has no effect: --without leaves the detector out"},
		{"inspect --models dir tiny.gguf", 2, "--models has no effect: tiny.gguf is a file"},
		{"transcribe --format srt empty empty", 2, "--format srt takes one file at a time: two in a row are no subtitles"},
		{"transcribe --model WHISPER empty", 1, "empty: empty file: no audio in it"},
		{"transcribe --model WHISPER secret.txt", 1, "secret.txt: a text file, and no sound: not supported"},
		{"transcribe --model WHISPER cut.wav", 1, "…"},
		{"bench --pp 3 WHISPER", 2, "--pp has no effect: a recogniser is measured"},
		{"run WHISPER hi", 1, `model "ggml-tiny-f16" is for transcription and cannot be used for completion; try: quern transcribe --model WHISPER FILE`},
		{"tokenize --decode --no-special 1", 2, "--no-special has no effect: ids are taken as they are"},
		{"tokenize --decode x", 2, `"x" is no token id`},
		{"run --system x STORIES hi", 2, "--system has no effect: stories260K has no chat template and goes on with the prompt as it stands"},
		{"help x", 2, `unknown command "x"`},
		{"completion foo", 2, `unknown shell "foo"; quern completes words in bash, zsh, fish, powershell`},
		{"completion bash x", 2, `one shell is wanted, and "x" is one too many`},
		{"version x", 2, `version takes no arguments, got "x"`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			if strings.Contains(tt.args, "WHISPER") && whisper == "" || strings.Contains(tt.args, "STORIES") && stories == "" {
				t.Skip("no fixtures")
			}
			args := strings.Fields(strings.NewReplacer("WHISPER", whisper, "STORIES", stories).Replace(tt.args))
			code, stdout, stderr := quern(t, "", nil, args...)
			if code != tt.code || stdout != "" {
				t.Errorf("exit code %d, stdout %q; want %d and nothing", code, stdout, tt.code)
			}
			text := strings.TrimSuffix(stderr, "\n")
			if code == exitUsage {
				if m := regexp.MustCompile(`^(.*)\nSee "quern[a-z -]* --help"\.$`).FindStringSubmatch(text); m != nil {
					text = m[1]
				} else {
					t.Errorf("%q does not end with where help is", text)
				}
			}
			want := strings.ReplaceAll(tt.want, "WHISPER", whisper)
			if end, ok := strings.CutPrefix(want, "…"); ok && !strings.HasSuffix(text, end) || !ok && text != "quern: "+want {
				t.Errorf("message %q; want %q", text, want)
			}
			if strings.Contains(text, "\n") || strings.Contains(text, "hunter2") || strings.Count(text, "quern: ") != 1 {
				t.Errorf("message %q", text)
			}
			parts := strings.Split(text, ": ")
			for i, p := range parts[1:] {
				if p == parts[i] || strings.HasPrefix(p, parts[i]+" \"") {
					t.Errorf("message %q says %q twice", text, p)
				}
			}
		})
	}
}
