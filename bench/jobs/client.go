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

// call asks a server, and the next one where it is away, for at most two minutes.
func call(ctx context.Context, bases []string, method, path, kind string, body []byte) ([]byte, error) {
	var last error
	for try := range 1200 {
		r, err := http.NewRequestWithContext(ctx, method, bases[try%len(bases)]+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			b, rerr := io.ReadAll(resp.Body)
			resp.Body.Close()
			switch {
			case rerr == nil && resp.StatusCode == 200:
				return b, nil
			case resp.StatusCode < 500:
				return nil, fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, b)
			}
			err = fmt.Errorf("%s %s: %d %.200s: %w", method, path, resp.StatusCode, b, errors.Join(rerr))
		}
		last = err
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return nil, last
}

// begin uploads lines and begins their batch.
func begin(ctx context.Context, bases []string, o *options) (b status, err error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	err = form.WriteField("purpose", "batch")
	part, err2 := form.CreateFormFile("file", "in.jsonl")
	if err := errors.Join(err, err2); err != nil {
		return b, err
	}
	for i := range o.lines {
		fmt.Fprintf(part, `{"custom_id":"c%d","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"Count from %d."}],"max_tokens":%d,"seed":1,"ignore_eos":true}}`+"\n", i, i, o.tokens)
	}
	if err := form.Close(); err != nil {
		return b, err
	}
	var f struct {
		ID string `json:"id"`
	}
	text, err := call(ctx, bases, "POST", "/v1/files", form.FormDataContentType(), body.Bytes())
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		return b, err
	}
	text, err = call(ctx, bases, "POST", "/v1/batches", "application/json",
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

// finish waits for the end of a batch, and says what is wrong with its files.
func finish(ctx context.Context, bases []string, id string, lines int) error {
	var b status
	for {
		var err error
		if b, err = look(ctx, bases, id); err != nil {
			return err
		}
		if b.Status == "completed" {
			break
		}
		if b.Status == "failed" || b.Status == "expired" || b.Status == "cancelled" {
			return fmt.Errorf("the batch is %s", b.Status)
		}
		if err := wait(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	times := map[string]int{}
	for _, file := range []string{b.Output, b.Errors} {
		if file == "" {
			continue
		}
		text, err := call(ctx, bases, "GET", "/v1/files/"+file+"/content", "", nil)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			var x struct {
				ID string `json:"custom_id"`
			}
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				return fmt.Errorf("a line of the output is %.100q: %w", line, err)
			}
			times[x.ID]++
		}
	}
	lost, twice := 0, 0
	for i := range lines {
		switch n := times[fmt.Sprintf("c%d", i)]; {
		case n == 0:
			lost++
		case n > 1:
			twice++
		}
	}
	fmt.Printf("%d lines, %d answered, %d failed: %d lost, %d answered twice\n", lines, b.Counts.Completed, b.Counts.Failed, lost, twice)
	if lost+twice+b.Counts.Failed > 0 || len(times) != lines || b.Counts.Completed != lines {
		return errors.New("that is not every line once")
	}
	return nil
}
