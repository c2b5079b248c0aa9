package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"quern/bench/internal/must"
)

// A prompt is one question, with what was said before it.
type prompt []message

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// prompts makes n different prompts: short and long ones, with and without a
// history, some of them beginning alike.
func prompts(n int) []prompt {
	questions := []string{
		"What is the capital of France?", "Who are you?", "Tell me a short story.", "What is the opposite of hot?",
		"What colour is the sky?", "Which day comes after Monday?", "Hello! How are you today?", "What can you do?",
	}
	var out []prompt
	for i := range n {
		q := questions[i%len(questions)]
		var p prompt
		switch i / len(questions) % 4 {
		case 0:
			p = prompt{{"user", q}}
		case 1:
			p = prompt{{"user", fmt.Sprintf("What is %d plus %d?", i%10, i/10%10)}}
		case 2:
			p = prompt{{"user", "Hello!"}, {"assistant", "Hello! How can I help you?"}, {"user", q}}
		case 3:
			p = prompt{{"user", strings.Repeat("The cat sat on the mat. ", 3+i%5) + q}}
		}
		if lap := i / (4 * len(questions)); lap > 0 {
			p[len(p)-1].Content += fmt.Sprintf(" (%d)", lap)
		}
		out = append(out, p)
	}
	return out
}

// A reply is what has to be equal, however a request was sent.
type reply struct {
	text   string
	reason string
	tokens int
}

// A streamed reply also has times.
type streamed struct {
	reply
	first time.Duration   // to the first text
	gaps  []time.Duration // between texts
	err   error
}

type client struct {
	o    options
	http *http.Client
}

func newClient(o options) *client {
	t := &http.Transport{MaxIdleConnsPerHost: o.streams, DisableCompression: true}
	return &client{o: o, http: &http.Client{Transport: t}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

func (c *client) post(ctx context.Context, p prompt, stream bool) (_ *http.Response, err error) {
	defer must.Catch(&err)
	body := map[string]any{"messages": p, "temperature": 0, "max_tokens": c.o.maxTokens, "stream": stream}
	if c.o.model != "" {
		body["model"] = c.o.model
	}
	if stream {
		body["stream_options"] = map[string]bool{"include_usage": true}
	}
	b := must.Get(json.Marshal(body))
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(c.o.url, "/")+"/v1/chat/completions", bytes.NewReader(b)))
	req.Header.Set("Content-Type", "application/json")
	if c.o.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.key)
	}
	res := must.Get(c.http.Do(req))
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		b, err := io.ReadAll(io.LimitReader(res.Body, 500))
		if err != nil {
			return nil, fmt.Errorf("status %d: %w", res.StatusCode, err)
		}
		return nil, fmt.Errorf("status %d: %s", res.StatusCode, b)
	}
	return res, nil
}

// chunk is a chat completion, whole or one piece of it.
type chunk struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
		Delta struct {
			Content string `json:"content"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

// single asks p without streaming.
func (c *client) single(ctx context.Context, p prompt) (_ reply, err error) {
	defer must.Catch(&err)
	res := must.Get(c.post(ctx, p, false))
	defer res.Body.Close()
	var k chunk
	must.Do(json.NewDecoder(res.Body).Decode(&k))
	if len(k.Choices) != 1 || k.Usage == nil || k.Choices[0].FinishReason == nil {
		return reply{}, errors.New("a reply without choice, finish_reason or usage")
	}
	return reply{k.Choices[0].Message.Content, *k.Choices[0].FinishReason, k.Usage.CompletionTokens}, nil
}

// stream asks p with streaming.
func (c *client) stream(ctx context.Context, p prompt) streamed {
	var s streamed
	start := time.Now()
	res, err := c.post(ctx, p, true)
	if err != nil {
		s.err = err
		return s
	}
	defer res.Body.Close()
	s.err = s.read(res.Body, start)
	return s
}

// read takes the events of a stream that was asked for at start.
func (s *streamed) read(body io.Reader, start time.Time) error {
	var text strings.Builder
	var last time.Time
	finished := false
	s.tokens = -1
	err := events(body, func(data []byte) error {
		var k chunk
		if err := json.Unmarshal(data, &k); err != nil {
			return fmt.Errorf("event %q: %w", data, err)
		}
		if k.Error != nil {
			return fmt.Errorf("error in the stream: %s", k.Error)
		}
		if k.Usage != nil {
			s.tokens = k.Usage.CompletionTokens
		}
		for _, ch := range k.Choices {
			if ch.Delta.Content != "" {
				now := time.Now()
				if last.IsZero() {
					s.first = now.Sub(start)
				} else {
					s.gaps = append(s.gaps, now.Sub(last))
				}
				last = now
				text.WriteString(ch.Delta.Content)
			}
			if ch.FinishReason != nil {
				finished, s.reason = true, *ch.FinishReason
			}
		}
		return nil
	})
	s.text = text.String()
	switch {
	case err != nil:
		return err
	case !finished:
		return errors.New("the stream has no finish_reason")
	case s.tokens < 0:
		return errors.New("the stream has no usage")
	}
	return nil
}

const maxLine = 1 << 20

// events calls f with the data of every event, and reports whether the stream ended as it should.
func events(body io.Reader, f func(data []byte) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue // a comment or the blank line after an event
		}
		if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
			return nil
		}
		if err := f(data); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return errors.New("the stream ended without [DONE]")
}
