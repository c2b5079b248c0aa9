package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/cmd/quern/internal/remote"
)

// requests is a file of chats.
func requests(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"custom_id":"c%d","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"hi"}],"max_tokens":2}}`+"\n", i)
	}
	return b.String()
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestBatch: a file of requests runs in this process and leaves only what was asked for.
func TestBatch(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	write(t, "in.jsonl", requests(3)+strings.NewReplacer("c0", "bad", `:2}`, `:"x"}`).Replace(requests(1)))
	code, _, errs := quern(t, "", nil, "batch", "in.jsonl", "--threads", "1")
	if code != exitFailure {
		t.Errorf("exit %d", code)
	}
	has(t, "stderr", errs, []string{"in.output.jsonl\n", "in.errors.jsonl\n", "3 of 4 lines answered, 1 failed"})
	if out := readFile(t, "in.output.jsonl"); strings.Count(out, "\n") != 3 || strings.Count(out, "chat.completion") != 3 {
		t.Errorf("output %q", out)
	}
	has(t, "errors", readFile(t, "in.errors.jsonl"), []string{`"custom_id":"bad"`, `"status_code":400`, "max_tokens"})

	write(t, "good.jsonl", requests(2))
	code, out, errs := quern(t, "", nil, "batch", "good.jsonl", "-o", "-", "--threads", "1")
	if code != exitOK || strings.Count(out, "\n") != 2 {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	code, out, errs = quern(t, requests(2), nil, "batch", "-", "--threads", "1")
	if code != exitOK || strings.Count(out, "\n") != 2 {
		t.Errorf("from standard input: exit %d, %q, %q", code, out, errs)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBatchUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "bad.jsonl", "nonsense\n")
	write(t, "empty.jsonl", "\n")
	write(t, "good.jsonl", requests(1))
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, "twice.jsonl", requests(1)+requests(1))
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"batch", exitUsage, "name one file"},
		{"batch a.jsonl --audio d", exitUsage, "name one file"},
		{"batch --follow batch_1", exitUsage, "--follow needs --server"},
		{"batch bad.jsonl --format srt", exitUsage, "--format has no effect"},
		{"batch --audio . --format mp3", exitUsage, "--format must be one of"},
		{"batch good.jsonl --server http://127.0.0.1:1 --window 1w", exitUsage, `--window must be a number of minutes, hours or days from 1m to 30d, as 24h, got "1w"`},
		{"batch --audio . --window 31d", exitUsage, `--window must be a number of minutes, hours or days from 1m to 30d, as 24h, got "31d"`},
		{"batch --server http://127.0.0.1:1 --follow batch_1 --window 1h", exitUsage, "--window has no effect: the batch has begun with one"},
		{"batch bad.jsonl --key k", exitUsage, "--key has no effect"},
		{"batch bad.jsonl --server http://x --threads 1", exitUsage, "--threads has no effect"},
		{"batch bad.jsonl --server http://x --context-length 9", exitUsage, "--context-length has no effect: the server has settings of its own"},
		{"batch bad.jsonl --server ftp://x", exitUsage, `--server: "ftp://x" is no address such as http://127.0.0.1:8080`},
		{"batch good.jsonl --server 127.0.0.1:1", exitFailure, "quern: the server at http://127.0.0.1:1: dial tcp 127.0.0.1:1: "},
		{"batch --audio bad.jsonl", exitUsage, "bad.jsonl is a file; write: quern transcribe bad.jsonl"},
		{"batch --audio none", exitFailure, "none: no such file or directory"},
		{"batch --audio folder", exitFailure, "folder has no files to transcribe"},
		{"batch none.jsonl", exitFailure, "none.jsonl"},
		{"batch bad.jsonl", exitFailure, "line 1: this line is not JSON"},
		{"batch empty.jsonl", exitFailure, "it has no lines"},
		{"batch good.jsonl -o none/out.jsonl", exitFailure, "answers cannot be written: none/.quern-batch-"},
		{"batch twice.jsonl", exitFailure, "line 2: custom_id"},
	} {
		code, _, errs := quern(t, "", nil, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: exit %d, %q; want %d, %q", tt.args, code, errs, tt.code, tt.want)
		}
	}
}

// TestBatchServer: what a server says comes out, with the key that was given.
func TestBatchServer(t *testing.T) {
	t.Chdir(t.TempDir())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("key %q", r.Header.Get("Authorization"))
		}
		switch r.URL.Path {
		case "/v1/batches/batch_1":
			fmt.Fprint(w, `{"id":"batch_1","status":"completed","output_file_id":"file-1","request_counts":{"total":1,"completed":1}}`)
		case "/v1/files/file-1/content":
			fmt.Fprintln(w, "answer")
		default:
			w.WriteHeader(404)
			fmt.Fprint(w, `{"error":{"message":"there is no batch"}}`)
		}
	}))
	defer s.Close()
	for _, address := range []string{s.URL, s.URL + "/", s.URL + "/v1", strings.TrimPrefix(s.URL, "http://")} {
		code, out, errs := quern(t, "", []string{"QUERN_API_KEY=k"}, "batch", "--server", address, "--follow", "batch_1", "-o", "-")
		if code != exitOK || out != "answer\n" {
			t.Errorf("at %s: exit %d, %q, %q", address, code, out, errs)
		}
	}
	code, _, errs := quern(t, "", nil, "batch", "--server", s.URL, "--key", "k", "--follow", "batch_2")
	if code != exitFailure || !strings.Contains(errs, "there is no batch") {
		t.Errorf("exit %d, %q", code, errs)
	}
}

// TestBatchInterrupted: what was answered is written when a batch of this process is asked to end,
// also if it ended by itself meanwhile; one of a server goes on.
func TestBatchInterrupted(t *testing.T) {
	for name, tt := range map[string]struct {
		status int // of the answer to cancelling
		body   string
		end    string
	}{
		"cancelled": {200, `{}`, "cancelled: 1 of 2 lines answered"},
		"over":      {409, `{"error":{"message":"it is over"}}`, "completed: 1 of 2 lines answered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			asked := false
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				status, file := "in_progress", ""
				switch r.URL.Path {
				case "/v1/batches/b/cancel":
					asked = true
					w.WriteHeader(tt.status)
					fmt.Fprint(w, tt.body)
				case "/v1/batches/b":
					if asked {
						status, _, _ = strings.Cut(tt.end, ":")
						file = `"output_file_id":"f",`
					}
					fmt.Fprintf(w, `{"id":"b","status":%q,%s"request_counts":{"total":2,"completed":1}}`, status, file)
					interrupt()
				case "/v1/files/f/content":
					fmt.Fprintln(w, "answer")
				}
			}))
			defer s.Close()
			var errs bytes.Buffer
			a := &app{in: strings.NewReader(""), out: io.Discard, err: &errs}
			a.follow(ctx, &remote.Client{Base: s.URL, HTTP: s.Client()}, "b", batchOptions{}, "in")
			if got := readFile(t, "in.output.jsonl"); got != "answer\n" || !strings.Contains(errs.String(), tt.end) {
				t.Errorf("%q; it said %q", got, errs.String())
			}
			asked = false
			err := a.follow(ctx, &remote.Client{Base: s.URL, HTTP: s.Client()}, "b", batchOptions{server: s.URL}, "in")
			if err == nil || !strings.Contains(err.Error(), "goes on at the server") || asked {
				t.Errorf("of a server: %v; cancelled: %v", err, asked)
			}
		})
	}
}

// TestBatchAudio: a folder is transcribed, and what has a text already is left out.
func TestBatchAudio(t *testing.T) {
	model := fixtures.Path(t, "whisper", "hf_tiny")
	sound := readFile(t, fixtures.Path(t, "whisper", "jfk.wav"))
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Join("talks", "old"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, "talks/a.wav", sound)
	write(t, "talks/old/b.wav", sound)
	write(t, "talks/done.wav", sound)
	write(t, "talks/done.wav.txt", "as it was")
	write(t, "talks/c.mp3", "nonsense")
	write(t, "talks/half.wav", sound[:len(sound)/2])
	for link, file := range map[string]string{"talks/d.wav": "a.wav", "link": "talks"} {
		if err := os.Symlink(file, link); err != nil {
			t.Skip(err)
		}
	}
	code, _, errs := quern(t, "", nil, "batch", "--audio", "link", "--model", model, "--threads", "1")
	if code != exitFailure {
		t.Errorf("exit %d", code)
	}
	has(t, "stderr", errs, []string{"c.mp3: the file cannot be decoded", "4 of 5 lines answered, 1 failed",
		"half.wav: the audio is cut short: 5.5 s could be read of 11.0 s\n"})
	for _, name := range []string{"old/b", "d"} {
		if a, b := readFile(t, "talks/a.wav.txt"), readFile(t, "talks/"+name+".wav.txt"); a == "" || a != b {
			t.Errorf("texts %q and %q of %s", a, b, name)
		}
	}
	if got := readFile(t, "talks/done.wav.txt"); got != "as it was" {
		t.Errorf("a text that was there is now %q", got)
	}
}
