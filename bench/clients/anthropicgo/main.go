// Command anthropicgo checks /v1/messages with Anthropic's client for Go. It prints what
// passes, and how many that are.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

var (
	base  = flag.String("base", "http://127.0.0.1:8080", "where the server is")
	key   = flag.String("key", "none", "its key")
	model = flag.String("model", "quern-tiny", "what is asked")
)

const (
	question = "What is the capital of France?"
	story    = "Tell me a story."
)

var weather = anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
	Name: "get_weather", Description: anthropic.String("Current weather in a city"),
	InputSchema: anthropic.ToolInputSchemaParam{
		Properties: map[string]any{"city": map[string]any{"type": "string"}}, Required: []string{"city"},
		ExtraFields: map[string]any{"additionalProperties": false},
	},
}}

// says is a request of one turn.
func says(text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: anthropic.Model(*model), MaxTokens: 200, Temperature: anthropic.Float(0),
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
	}
}

func main() {
	flag.Parse()
	c := anthropic.NewClient(option.WithBaseURL(*base), option.WithAPIKey(*key), option.WithMaxRetries(0))
	ctx := context.Background()
	passed, failed := 0, 0
	for _, check := range []struct {
		name string
		run  func(context.Context, *anthropic.Client) error
	}{
		{"a message", message}, {"a stream", stream}, {"tools", tools}, {"a streamed call", streamedCall},
		{"stop_sequences", stops}, {"count_tokens", count}, {"models", models}, {"errors", failures},
	} {
		if err := check.run(ctx, &c); err != nil {
			failed++
			fmt.Printf("FAIL anthropic-sdk-go: %s: %v\n", check.name, err)
			continue
		}
		passed++
		fmt.Printf("PASS anthropic-sdk-go: %s\n", check.name)
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

// text is what a message says.
func text(m *anthropic.Message) string {
	var b strings.Builder
	for _, block := range m.Content {
		if t, ok := block.AsAny().(anthropic.TextBlock); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func message(ctx context.Context, c *anthropic.Client) error {
	r := says(question)
	r.System = []anthropic.TextBlockParam{{Text: "Be brief."}}
	m, err := c.Messages.New(ctx, r)
	if err != nil {
		return err
	}
	if m.StopReason != anthropic.StopReasonEndTurn || !strings.Contains(text(m), "Paris") || m.Usage.OutputTokens == 0 {
		return fmt.Errorf("%s", m.RawJSON())
	}
	return nil
}

// streamed collects a stream as the client does, and its text as it comes.
func streamed(ctx context.Context, c *anthropic.Client, r anthropic.MessageNewParams) (m anthropic.Message, said string, err error) {
	s := c.Messages.NewStreaming(ctx, r)
	defer s.Close()
	for s.Next() {
		e := s.Current()
		if err := m.Accumulate(e); err != nil {
			return m, said, err
		}
		if d, ok := e.AsAny().(anthropic.ContentBlockDeltaEvent); ok {
			if t, ok := d.Delta.AsAny().(anthropic.TextDelta); ok {
				said += t.Text
			}
		}
	}
	return m, said, s.Err()
}

func stream(ctx context.Context, c *anthropic.Client) error {
	whole, err := c.Messages.New(ctx, says(story))
	if err != nil {
		return err
	}
	m, said, err := streamed(ctx, c, says(story))
	if err != nil {
		return err
	}
	if said != text(whole) || text(&m) != said || m.StopReason != whole.StopReason || m.Usage.OutputTokens != whole.Usage.OutputTokens {
		return fmt.Errorf("streamed %q, %s; whole %q, %s", said, m.StopReason, text(whole), whole.StopReason)
	}
	return nil
}

// call is the one call of a message.
func call(m *anthropic.Message) (anthropic.ToolUseBlock, error) {
	for _, block := range m.Content {
		if t, ok := block.AsAny().(anthropic.ToolUseBlock); ok {
			var in struct{ City string }
			if err := json.Unmarshal(t.Input, &in); err != nil || in.City != "Oslo" || t.Name != "get_weather" || m.StopReason != anthropic.StopReasonToolUse {
				return t, fmt.Errorf("%s with %s, %v", t.Name, t.Input, err)
			}
			return t, nil
		}
	}
	return anthropic.ToolUseBlock{}, fmt.Errorf("no call, but %q", text(m))
}

const asks = "What is the weather in Oslo?"

func tools(ctx context.Context, c *anthropic.Client) error {
	r := says(asks)
	r.Tools = []anthropic.ToolUnionParam{weather}
	m, err := c.Messages.New(ctx, r)
	if err != nil {
		return err
	}
	use, err := call(m)
	if err != nil {
		return err
	}
	r.Messages = append(r.Messages, m.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(use.ID, `{"celsius": 21}`, false)))
	if m, err = c.Messages.New(ctx, r); err != nil {
		return err
	}
	if !strings.Contains(text(m), "21") {
		return fmt.Errorf("after the result: %q", text(m))
	}
	return nil
}

func streamedCall(ctx context.Context, c *anthropic.Client) error {
	r := says(asks)
	r.Tools = []anthropic.ToolUnionParam{weather}
	r.ToolChoice = anthropic.ToolChoiceUnionParam{OfTool: &anthropic.ToolChoiceToolParam{Name: "get_weather"}}
	m, _, err := streamed(ctx, c, r)
	if err == nil {
		_, err = call(&m)
	}
	return err
}

func stops(ctx context.Context, c *anthropic.Client) error {
	r := says(question)
	r.StopSequences = []string{"Paris"}
	m, err := c.Messages.New(ctx, r)
	if err != nil {
		return err
	}
	if m.StopReason != anthropic.StopReasonStopSequence || m.StopSequence != "Paris" || strings.Contains(text(m), "Paris") {
		return fmt.Errorf("%s", m.RawJSON())
	}
	return nil
}

func count(ctx context.Context, c *anthropic.Client) error {
	m, err := c.Messages.New(ctx, says(question))
	if err != nil {
		return err
	}
	n, err := c.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: anthropic.Model(*model), Messages: says(question).Messages})
	if err != nil {
		return err
	}
	if want := m.Usage.InputTokens + m.Usage.CacheReadInputTokens + m.Usage.CacheCreationInputTokens; n.InputTokens != want {
		return fmt.Errorf("%d tokens, of which the message counts %d", n.InputTokens, want)
	}
	return nil
}

func models(ctx context.Context, c *anthropic.Client) error {
	for page := c.Models.ListAutoPaging(ctx, anthropic.ModelListParams{}); page.Next(); {
		if page.Current().ID == *model {
			return nil
		}
	}
	return fmt.Errorf("%s is not listed", *model)
}

func failures(ctx context.Context, c *anthropic.Client) error {
	r := says(question)
	r.Model = "absent"
	_, err := c.Messages.New(ctx, r)
	var e *anthropic.Error
	if !errors.As(err, &e) || e.StatusCode != 404 || !strings.Contains(e.RawJSON(), "not_found_error") {
		return fmt.Errorf("an absent model: %v", err)
	}
	r = says(question)
	r.MaxTokens = 0
	if _, err = c.Messages.New(ctx, r); !errors.As(err, &e) || e.StatusCode != 400 {
		return fmt.Errorf("no max_tokens: %v", err)
	}
	return nil
}
