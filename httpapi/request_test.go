package httpapi_test

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/token"
	"quern/httpapi"
)

// modelled is a fake whose models have sampling values of their own.
type modelled struct{ *fake }

func (m modelled) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return m.lend(ctx, m, name, kinds)
}

func (modelled) Defaults() engine.Sampling {
	temp, k := float32(0.6), 20
	return engine.Sampling{Temperature: &temp, TopK: &k, MaxTokens: 77}
}

func TestRequestReachesEngine(t *testing.T) {
	f := &fake{}
	plain := newServer(t, httpapi.Options{Engine: f, DefaultMaxTokens: 99})
	model := newServer(t, httpapi.Options{Engine: modelled{f}})
	check := func(name, body string, verify func(t *testing.T, r engine.GenerateRequest)) {
		t.Run(name, func(t *testing.T) {
			s := plain
			if name == "model's own values" {
				s = model
			}
			path := "/v1/chat/completions"
			var o map[string]json.RawMessage
			json.Unmarshal([]byte(body), &o)
			if o["prompt"] != nil {
				path = "/v1/completions"
			}
			if r := post(t, s, path, body); r.StatusCode != 200 {
				t.Fatalf("status %d", r.StatusCode)
			}
			verify(t, *f.last.Load())
		})
	}
	equal := func(t *testing.T, what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, want %#v", what, got, want)
		}
	}
	hi := `"messages":[{"role":"user","content":"hi"}]`
	check("defaults", `{`+hi+`}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "model", *f.asked.Load(), chatModel)
		equal(t, "temperature", r.Sample.Temperature, float32(1))
		equal(t, "top_p", r.Sample.TopP, float32(1))
		equal(t, "n", r.N, 1)
		equal(t, "max tokens", r.MaxTokens, 99)
		equal(t, "cache", r.NoPromptCache, false)
	})
	check("model's own values", `{`+hi+`}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "temperature", r.Sample.Temperature, float32(0.6))
		equal(t, "top_k", r.Sample.TopK, 20)
		equal(t, "max tokens", r.MaxTokens, 77)
	})
	check("everything", `{`+hi+`,"temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.05,"typical_p":0.95,"repetition_penalty":1.1,"repeat_last_n":32,
		"frequency_penalty":0.1,"presence_penalty":-0.2,"logit_bias":{"7":-100,"9":1.5},"seed":42,"n":2,"max_tokens":30,"max_completion_tokens":20,"min_tokens":3,
		"stop":["a","b"],"stop_token_ids":[5],"ignore_eos":true,"cache_prompt":false,"keep_alive":"90s","logprobs":true,"top_logprobs":4,"truncation":"auto"}`,
		func(t *testing.T, r engine.GenerateRequest) {
			p := r.Sample
			equal(t, "temperature", p.Temperature, float32(0.5))
			equal(t, "top_p", p.TopP, float32(0.9))
			equal(t, "top_k", p.TopK, 40)
			equal(t, "min_p", p.MinP, float32(0.05))
			equal(t, "typical_p", p.TypicalP, float32(0.95))
			equal(t, "penalty", p.RepeatPenalty, float32(1.1))
			equal(t, "last n", p.RepeatLastN, 32)
			equal(t, "frequency", p.FrequencyPenalty, float32(0.1))
			equal(t, "presence", p.PresencePenalty, float32(-0.2))
			equal(t, "bias", p.Bias, map[token.ID]float32{7: -100, 9: 1.5})
			equal(t, "seed", p.Seed, uint64(42))
			equal(t, "logprobs", p.Logprobs, true)
			equal(t, "top", p.Top, 4)
			equal(t, "n", r.N, 2)
			equal(t, "max", r.MaxTokens, 20)
			equal(t, "min", r.MinTokens, 3)
			equal(t, "stop", r.Stop, []string{"a", "b"})
			equal(t, "stop ids", r.StopIDs, []token.ID{5})
			equal(t, "ignore_eos", r.IgnoreEOS, true)
			if r.KeepAlive == nil || *r.KeepAlive != 90*time.Second {
				t.Errorf("keep_alive is %v, want 90s", r.KeepAlive)
			}
			equal(t, "no cache", r.NoPromptCache, true)
			equal(t, "shorten", r.Prompt.AutoShorten, true)
		})
	check("no limit", `{`+hi+`,"max_tokens":-1}`, func(t *testing.T, r engine.GenerateRequest) { equal(t, "max", r.MaxTokens, 0) })
	check("no limit, as a float", `{`+hi+`,"max_completion_tokens":-1.0,"max_tokens":7}`, func(t *testing.T, r engine.GenerateRequest) { equal(t, "max", r.MaxTokens, 0) })
	check("a limit beyond all", `{`+hi+`,"max_tokens":99999999999}`, func(t *testing.T, r engine.GenerateRequest) { equal(t, "max", r.MaxTokens, math.MaxInt32) })
	check("a prediction", `{`+hi+`,"prediction":{"type":"content","content":"as before"},"speculative.n_max":4}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "prediction", r.Prediction, "as before")
		equal(t, "drafts", r.MaxDraft, 4)
	})
	check("a prediction of parts, and no drafts", `{`+hi+`,"prediction":{"type":"content","content":[{"type":"text","text":"as "},{"type":"text","text":"before"}]},"speculative.n_max":0}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "prediction", r.Prediction, "as before")
		equal(t, "drafts", r.MaxDraft, -1)
	})
	check("top_p 0 is greedy", `{`+hi+`,"top_p":0,"temperature":1}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "temperature", r.Sample.Temperature, float32(0))
	})
	check("repeat_last_n 0 is off", `{`+hi+`,"repeat_penalty":1.5,"repeat_last_n":0}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "penalty", r.Sample.RepeatPenalty, float32(1))
	})
	check("messages", `{"messages":[
		{"role":"developer","content":"d"},
		{"role":"user","name":"bob","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
		{"role":"assistant","content":null,"reasoning_content":"why","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"21"},
		{"role":"assistant","content":"So"}]}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "messages", r.Prompt.Messages, []chat.Message{
			{Role: "system", Text: "d"},
			{Role: "user", Name: "bob", Parts: []chat.Part{{Text: "a"}, {Text: "b"}}},
			{Role: "assistant", NoContent: true, Reasoning: "why", ToolCalls: []chat.Call{{ID: "c1", Name: "f", Arguments: `{"x":1}`}}},
			{Role: "tool", ToolCallID: "c1", Text: "21"},
			{Role: "assistant", Text: "So"},
		})
		equal(t, "continue", r.Prompt.Continue, true)
	})
	check("not continued", `{"messages":[{"role":"assistant","content":"So"}],"continue_final_message":false}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "continue", r.Prompt.Continue, false)
	})
	check("template variables", `{`+hi+`,"reasoning_effort":"low","enable_thinking":true,"chat_template_kwargs":{"reasoning_effort":"high","x":[1]}}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "kwargs", r.Prompt.Kwargs, map[string]json.RawMessage{
			"reasoning_effort": json.RawMessage(`"high"`), "enable_thinking": json.RawMessage(`true`), "x": json.RawMessage(`[1]`),
		})
	})
	check("no thinking", `{`+hi+`,"reasoning_effort":"none"}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "kwargs", r.Prompt.Kwargs, map[string]json.RawMessage{"enable_thinking": json.RawMessage(`false`)})
	})
	for _, field := range []string{`"reasoning_budget":7`, `"reasoning_budget_tokens":7`, `"thinking_budget":7`, `"thinking_budget_tokens":7`, `"thinking_token_budget":7.0`,
		`"thinking":{"type":"enabled","budget_tokens":7}`, `"thinking_budget":7,"thinking_token_budget":7,"reasoning_budget":-1`} {
		check("budget of "+field, `{`+hi+`,`+field+`}`, func(t *testing.T, r engine.GenerateRequest) {
			if r.ReasoningBudget == nil || r.ReasoningBudget.Tokens != 7 || !strings.Contains(field, r.ReasoningBudget.Param[strings.LastIndexByte(r.ReasoningBudget.Param, '.')+1:]) {
				t.Errorf("budget %+v", r.ReasoningBudget)
			}
			equal(t, "told to the template", string(r.Prompt.Kwargs["thinking_budget"]), "7")
		})
	}
	check("any thinking", `{`+hi+`,"reasoning_budget":-1,"thinking_budget":null}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "budget", r.ReasoningBudget, (*engine.ReasoningBudget)(nil))
		equal(t, "kwargs", r.Prompt.Kwargs, map[string]json.RawMessage(nil))
	})
	check("a budget of none", `{`+hi+`,"thinking_budget_tokens":0,"enable_thinking":true}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "budget", r.ReasoningBudget.Tokens, 0)
		equal(t, "thinking", string(r.Prompt.Kwargs["enable_thinking"]), "false")
	})
	check("completion", `{"prompt":"a"}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "prompt", r.Prompt, engine.Prompt{Text: "a"})
		equal(t, "max", r.MaxTokens, 16)
	})
	check("completion of tokens", `{"prompt":[1,2],"max_tokens":0,"echo":true,"logprobs":3}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "prompt", r.Prompt, engine.Prompt{Tokens: []token.ID{1, 2}})
		equal(t, "no tokens", r.NoTokens, true)
		equal(t, "prompt logprobs", r.PromptLogprobs, true)
		equal(t, "top", r.Sample.Top, 3)
	})
	check("best of", `{"prompt":"a","best_of":3,"n":2}`, func(t *testing.T, r engine.GenerateRequest) {
		equal(t, "n", r.N, 3)
		equal(t, "logprobs", r.Sample.Logprobs, true)
	})
}

func TestMostReplies(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f, MaxN: 40})
	if w := post(t, s, "/v1/completions", `{"prompt":"a","n":40,"best_of":40}`); w.StatusCode != 200 || f.last.Load().N != 40 {
		t.Errorf("%d, %s", w.StatusCode, w.Status)
	}
	if w := post(t, s, "/v1/completions", `{"prompt":"a","best_of":41}`); w.StatusCode != 400 {
		t.Errorf("one too many: %d, %s", w.StatusCode, w.Status)
	}
}

func TestSeeds(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	seen := map[uint64]bool{}
	for _, rest := range []string{``, ``, `,"seed":-1`, `,"seed":-1`, `,"seed":null`} {
		post(t, s, "/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}]`+rest+`}`)
		seen[f.last.Load().Sample.Seed] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d different seeds in five requests that gave none", len(seen))
	}
}
