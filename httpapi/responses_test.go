package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"quern/bench/fixtures"
	"quern/engine"
	"quern/httpapi"
)

// A goldenResponse is one of testdata/responses/golden.json: what a model generates, in
// pieces, and what clients get of it. Ids, times and the split into deltas are placeholders.
type goldenResponse struct {
	Name       string
	Request    map[string]any
	Generation [][]json.RawMessage
	Response   map[string]any
	Events     []struct {
		Event string
		Data  map[string]any
	}
}

func goldenResponses(t *testing.T) (list []goldenResponse) {
	t.Helper()
	b, err := os.ReadFile("testdata/responses/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &list); err != nil || len(list) == 0 {
		t.Fatal(len(list), err)
	}
	return list
}

// generates is an engine that generates what a golden says.
func (g *goldenResponse) generates() *fake {
	return &fake{generate: func(_ context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		usage := func(of string, name string) int {
			u, _ := g.Response["usage"].(map[string]any)
			if of != "" {
				u, _ = u[of].(map[string]any)
			}
			n, _ := u[name].(float64)
			return int(n)
		}
		cached := usage("input_tokens_details", "cached_tokens")
		input, output, thought := usage("", "input_tokens"), usage("", "output_tokens"), usage("output_tokens_details", "reasoning_tokens")
		cut := strings.HasPrefix(g.Name, "cut")
		events := []engine.Event{
			{Type: engine.Admitted, PromptTokens: input, Constrained: r.Constraint != nil || r.ToolChoice.Required},
			{Type: engine.PromptDone, CachedTokens: cached},
		}
		calls := 0
		for i, piece := range g.Generation {
			word := func(at int) (s string) {
				json.Unmarshal(piece[at], &s)
				return s
			}
			var pieces []string
			json.Unmarshal(piece[len(piece)-1], &pieces)
			kind := map[string]engine.EventType{"message": engine.Delta, "reasoning": engine.ReasoningDelta, "call": engine.CallDelta}[word(0)]
			if kind == engine.CallDelta {
				events = append(events, engine.Event{Type: engine.CallStart, Call: calls, CallID: fmt.Sprintf("call_%04d", i+1), Name: word(1)})
			}
			for _, p := range pieces {
				events = append(events, engine.Event{Type: kind, Call: calls, Text: p, OutputTokens: output, Reasoning: thought})
			}
			if kind == engine.CallDelta {
				if !cut {
					events = append(events, engine.Event{Type: engine.CallEnd, Call: calls})
				}
				calls++
			}
		}
		reason := engine.ReasonStop
		switch {
		case cut:
			reason = engine.ReasonLength
		case calls > 0:
			reason = engine.ReasonCalls
		}
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if g.Response["status"] == "failed" {
			yield(engine.Event{}, &engine.Error{Code: engine.CodeEngineFailure, Message: "the model stopped unexpectedly"})
			return
		}
		_ = yield(engine.Event{Type: engine.Finish, Reason: reason, OutputTokens: output, Reasoning: thought}, nil) &&
			yield(engine.Event{Type: engine.Done, PromptTokens: input, CachedTokens: cached, OutputTokens: output, Reasoning: thought}, nil)
	}}
}

// A sentEvent is one event of a stream.
type sentEvent struct {
	name string
	data map[string]any
}

// sentEvents reads a stream whose events have names, and which [DONE] ends.
func sentEvents(t *testing.T, r io.Reader) (events []sentEvent) {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutSuffix(string(b), "data: [DONE]\n\n")
	if !ok {
		t.Fatalf("the stream does not end with [DONE]: %s", b)
	}
	for block := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		if strings.HasPrefix(block, ":") {
			continue
		}
		first, second, _ := strings.Cut(block, "\n")
		name, named := strings.CutPrefix(first, "event: ")
		data, has := strings.CutPrefix(second, "data: ")
		e := sentEvent{name: name}
		if err := json.Unmarshal([]byte(data), &e.data); !named || !has || err != nil {
			t.Fatalf("%q: %v", block, err)
		}
		events = append(events, e)
	}
	return events
}

// alike makes ids, times and the model what they are in every response. Ids keep their
// kind, and stay the same where they were.
func alike(v any, ids map[string]string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			x := v[k]
			s, text := x.(string)
			switch {
			case text && (k == "id" || k == "item_id" || k == "call_id"):
				kind, _, _ := strings.Cut(s, "_")
				if ids[s] == "" {
					ids[s] = fmt.Sprint(kind, " ", len(ids))
				}
				out[k] = ids[s]
			case text && k == "model":
				out[k] = "m"
			case x != nil && (k == "created_at" || k == "completed_at"):
				out[k] = 0
			default:
				out[k] = alike(x, ids)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = alike(x, ids)
		}
		return out
	}
	return v
}

// joined puts the deltas of an item in a row together, and numbers events anew.
func joined(events []sentEvent) (out []sentEvent) {
	for _, e := range events {
		if n := len(out); n > 0 && strings.HasSuffix(e.name, ".delta") && out[n-1].name == e.name && out[n-1].data["item_id"] == e.data["item_id"] {
			out[n-1].data["delta"] = out[n-1].data["delta"].(string) + e.data["delta"].(string)
			continue
		}
		e.data["sequence_number"] = len(out)
		out = append(out, e)
	}
	return out
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	g, w := alike(got, map[string]string{}), alike(want, map[string]string{})
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s:\ngot  %s\nwant %s", what, jsonOf(g), jsonOf(w))
	}
}

// TestGoldenResponses: what models generate is answered in the items and events that are
// expected, every member of them.
func TestGoldenResponses(t *testing.T) {
	for _, g := range goldenResponses(t) {
		t.Run(g.Name, func(t *testing.T) {
			// The goldens are of a server that keeps nothing.
			s := newServer(t, httpapi.Options{Engine: g.generates(), Responses: httpapi.Responses{Off: true}})
			g.Request["model"] = chatModel
			r := post(t, s, "/v1/responses", jsonOf(g.Request))
			if g.Response["status"] == "failed" {
				var f failure
				if err := json.NewDecoder(r.Body).Decode(&f); err != nil || r.StatusCode != 500 || f.Error.Message != "the model stopped unexpectedly" {
					t.Errorf("%d %+v, %v", r.StatusCode, f, err)
				}
			} else {
				var got map[string]any
				if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.StatusCode != 200 {
					t.Fatal(r.StatusCode, got, err)
				}
				same(t, "response", got, g.Response)
			}

			g.Request["stream"] = true
			r = post(t, s, "/v1/responses", jsonOf(g.Request))
			events := sentEvents(t, r.Body)
			for i, e := range events {
				if e.data["type"] != e.name || e.data["sequence_number"] != float64(i) {
					t.Errorf("event %d: %s %v", i, e.name, e.data)
				}
			}
			var want []sentEvent
			for _, e := range g.Events {
				want = append(want, sentEvent{e.Event, e.Data})
			}
			got := joined(events)
			want = joined(want)
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) {
					t.Fatalf("%d events, want %d", len(got), len(want))
				}
				if got[i].name != want[i].name {
					t.Fatalf("event %d: %s, want %s", i, got[i].name, want[i].name)
				}
			}
			gotIDs, wantIDs := map[string]string{}, map[string]string{}
			for i := range got {
				g, w := alike(got[i].data, gotIDs), alike(want[i].data, wantIDs)
				if !reflect.DeepEqual(g, w) {
					t.Errorf("event %d:\ngot  %s\nwant %s", i, jsonOf(g), jsonOf(w))
				}
			}
		})
	}
}

// openAISchemas are the schemas of OpenAI's document that stand below $defs.
func openAISchemas(t *testing.T) func(name string, v any) error {
	t.Helper()
	b, err := os.ReadFile(fixtures.Path(t, "responses", "openai-responses.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	plain(doc)
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openai.json", doc); err != nil {
		t.Fatal(err)
	}
	return func(name string, v any) error {
		s, err := c.Compile("openai.json#/$defs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(v)
	}
}

// plain takes out a keyword of a draft that later drafts have otherwise.
func plain(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, flag := v["$recursiveAnchor"].(bool); flag {
			delete(v, "$recursiveAnchor")
		}
		for _, x := range v {
			plain(x)
		}
	case []any:
		for _, x := range v {
			plain(x)
		}
	}
}

// withoutUsage leaves usage out where it is null: OpenAI sends that before the end of a
// response, and its schema has no word for it.
func withoutUsage(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for k, x := range m {
		if k == "usage" && x == nil {
			continue
		}
		if k == "response" {
			x = withoutUsage(x)
		}
		out[k] = x
	}
	return out
}

// TestResponsesFitSchema: responses and events, of every golden and of requests that say
// much, are as OpenAI's document has them.
func TestResponsesFitSchema(t *testing.T) {
	valid := openAISchemas(t)
	check := func(t *testing.T, s *httptest.Server, request map[string]any) {
		t.Helper()
		request["model"] = chatModel
		r := post(t, s, "/v1/responses", jsonOf(request))
		var got any
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if r.StatusCode == 200 {
			if err := valid("Response", withoutUsage(got)); err != nil {
				t.Errorf("%v: %v", got, err)
			}
		}
		request["stream"] = true
		r = post(t, s, "/v1/responses", jsonOf(request))
		if r.StatusCode != 200 {
			b, _ := io.ReadAll(r.Body)
			t.Fatalf("%d %s", r.StatusCode, b)
		}
		for _, e := range sentEvents(t, r.Body) {
			if err := valid("ResponseStreamEvent", withoutUsage(e.data)); err != nil {
				t.Errorf("%v: %v", e.data, err)
			}
		}
	}
	for _, g := range goldenResponses(t) {
		t.Run(g.Name, func(t *testing.T) { check(t, newServer(t, httpapi.Options{Engine: g.generates()}), g.Request) })
	}
	t.Run("much", func(t *testing.T) {
		check(t, newServer(t, httpapi.Options{}), map[string]any{
			"input": []any{
				map[string]any{"role": "user", "content": "Hello"},
				map[string]any{"type": "reasoning", "id": "rs_1", "summary": []any{}, "content": []any{map[string]any{"type": "reasoning_text", "text": "Hm."}}},
				map[string]any{"type": "function_call", "call_id": "c1", "name": "get_time", "arguments": "{}"},
				map[string]any{"type": "function_call_output", "call_id": "c1", "output": "12:00"},
			},
			"instructions": "Be brief.", "reasoning": map[string]any{"effort": "high", "summary": "auto"},
			"include": []any{"message.output_text.logprobs", "reasoning.encrypted_content"}, "top_logprobs": 2,
			"tools":    []any{map[string]any{"type": "function", "name": "get_time"}},
			"text":     map[string]any{"verbosity": "low"},
			"metadata": map[string]any{"a": "b"}, "safety_identifier": "me", "prompt_cache_key": "k", "user": "me", "service_tier": "flex",
			"max_tool_calls": 3, "max_output_tokens": 100, "truncation": "auto", "top_p": 0.5, "parallel_tool_calls": false,
		})
	})
}

// TestResponsesSchemasOfPeers: every member is there that Open Responses demands.
func TestResponsesSchemasOfPeers(t *testing.T) {
	b, err := os.ReadFile(fixtures.Path(t, "responses", "open-responses.json"))
	if err != nil {
		t.Fatal(err)
	}
	var open struct {
		Required []string `json:"required_of_ResponseResource"`
	}
	if err := json.Unmarshal(b, &open); err != nil || len(open.Required) == 0 {
		t.Fatal(open, err)
	}
	s := newServer(t, httpapi.Options{})
	r := post(t, s, "/v1/responses", `{"input":"Hello"}`)
	var got map[string]any
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r.StatusCode, err)
	}
	for _, name := range open.Required {
		if _, ok := got[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}
}
