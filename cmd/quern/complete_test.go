package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"quern/engine/builtin"
)

// The shells' scripts ask quern for words with "__complete".
func TestCompletion(t *testing.T) {
	t.Chdir(t.TempDir())
	endpoint, _ := fakeHub(t, "", map[string][]byte{"m-Q4_K_M.gguf": builtin.GGUF()})
	env := []string{"HF_ENDPOINT=" + endpoint, "HF_HOME=" + t.TempDir(), "QUERN_MODELS=store"}
	if code, _, errs := quern(t, "", env, "pull", "o/n"); code != 0 {
		t.Fatal(errs)
	}
	write(t, "here.gguf", string(builtin.GGUF()))
	write(t, "quern.yaml", "models: [{name: small, path: here.gguf}]\nbuiltin: true\naliases: {gpt: small}")
	for _, tt := range []struct {
		args []string
		want []string // some of the words
		not  []string
	}{
		{[]string{"run", ""}, []string{"small", "gpt", "quern-tiny", "hub:o/n:Q4_K_M"}, []string{"quern-formant"}},
		{[]string{"run", "sm"}, []string{"small"}, []string{"quern-tiny"}},
		{[]string{"inspect", ""}, []string{"small", "quern-tiny"}, nil},
		{[]string{"bench", ""}, []string{"small", "quern-tiny"}, nil},
		{[]string{"bench", "--against", ""}, []string{"small"}, nil},
		{[]string{"say", "--model", ""}, []string{"quern-formant"}, []string{"small"}},
		{[]string{"say", "--voice", "b"}, []string{"bf_emma", "bm_george"}, []string{"af_bella"}},
		{[]string{"say", "--voice="}, []string{"af_bella"}, nil},
		{[]string{"say", "--language", ""}, []string{"en-us", "en-gb"}, nil},
		{[]string{"run", "--device", ""}, []string{"auto", "cpu"}, []string{"gpu"}},
		{[]string{"transcribe", "--format", ""}, []string{"text", "srt", "vtt", "json"}, nil},
		{[]string{"transcribe", "--language", "d"}, []string{"de", "da"}, []string{"en"}},
		{[]string{"transcribe", "--without", ""}, []string{"vad", "all"}, nil},
		{[]string{"serve", "--model", ""}, []string{"small", "quern-tiny", "hub:o/n:Q4_K_M"}, []string{"quern-formant"}},
		{[]string{"serve", "--quantize", "q4"}, []string{"q4_k_m", "q4_0"}, []string{"q8_0"}},
		{[]string{"serve", "--cache-type", ""}, []string{"f16", "q8_0"}, nil},
		{[]string{"serve", "--log-level", ""}, []string{"debug", "info", "warn", "error"}, nil},
		{[]string{"serve", "--manage", ""}, []string{"auto", "all", "none"}, nil},
		{[]string{"run", "--speculation", ""}, []string{"off", "lookup", "draft", "mtp"}, nil},
		{[]string{"batch", "--format", ""}, []string{"text", "srt", "vtt", "json"}, []string{"whisperx"}},
		{[]string{"quantize", "a", "b", ""}, []string{"Q4_K_M", "Q8_0"}, nil},
		{[]string{"quantize", "a", "b", "q"}, []string{"q4_k_m"}, nil},
		{[]string{"rm", ""}, []string{"o/n:Q4_K_M"}, nil},
		{[]string{"completion", ""}, []string{"bash", "zsh", "fish", "powershell"}, nil},
		{[]string{"help", ""}, []string{"serve", "settings"}, nil},
		{[]string{"in"}, []string{"inspect"}, nil},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			code, out, _ := quern(t, "", env, append([]string{"__complete"}, tt.args...)...)
			var words []string
			for line := range strings.Lines(out) {
				word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				words = append(words, word)
			}
			for _, w := range tt.want {
				if !slices.Contains(words, w) {
					t.Errorf("%q is not in %q", w, words)
				}
			}
			for _, w := range tt.not {
				if slices.Contains(words, w) {
					t.Errorf("%q is in %q", w, words)
				}
			}
			if code != 0 || !strings.HasPrefix(words[len(words)-1], ":") {
				t.Errorf("exit code %d, %q", code, out)
			}
		})
	}
}

// Each shell gets a script that asks quern, and its own parser has nothing to say
// about it where it is installed.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range shells {
		code, script, errs := quern(t, "", nil, "completion", shell.name)
		if code != 0 || errs != "" || !strings.Contains(script, "__complete") {
			t.Errorf("%s: exit code %d, %s", shell.name, code, errs)
		}
		path, err := exec.LookPath(shell.name)
		if err != nil || shell.name == "powershell" {
			continue
		}
		cmd := exec.CommandContext(t.Context(), path, "-n")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell.name, err, out)
		}
	}
}
