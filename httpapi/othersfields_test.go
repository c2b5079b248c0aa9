package httpapi_test

import (
	"io"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi"
)

// TestOthersFields: fields of other servers and dialects that change a reply are refused by name,
// and taken where they ask for nothing.
func TestOthersFields(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	paths := map[string]string{
		"/v1/chat/completions": `{"max_tokens":5,` + userX + `,`,
		"/v1/completions":      `{"prompt":"x",`,
		"/v1/responses":        `{"input":"x",`,
		"/v1/messages":         `{"model":"stub-chat","max_tokens":5,` + userX + `,`,
		"/completion":          `{"prompt":"x",`,
		"/tokenize":            `{` + userX + `,`,
		"/v1/embeddings":       `{"input":"red",`,
		"/v1/rerank":           `{"query":"red","documents":["red"],`,
		"/v1/score":            `{"text_1":"red","text_2":"red",`,
		"/v1/audio/speech":     `{"input":"a.","voice":"af_bella",`,
	}
	for _, tt := range []struct{ path, name, asks, off string }{
		{"/v1/chat/completions", "return_token_ids", "true", "false"},
		{"/v1/chat/completions", "return_tokens_as_token_ids", "true", "false"},
		{"/v1/chat/completions", "kv_transfer_params", `{"a":1}`, "{}"},
		{"/v1/chat/completions", "adaptive_target", "0.5", "-1"},
		{"/v1/chat/completions", "post_sampling_probs", "true", "false"},
		{"/v1/chat/completions", "n_probs", "2", "0"},
		{"/v1/chat/completions", "t_max_predict_ms", "1", "0"},
		{"/v1/chat/completions", "parse_tool_calls", "false", "true"},
		{"/v1/chat/completions", "add_special_tokens", "true", "false"},
		{"/v1/chat/completions", "system", `"You are a pirate."`, `""`},
		{"/v1/chat/completions", "stop_sequences", `["a"]`, "[]"},
		{"/v1/chat/completions", "max_output_tokens", "5", "null"},
		{"/v1/completions", "prompt_embeds", `"AAAA"`, "null"},
		{"/v1/completions", "add_special_tokens", "false", "true"},
		{"/tokenize", "chat_template", `"{{ x }}"`, `""`},
		{"/tokenize", "add_generation_prompt", "false", "true"},
		{"/v1/embeddings", "truncate_prompt_tokens", "5", "-1"},
		{"/v1/embeddings", "add_special_tokens", "false", "true"},
		{"/v1/embeddings", "embed_dtype", `"float16"`, `"float32"`},
		{"/v1/embeddings", "endianness", `"big"`, `"native"`},
		{"/v1/embeddings", "embd_normalize", "1", "2"},
		{"/v1/embeddings", "messages", "[{}]", "[]"},
		{"/v1/embeddings", "task", `"retrieval.query"`, `""`},
		{"/v1/embeddings", "late_chunking", "true", "false"},
		{"/v1/embeddings", "embedding_type", `"binary"`, `"float"`},
		{"/v1/embeddings", "output_dimension", "8", "null"},
		{"/v1/rerank", "top_k", "1", "null"},
		{"/v1/rerank", "raw_scores", "true", "false"},
		{"/v1/rerank", "truncation", "false", "true"},
		{"/v1/rerank", "truncation_side", `"left"`, `"right"`},
		{"/v1/rerank", "instruction", `"find"`, `""`},
		{"/v1/score", "truncation_side", `"left"`, `"right"`},
		{"/v1/audio/speech", "ref_audio", `"AAAA"`, `""`},
		{"/v1/audio/speech", "volume_multiplier", "2", "1"},
		{"/v1/audio/speech", "sample_rate", "8000", "null"},
		{"/v1/audio/speech", "allow_voice_tags", "true", "false"},
		{"/v1/audio/speech", "normalization_options", `{"normalize":false}`, `{"normalize":true,"unit_normalization":true}`},
		{"/v1/audio/speech", "normalization_options", `{"url_normalization":false}`, "{}"},
		{"/v1/chat/completions", "mirostat", "2", "0"},
		{"/v1/chat/completions", "dry_multiplier", "0.8", "0.0"},
		{"/v1/chat/completions", "skip_special_tokens", "false", "true"},
		{"/v1/chat/completions", "lora", `[{"id":0,"scale":1}]`, "[ ]"},
		{"/v1/chat/completions", "echo", "true", "false"},
		{"/v1/chat/completions", "chat_template", `"{{ x }}"`, `""`},
		{"/v1/chat/completions", "documents", `[{"text":"a"}]`, "[]"},
		{"/v1/chat/completions", "add_generation_prompt", "false", "true"},
		{"/v1/chat/completions", "truncate_prompt_tokens", "5", "null"},
		{"/v1/completions", "use_beam_search", "true", "false"},
		{"/v1/completions", "bad_words", `["a"]`, "[]"},
		{"/v1/completions", "prompt_logprobs", "0", "null"},
		{"/v1/responses", "xtc_probability", "0.5", "0"},
		{"/v1/responses", "messages", "[]", "null"},
		{"/v1/responses", "max_tokens", "5", "null"},
		{"/v1/responses", "response_format", `{"type":"json_object"}`, "null"},
		{"/v1/responses", "guided_choice", `["a"]`, "null"},
		{"/v1/responses", "n", "2", "1"},
		{"/v1/messages", "stop", `["a"]`, "[]"},
		{"/v1/messages", "response_format", `{"type":"json_object"}`, "null"},
		{"/v1/messages", "n", "2", "1"},
		{"/v1/messages", "presence_penalty", "1", "0"},
		{"/v1/messages", "container", `"c"`, "null"},
		{"/completion", "n_indent", "4", "0"},
		{"/completion", "post_sampling_probs", "true", "false"},
		{"/completion", "length_penalty", "0.5", "1"},
	} {
		body := func(value string) string { return paths[tt.path] + `"` + tt.name + `":` + value + `}` }
		r := post(t, s, tt.path, body(tt.asks))
		if b, _ := io.ReadAll(r.Body); r.StatusCode != 400 || !strings.Contains(string(b), tt.name) {
			t.Errorf("%s, %s %s: %d %s", tt.path, tt.name, tt.asks, r.StatusCode, b)
		}
		r = post(t, s, tt.path, body(tt.off))
		if b, _ := io.ReadAll(r.Body); r.StatusCode != 200 || r.Header.Get("x-quern-warning") != "" {
			t.Errorf("%s, %s %s: %d %s", tt.path, tt.name, tt.off, r.StatusCode, b)
		}
	}
}

// TestOthersWithoutEffect: fields of other servers that change no reply here are named in the header,
// unless they ask for nothing.
func TestOthersWithoutEffect(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	const chat, message = `{"max_tokens":5,` + userX + `,`, `{"model":"stub-chat","max_tokens":5,` + userX + `,`
	for _, tt := range []struct{ path, before, name, asks, off string }{
		{"/v1/chat/completions", chat, "store", "true", "false"},
		{"/v1/chat/completions", chat, "verbosity", `"low"`, `"medium"`},
		{"/v1/chat/completions", chat, "web_search_options", "{}", "null"},
		{"/v1/chat/completions", chat, "moderation", `{"model":"m"}`, "null"},
		{"/v1/chat/completions", chat, "return_progress", "true", "false"},
		{"/v1/chat/completions", chat, "priority", "5", "0"},
		{"/v1/chat/completions", chat, "spaces_between_special_tokens", "false", "true"},
		{"/completion", `{"prompt":"x",`, "min_keep", "2", "0"},
		{"/v1/audio/speech", `{"input":"a.","voice":"af_bella",`, "normalization_options", `{"unit_normalization":false}`, `{"unit_normalization":true}`},
		{"/v1/messages", message, "context_management", `{"edits":[{"type":"clear_tool_uses_20250919"}]}`, `{"edits":[]}`},
	} {
		for value, want := range map[string]string{tt.asks: tt.name, tt.off: ""} {
			r := post(t, s, tt.path, tt.before+`"`+tt.name+`":`+value+`}`)
			if got := r.Header.Get(warningHeader); r.StatusCode != 200 || !strings.HasPrefix(got, want) || strings.Contains(got, " has no effect: ") != (want != "") || want == "" && got != "" {
				t.Errorf("%s, %s %s: %d, warning %q, want %q", tt.path, tt.name, value, r.StatusCode, got, want)
			}
		}
	}
}

// TestOthersHonoured: fields of other servers that say what one of ours says are read as that.
func TestOthersHonoured(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	send := func(path, body string) {
		t.Helper()
		if r := post(t, s, path, body); r.StatusCode != 200 {
			b, _ := io.ReadAll(r.Body)
			t.Fatalf("%s: %d %s", body, r.StatusCode, b)
		}
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/completions"} {
		asks := `{"prompt":"x",`
		if path != "/v1/completions" {
			asks = `{` + userX + `,`
		}
		send(path, asks+`"n_predict":7,"cache_salt":"mine","samplers":"kt","top_k":3,"top_p":0.5,"min_p":0.5,"typical_p":0.5,"presence_penalty":1,"repeat_penalty":2}`)
		r := f.last.Load()
		if p := r.Sample; r.MaxTokens != 7 || !r.NoPromptCache || p.TopK != 3 || p.TopP != 1 || p.MinP != 0 || p.TypicalP != 0 || p.PresencePenalty != 0 || p.RepeatPenalty != 1 {
			t.Errorf("%s: %+v", path, r)
		}
		send(path, asks+`"n_predict":7,"max_tokens":5,"samplers":["top_p","typical_p"],"top_k":3,"top_p":0.5,"typical_p":0.5}`)
		if r := f.last.Load(); r.MaxTokens != 5 || r.NoPromptCache || r.Sample.TopK != 0 || r.Sample.TopP != 0.5 || r.Sample.TypicalP != 0.5 {
			t.Errorf("%s: %+v", path, r)
		}
	}
	for body, want := range map[string]engine.EmbedRequest{
		`"embd_normalize":-1`:         {Raw: true},
		`"normalized":false`:          {Raw: true},
		`"truncate_prompt_tokens":-1`: {Truncate: true},
	} {
		send("/v1/embeddings", `{"input":"red",`+body+`}`)
		if r := f.seen.Load(); r.Raw != want.Raw || r.Truncate != want.Truncate {
			t.Errorf("%s: %+v", body, r)
		}
	}
	wantFailure(t, post(t, s, "/v1/audio/speech", `{"input":"a.","voice":"af_bella","language_code":"tlh"}`), 400, "invalid_value", "language_code")
}
