package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"quern/bench/internal/must"
)

// A status is what is looked at of a batch.
type status struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Output string `json:"output_file_id"`
	Errors string `json:"error_file_id"`
	Counts struct {
		Total, Completed, Failed int
	} `json:"request_counts"`
}

// An asker sends a request and returns the answer, which is an error unless it is 200.
type asker func(ctx context.Context, method, path, kind string, body []byte) ([]byte, error)

// An answer is an error that a server sent.
type answer struct {
	status int
	retry  string // Retry-After
	text   string
}

func (a *answer) Error() string { return fmt.Sprintf("%d %.200s", a.status, a.text) }

// once asks one server one time.
func once(base string) asker {
	return func(ctx context.Context, method, path, kind string, body []byte) ([]byte, error) {
		r, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if resp.StatusCode != 200 {
			err = errors.Join(&answer{resp.StatusCode, resp.Header.Get("Retry-After"), string(b)}, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		return b, nil
	}
}

// patient asks a server, and the next one where it is away.
func patient(bases []string) asker {
	return func(ctx context.Context, method, path, kind string, body []byte) (b []byte, err error) {
		var final error
		try := 0
		err = patiently(ctx, func() error {
			var err error
			b, err = once(bases[try%len(bases)])(ctx, method, path, kind, body)
			try++
			if a, ok := errors.AsType[*answer](err); ok && a.status < 500 {
				final, err = err, nil
			}
			return err
		})
		return b, errors.Join(final, err)
	}
}

// call asks patiently.
func call(ctx context.Context, bases []string, method, path, kind string, body []byte) ([]byte, error) {
	return patient(bases)(ctx, method, path, kind, body)
}

// begin uploads lines and begins their batch.
func begin(ctx context.Context, ask asker, lines, tokens int) (b status, err error) {
	defer must.Catch(&err)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	err = form.WriteField("purpose", "batch")
	part, err2 := form.CreateFormFile("file", "in.jsonl")
	must.Do(errors.Join(err, err2))
	for i := range lines {
		fmt.Fprintf(part, `{"custom_id":"c%d","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"Count from %d."}],"max_tokens":%d,"seed":1,"ignore_eos":true}}`+"\n", i, i, tokens)
	}
	must.Do(form.Close())
	var f struct {
		ID string `json:"id"`
	}
	text, err := ask(ctx, "POST", "/v1/files", form.FormDataContentType(), body.Bytes())
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		return b, err
	}
	text, err = ask(ctx, "POST", "/v1/batches", "application/json",
		fmt.Appendf(nil, `{"input_file_id":%q,"endpoint":"/v1/chat/completions","completion_window":"24h"}`, f.ID))
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	return b, err
}

func look(ctx context.Context, bases []string, id string) (b status, err error) {
	text, err := call(ctx, bases, "GET", "/v1/batches/"+id, "", nil)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	return b, err
}

// A tally is what became of lines.
type tally struct{ batches, lines, completed, failed, lost, twice, strange int }

func (t *tally) add(x tally) {
	t.batches += x.batches
	t.lines += x.lines
	t.completed += x.completed
	t.failed += x.failed
	t.lost += x.lost
	t.twice += x.twice
	t.strange += x.strange
}

// check reports whether it is every line once.
func (t *tally) check() error {
	fmt.Printf("%d lines, %d answered, %d failed: %d lost, %d answered twice\n", t.lines, t.completed, t.failed, t.lost, t.twice)
	if t.lost+t.twice+t.failed+t.strange > 0 || t.completed != t.lines {
		return errors.New("that is not every line once")
	}
	return nil
}

// finish waits for the end of a batch, and says what is wrong with its files.
func finish(ctx context.Context, bases []string, id string, lines int) error {
	t, err := count(ctx, bases, id, lines)
	if err != nil {
		return err
	}
	return t.check()
}

// count waits for the end of a batch, and counts what is in its files.
func count(ctx context.Context, bases []string, id string, lines int) (_ tally, err error) {
	defer must.Catch(&err)
	var b status
	for {
		b = must.Get(look(ctx, bases, id))
		if b.Status == "completed" {
			break
		}
		if b.Status == "failed" || b.Status == "expired" || b.Status == "cancelled" {
			return tally{}, fmt.Errorf("the batch is %s", b.Status)
		}
		must.Do(wait(ctx, 200*time.Millisecond))
	}
	times := map[string]int{}
	for _, file := range []string{b.Output, b.Errors} {
		if file == "" {
			continue
		}
		text := must.Get(call(ctx, bases, "GET", "/v1/files/"+file+"/content", "", nil))
		for line := range strings.Lines(string(text)) {
			var x struct {
				ID string `json:"custom_id"`
			}
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				return tally{}, fmt.Errorf("a line of the output is %.100q: %w", line, err)
			}
			times[x.ID]++
		}
	}
	t := tally{batches: 1, lines: lines, completed: b.Counts.Completed, failed: b.Counts.Failed}
	for i := range lines {
		name := fmt.Sprintf("c%d", i)
		switch n := times[name]; {
		case n == 0:
			t.lost++
		case n > 1:
			t.twice++
		}
		delete(times, name)
	}
	t.strange = len(times)
	return t, nil
}
