package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The first argument of run is a model or begins the prompt.
func TestRunWords(t *testing.T) {
	t.Chdir(t.TempDir())
	const paris = "The capital of France is Paris."
	for _, tt := range []struct {
		name   string
		args   []string
		stdin  string
		code   int
		stdout string
		stderr []string
	}{
		{"a question", []string{"What is the capital of France?"}, "", 0, paris, nil},
		{"words", []string{"What", "is", "the", "capital", "of", "France?"}, "", 0, paris, nil},
		{"a model and a question", []string{"quern-tiny", "What is the capital of France?"}, "", 0, paris, nil},
		{"a question from a pipe", nil, "What is the capital of France?\n", 0, paris, nil},
		{"a model, a question from a pipe", []string{"quern-tiny"}, "What is the capital of France?\n", 0, paris, nil},
		{"begun here, ended in a pipe", []string{"What is the capital of"}, "France?\n", 0, paris, nil},
		{"nothing", nil, "", 2, "", []string{"the prompt is empty"}},
		{"nothing at all", []string{""}, "", 2, "", []string{"the prompt is empty"}},
		{"only a model", []string{"quern-tiny"}, "", 2, "", []string{"the prompt is empty"}},
		{"one word", []string{"hello"}, "", 0, "Hello! How can I help you?", []string{`no model is called "hello"`, "quern-tiny"}},
		{"a model almost", []string{"quern-tinny", "hello"}, "", 1, "", []string{`did you mean "quern-tiny"?`}},
		{"a model that is not there", []string{"qwen2.5", "hello"}, "", 1, "", []string{`no file "qwen2.5"`}},
		{"a file that is not there", []string{"folder/model", "hello"}, "", 1, "", []string{`no file "folder/model"`}},
		{"a model that speaks, and nothing to say", []string{"quern-formant"}, "", 1, "", []string{"is for speech"}},
		{"a model that speaks", []string{"quern-formant", "hello"}, "", 1, "", []string{"is for speech", "try: quern say --model quern-formant TEXT"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := quern(t, tt.stdin, nil, append([]string{"run", "--temperature", "0"}, tt.args...)...)
			if code != tt.code || strings.TrimSpace(stdout) != tt.stdout {
				t.Errorf("exit code %d, %q; want %d, %q", code, stdout, tt.code, tt.stdout)
			}
			has(t, "stderr", stderr, tt.stderr)
			if tt.stderr == nil && stderr != "" {
				t.Errorf("stderr %q", stderr)
			}
		})
	}
}

func TestMayBeName(t *testing.T) {
	for word, want := range map[string]bool{
		"llama-3.2": true, "mistral-instruct": true, "qwen3": true, "m.gguf": true, "o/n": true, "o/n:Q4": true, "small": true, "smal": true,
		`C:\m`: true, "phi_2": true,
		"Hello": false, "What's": false, "Hello!": false, "2+2": false, "Hello there, llama-3.2": false, "": false, "C++": false, "Übung": false,
	} {
		if got := mayBeName(word, []string{"small", "quern-tiny"}); got != want {
			t.Errorf("mayBeName(%q) = %v", word, got)
		}
	}
}

// A prompt on the command line waits for files and pipes, and for nothing else
// that happens to be standard input.
func TestHasInput(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, tt := range []struct {
		name string
		a    *app
		want bool
	}{
		{"file", &app{in: file}, true}, {"pipe", &app{in: r}, true}, {"null", &app{in: null}, false}, {"reader", &app{in: &bytes.Buffer{}}, true},
	} {
		if got := tt.a.hasInput(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// A note is printed that an open pipe is waited for.
func TestPromptWaits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		words []string
		after time.Duration
		note  bool
	}{
		{"at once", []string{"Sum", "up"}, 0, false},
		{"late", []string{"Sum", "up"}, 2 * noteAfter, true},
		{"all of it late", nil, 2 * noteAfter, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var errs output
				r, w := io.Pipe()
				a := &app{in: r, err: &errs}
				go func() {
					time.Sleep(tt.after)
					_, _ = io.WriteString(w, "an article\n")
					w.Close()
				}()
				prompt, talk, err := a.promptOf(tt.words)
				want := strings.TrimSpace(strings.Join(tt.words, " ") + "\n\nan article")
				if prompt != want || talk || err != nil || strings.Contains(errs.String(), "standard input") != tt.note {
					t.Errorf("%q, %v, %v, stderr %q; want %q", prompt, talk, err, errs.String(), want)
				}
			})
		})
	}
}
