// Command openaigo checks /v1/responses with OpenAI's client for Go. BASE_URL and API_KEY
// say where the server is. It prints what passes, and how many that are.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

const question = "What is the capital of France?"

var weather = responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
	Name: "get_weather", Description: openai.String("Current weather in a city"), Strict: openai.Bool(true),
	Parameters: map[string]any{
		"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}},
		"required": []string{"city"}, "additionalProperties": false,
	},
}}

// says is a request that says text.
func says(text string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: os.Getenv("CHAT_MODEL"), Temperature: openai.Float(0), MaxOutputTokens: openai.Int(200),
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)},
	}
}

func main() {
	c := openai.NewClient(option.WithBaseURL(os.Getenv("BASE_URL")+"/v1"), option.WithAPIKey(os.Getenv("API_KEY")), option.WithMaxRetries(0))
	ctx := context.Background()
	passed, failed := 0, 0
	for _, check := range []struct {
		name string
		run  func(context.Context, *openai.Client) error
	}{
		{"create", create}, {"stream", stream}, {"tools and previous_response_id", tools},
		{"retrieve, items and delete", stored}, {"background", background}, {"errors", failures},
	} {
		if err := check.run(ctx, &c); err != nil {
			failed++
			fmt.Printf("FAIL openai-go, responses: %s: %v\n", check.name, err)
			continue
		}
		passed++
		fmt.Printf("PASS openai-go, responses: %s\n", check.name)
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

func create(ctx context.Context, c *openai.Client) error {
	r, err := c.Responses.New(ctx, says(question))
	if err != nil {
		return err
	}
	if r.Status != "completed" || !strings.Contains(r.OutputText(), "Paris") || r.Usage.TotalTokens != r.Usage.InputTokens+r.Usage.OutputTokens {
		return fmt.Errorf("%s", r.RawJSON())
	}
	return nil
}

func stream(ctx context.Context, c *openai.Client) error {
	s := c.Responses.NewStreaming(ctx, says(question))
	defer s.Close()
	text, final, n := "", "", int64(0)
	for s.Next() {
		e := s.Current()
		if e.SequenceNumber != n {
			return fmt.Errorf("event %d has the number %d", n, e.SequenceNumber)
		}
		n++
		switch e.Type {
		case "response.output_text.delta":
			text += e.Delta
		case "response.completed":
			final = e.Response.OutputText()
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	if text != final || text == "" {
		return fmt.Errorf("deltas %q, in the end %q", text, final)
	}
	return nil
}

func tools(ctx context.Context, c *openai.Client) error {
	ask := says("What is the weather in Oslo?")
	ask.Tools = []responses.ToolUnionParam{weather}
	first, err := c.Responses.New(ctx, ask)
	if err != nil {
		return err
	}
	var input responses.ResponseInputParam
	for _, item := range first.Output {
		if item.Type != "function_call" {
			continue
		}
		var args struct{ City string }
		if err := json.Unmarshal([]byte(item.AsFunctionCall().Arguments), &args); err != nil || args.City != "Oslo" {
			return fmt.Errorf("%s: %v", item.RawJSON(), err)
		}
		output := responses.ResponseInputItemParamOfFunctionCallOutput(`{"city":"Oslo","celsius":21}`)
		output.OfFunctionCallOutput.CallID = openai.String(item.CallID)
		input = append(input, output)
	}
	if len(input) != 1 {
		return fmt.Errorf("%d calls", len(input))
	}
	ask.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: input}
	ask.PreviousResponseID = openai.String(first.ID)
	second, err := c.Responses.New(ctx, ask)
	if err != nil {
		return err
	}
	if !strings.Contains(second.OutputText(), "21") {
		return fmt.Errorf("%s", second.RawJSON())
	}
	return nil
}

func stored(ctx context.Context, c *openai.Client) error {
	r, err := c.Responses.New(ctx, says(question))
	if err != nil {
		return err
	}
	again, err := c.Responses.Get(ctx, r.ID, responses.ResponseGetParams{})
	if err != nil {
		return err
	}
	if again.OutputText() != r.OutputText() {
		return fmt.Errorf("%q, then %q", r.OutputText(), again.OutputText())
	}
	items, err := c.Responses.InputItems.List(ctx, r.ID, responses.InputItemListParams{})
	if err != nil {
		return err
	}
	if len(items.Data) != 1 || items.HasMore {
		return fmt.Errorf("%s", items.RawJSON())
	}
	if err := c.Responses.Delete(ctx, r.ID); err != nil {
		return err
	}
	if _, err = c.Responses.Get(ctx, r.ID, responses.ResponseGetParams{}); status(err) != 404 {
		return fmt.Errorf("deleted, and then: %w", err)
	}
	return nil
}

func background(ctx context.Context, c *openai.Client) error {
	ask := says(question)
	ask.Background = openai.Bool(true)
	s := c.Responses.NewStreaming(ctx, ask)
	id, n := "", 0
	for s.Next() {
		if e := s.Current(); n == 0 {
			id = e.Response.ID
		}
		n++
	}
	if err := s.Err(); err != nil {
		return err
	}
	// The client puts stream into a body, which no GET has.
	again := c.Responses.GetStreaming(ctx, id, responses.ResponseGetParams{StartingAfter: openai.Int(2)}, option.WithQuery("stream", "true"))
	for again.Next() {
		n--
	}
	if err := again.Err(); err != nil {
		return err
	}
	r, err := c.Responses.Cancel(ctx, id) // it is over
	if err != nil {
		return err
	}
	if n != 3 || r.Status != "completed" {
		return fmt.Errorf("%d events were not sent again; it is %s", n, r.Status)
	}
	return nil
}

func failures(ctx context.Context, c *openai.Client) error {
	ask := says(question)
	ask.Model = "no-such-model"
	if _, err := c.Responses.New(ctx, ask); status(err) != 404 {
		return fmt.Errorf("an unknown model: %w", err)
	}
	ask = says(question)
	ask.PreviousResponseID = openai.String("resp_no")
	if _, err := c.Responses.New(ctx, ask); status(err) != 404 {
		return fmt.Errorf("an unknown response: %w", err)
	}
	return nil
}

// status is the status of an answer that was an error; 0 of others.
func status(err error) int {
	var e *openai.Error
	if errors.As(err, &e) {
		return e.StatusCode
	}
	return 0
}
