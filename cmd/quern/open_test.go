package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/builtin"
)

// inspect and bench find a model wherever the other commands do.
func TestModelNames(t *testing.T) {
	t.Chdir(t.TempDir())
	endpoint, _ := fakeHub(t, "", map[string][]byte{"m-Q4_K_M.gguf": builtin.GGUF()})
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join("folder", "found.gguf"), string(builtin.GGUF()))
	write(t, "here.gguf", string(builtin.GGUF()))
	write(t, "quern.yaml", `
models:
  - {name: small, path: here.gguf}
  - {name: remote, path: "hub:o/n:Q4_K_M", preload: true}
  - {name: gone, path: "hub:o/gone", preload: true}
model_dirs: [store, folder]
aliases: {gpt: small}
`)
	if err := os.Mkdir("store", 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"HF_ENDPOINT=" + endpoint, "HF_HOME=" + t.TempDir()}
	if code, _, errs := quern(t, "", env, "pull", "o/n"); code != 0 {
		t.Fatal(errs)
	}
	env = append(env, "QUERN_OFFLINE=1")
	for _, name := range []string{"here.gguf", "small", "gpt", "found", "hub:o/n", "o/n:Q4_K_M", "remote", "quern-tiny"} {
		if name == "quern-tiny" {
			if err := os.Remove("quern.yaml"); err != nil {
				t.Fatal(err)
			}
		}
		code, out, errs := quern(t, "", env, "inspect", name)
		if code != 0 || !strings.Contains(out, "can run it") || errs != "" {
			t.Errorf("inspect %s: exit code %d, %s", name, code, errs)
		}
		code, out, errs = quern(t, "", env, "bench", "--pp", "2", "--tg", "2", "--reps", "1", name)
		if code != 0 || !strings.Contains(out, "decode tg2") || errs != "" {
			t.Errorf("bench %s: exit code %d, %s", name, code, errs)
		}
	}
	for name, want := range map[string]string{
		"hub:o/other":   "fetch it: quern pull o/other",
		"quern-tinny":   `did you mean "quern-tiny"?`,
		"quern-formant": "has no file",
		"":              "no model of that name",
	} {
		if code, _, errs := quern(t, "", env, "inspect", name); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("inspect %q: exit code %d, %s", name, code, errs)
		}
	}
}

// inspect names the commands for models of transcription and speech.
func TestInspectWhisper(t *testing.T) {
	for file, want := range map[string]string{
		"whisper/ggml-tiny-f16.bin":           "can run it: quern transcribe --model ",
		"whisper/hf_tiny":                     "can run it: quern transcribe --model ",
		"vad/silero-v6.2.0-ggml.bin":          "can run it: --vad ",
		"kokoro/tiny/kokoro-tiny.safetensors": "can run it: quern say --model ",
	} {
		path := fixtures.Path(t, strings.Split(file, "/")...)
		code, out, errs := quern(t, "", nil, "inspect", path)
		if code != 0 || !strings.Contains(out, want) || strings.Contains(out, "Source(") || errs != "" {
			t.Errorf("%s: exit code %d, %s, %.300s", file, code, errs, out)
		}
		if code, out, _ := quern(t, "", nil, "inspect", "--json", path); code != 0 || !strings.Contains(out, `"runnable":true`) {
			t.Errorf("%s: exit code %d, %.300s", file, code, out)
		}
	}
}
