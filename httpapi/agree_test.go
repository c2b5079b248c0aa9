package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi"
)

// An utterance is what a model thinks, says and calls.
type utterance struct{ thought, text, calls string }

func (u *utterance) call(name string, arguments []byte) {
	u.calls += fmt.Sprintf("%s(%s) ", name, compact(arguments))
}

func compact(b []byte) string {
	var v any
	if json.Unmarshal(b, &v) != nil {
		return string(b)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// TestDialectsAgree: with one seed a model thinks, says and calls the same in chats, in
// responses, in Anthropic's messages and in Ollama's, and a text that goes on is the same in
// llama-server's completions.
func TestDialectsAgree(t *testing.T) {
	s := newThinking(t, httpapi.Options{}, engine.ModelOptions{})
	const schema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
	function := `"tools":[{"type":"function","function":{"name":"get_weather","parameters":` + schema + `}}],`
	for _, tt := range []struct{ name, chat, responses, messages, ollama string }{
		{"words", ``, ``, ``, ``},
		{"tools", function, `"tools":[{"type":"function","name":"get_weather","strict":false,"parameters":` + schema + `}],`,
			`"tools":[{"name":"get_weather","input_schema":` + schema + `}],`, function},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const question = `"messages":[{"role":"user","content":"Where is Paris?"}],`
			var want, responses, messages, ollama utterance
			chat := wholeAnswer(t, s, `{`+question+tt.chat+`"seed":7,"max_tokens":60}`)
			want.thought = chat.Reasoning
			if chat.Content != nil {
				want.text = *chat.Content
			}
			for _, c := range chat.Calls {
				want.call(c.Function.Name, []byte(c.Function.Arguments))
			}

			p := decoded[struct {
				Output []struct {
					Type, Name, Arguments string
					Content               []struct{ Type, Text string }
				}
			}](t, ask(t, s, "POST", "/v1/responses", `{"input":"Where is Paris?",`+tt.responses+`"seed":7,"max_output_tokens":60}`))
			for _, item := range p.Output {
				for _, part := range item.Content {
					switch part.Type {
					case "reasoning_text":
						responses.thought += part.Text
					case "output_text":
						responses.text += part.Text
					}
				}
				if item.Type == "function_call" {
					responses.call(item.Name, []byte(item.Arguments))
				}
			}

			m := decoded[struct {
				Content []struct {
					Type, Text, Thinking, Name string
					Input                      json.RawMessage
				}
			}](t, ask(t, s, "POST", "/v1/messages", `{"model":"quern-tiny",`+question+tt.messages+`"seed":7,"max_tokens":60}`))
			for _, b := range m.Content {
				switch b.Type {
				case "thinking":
					messages.thought += b.Thinking
				case "text":
					messages.text += b.Text
				case "tool_use":
					messages.call(b.Name, b.Input)
				}
			}

			o := decoded[line](t, ask(t, s, "POST", "/api/chat", `{"model":"quern-tiny","stream":false,`+question+tt.ollama+`"options":{"seed":7,"num_predict":60}}`))
			ollama.thought, ollama.text = o.Message.Thinking, o.Message.Content
			for _, c := range o.Message.Calls {
				ollama.call(c.Function.Name, c.Function.Arguments)
			}
			if want.thought+want.text+want.calls == "" || responses != want || messages != want || ollama != want {
				t.Errorf("chat %+v\nresponses %+v\nmessages %+v\nOllama %+v", want, responses, messages, ollama)
			}
		})
	}
	text := decoded[struct{ Choices []struct{ Text string } }](t, ask(t, s, "POST", "/v1/completions", `{"prompt":"Once upon","seed":7,"max_tokens":20}`))
	llama := decoded[completed](t, ask(t, s, "POST", "/completion", `{"prompt":"Once upon","seed":7,"n_predict":20}`))
	raw := decoded[line](t, ask(t, s, "POST", "/api/generate", `{"model":"quern-tiny","prompt":"Once upon","raw":true,"stream":false,"options":{"seed":7,"num_predict":20}}`))
	if want := text.Choices[0].Text; strings.TrimSpace(want) == "" || llama.Content != want || raw.Response != want {
		t.Errorf("completions %q, llama-server's %q, Ollama's %q", want, llama.Content, raw.Response)
	}
}

// TestTwentyLogprobs: a chat tells as many alternatives as OpenAI's allow, the likeliest first,
// of which the drawn token is one when nothing is left to chance.
func TestTwentyLogprobs(t *testing.T) {
	s := newThinking(t, httpapi.Options{}, engine.ModelOptions{})
	got := decoded[struct {
		Choices []struct {
			Logprobs struct {
				Content []struct {
					Token   string
					Logprob float64
					Bytes   []int
					Top     []struct {
						Token   string
						Logprob float64
					} `json:"top_logprobs"`
				}
			}
		}
	}](t, ask(t, s, "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"hello"}],"max_tokens":8,"temperature":0,"logprobs":true,"top_logprobs":20,"chat_template_kwargs":{"enable_thinking":false}}`))
	tokens := got.Choices[0].Logprobs.Content
	if len(tokens) == 0 {
		t.Fatalf("%+v", got)
	}
	for _, k := range tokens {
		sum, seen := 0.0, map[string]bool{}
		for i, alt := range k.Top {
			if i > 0 && alt.Logprob > k.Top[i-1].Logprob {
				t.Errorf("%q: alternatives are not in order: %+v", k.Token, k.Top)
			}
			sum += math.Exp(alt.Logprob)
			seen[alt.Token] = true
		}
		if len(k.Top) != 20 || len(seen) < 19 || sum > 1.001 || k.Top[0].Token != k.Token || k.Top[0].Logprob != k.Logprob {
			t.Errorf("%q %g: %d alternatives that sum to %g: %+v", k.Token, k.Logprob, len(k.Top), sum, k.Top)
		}
	}
}
