//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	"quern/bench/internal/must"
)

// A client talks to one server.
type client struct {
	base string
	http *http.Client
}

func newClient(s *server) *client {
	return &client{s.base, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

// A refusal is an answer that is not 200.
type refusal struct {
	status  int
	code    string
	message string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.status, r.code, r.message) }

// send sends a request, and decodes its answer. An error has to be one that the API describes, in
// OpenAI's shape, and is returned as a *refusal.
func (c *client) send(ctx context.Context, method, path, kind string, body []byte, answer any) (err error) {
	defer must.Catch(&err)
	resp := must.Get(c.open(ctx, method, path, kind, body))
	defer resp.Body.Close()
	text := must.Get(io.ReadAll(resp.Body))
	if resp.StatusCode != http.StatusOK {
		return refused(resp.StatusCode, path, text)
	}
	switch to := answer.(type) {
	case nil:
		return nil
	case *[]byte:
		*to = text
		return nil
	}
	return json.Unmarshal(text, answer)
}

func refused(status int, path string, text []byte) error {
	var e struct {
		Error struct{ Code, Type, Message string }
	}
	if err := json.Unmarshal(text, &e); err != nil || e.Error.Message == "" || e.Error.Type == "" {
		return fmt.Errorf("%s: %d without an error that can be read: %.100q", path, status, text)
	}
	return &refusal{status, e.Error.Code, e.Error.Message}
}

func (c *client) open(ctx context.Context, method, path, kind string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return c.http.Do(r)
}

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // values made here have a JSON
	}
	return text
}

func question(text string, tokens int, stream bool) []byte {
	return marshal(map[string]any{"messages": []map[string]string{{"role": "user", "content": text}}, "temperature": 0, "max_tokens": tokens, "seed": 1, "stream": stream})
}

// chat asks one question.
func (c *client) chat(ctx context.Context, text string) (string, error) {
	var a struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := c.send(ctx, http.MethodPost, "/v1/chat/completions", "application/json", question(text, 24, false), &a); err != nil {
		return "", err
	}
	if len(a.Choices) != 1 {
		return "", fmt.Errorf("%d answers to one question", len(a.Choices))
	}
	return a.Choices[0].Message.Content, nil
}

// stream asks the same as chat, streamed, and puts the answer together.
func (c *client) stream(ctx context.Context, text string) (_ string, err error) {
	defer must.Catch(&err)
	resp := must.Get(c.open(ctx, http.MethodPost, "/v1/chat/completions", "application/json", question(text, 24, true)))
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body := must.Get(io.ReadAll(resp.Body))
		return "", refused(resp.StatusCode, "stream", body)
	}
	var whole strings.Builder
	done := false
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if done = done || data == "[DONE]"; !ok || data == "[DONE]" {
			continue
		}
		var e struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return "", fmt.Errorf("an event is %.100q: %w", data, err)
		}
		for _, x := range e.Choices {
			whole.WriteString(x.Delta.Content)
		}
	}
	if err := lines.Err(); err != nil || !done {
		return "", fmt.Errorf("a stream without its end, %v", err)
	}
	return whole.String(), nil
}

// upload keeps a file, and returns its id.
func (c *client) upload(ctx context.Context, content []byte) (string, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	// A buffer takes all that is written.
	_ = form.WriteField("purpose", "batch")
	part, _ := form.CreateFormFile("file", "in.jsonl")
	_, _ = part.Write(content)
	_ = form.Close()
	var f struct{ ID string }
	err := c.send(ctx, http.MethodPost, "/v1/files", form.FormDataContentType(), body.Bytes(), &f)
	return f.ID, err
}

// whole checks that a file is what was uploaded.
func (c *client) whole(ctx context.Context, id string, want []byte) error {
	var got []byte
	if err := c.send(ctx, http.MethodGet, "/v1/files/"+id+"/content", "", nil, &got); err != nil {
		return fmt.Errorf("file %s, which was accepted: %w", id, err)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("file %s has %d bytes, or others than the %d uploaded", id, len(got), len(want))
	}
	return nil
}

// batch begins a batch of chats, and returns its id.
func (c *client) batch(ctx context.Context, input string) (string, error) {
	var b struct{ ID string }
	err := c.send(ctx, http.MethodPost, "/v1/batches", "application/json",
		marshal(map[string]string{"input_file_id": input, "endpoint": "/v1/chat/completions", "completion_window": "24h"}), &b)
	return b.ID, err
}
