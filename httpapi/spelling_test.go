package httpapi_test

import (
	"encoding/json"
	"testing"

	"quern/httpapi"
)

// TestFailuresWithoutARoute: what is refused before a handler is found is spelled as the clients
// of the path read it, with the id where they look for it.
func TestFailuresWithoutARoute(t *testing.T) {
	s := newServer(t, httpapi.Options{Keys: []httpapi.Key{fakeKey}})
	shapes := map[string]func(body map[string]any) bool{
		"OpenAI": func(b map[string]any) bool {
			e, ok := b["error"].(map[string]any)
			return ok && e["code"] != nil && len(b) == 1
		},
		"Anthropic": func(b map[string]any) bool {
			e, ok := b["error"].(map[string]any)
			return ok && b["type"] == "error" && e["type"] != nil
		},
		"Ollama":     func(b map[string]any) bool { _, ok := b["error"].(string); return ok },
		"Cohere":     func(b map[string]any) bool { _, ok := b["message"].(string); return ok },
		"ElevenLabs": func(b map[string]any) bool { return b["detail"] != nil },
	}
	for _, tt := range []struct {
		method, path, shape string
		key                 bool
		status              int
	}{
		{"GET", "/v1/messages", "Anthropic", true, 405},
		{"POST", "/v1/messages/nope", "Anthropic", true, 404},
		{"GET", "/v1/messages", "Anthropic", false, 401},
		{"POST", "/v1/messages", "Anthropic", false, 401},
		{"GET", "/api/chat", "Ollama", true, 405},
		{"POST", "/api/nope", "Ollama", true, 404},
		{"POST", "/api/chat", "Ollama", false, 401},
		{"GET", "/v2/rerank", "Cohere", true, 405},
		{"POST", "/v2/rerank", "Cohere", false, 401},
		{"DELETE", "/v1/voices", "ElevenLabs", true, 405},
		{"POST", "/v1/text-to-speech/a/b/c", "ElevenLabs", true, 404},
		{"GET", "/elevenlabs/v1/nope", "ElevenLabs", true, 404},
		{"GET", "/v1/chat/completions", "OpenAI", true, 405},
		{"POST", "/v1/models", "OpenAI", true, 405},
		{"POST", "/v1/messagesx", "OpenAI", true, 404},
		{"GET", "/v1/nope", "OpenAI", false, 401},
		{"GET", "/apinope", "OpenAI", true, 404},
	} {
		headers := []string{"x-request-id", "mine"}
		if tt.key {
			headers = append(headers, "Authorization", "Bearer "+testKey)
		}
		r := ask(t, s, tt.method, tt.path, "", headers...)
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.StatusCode != tt.status || !shapes[tt.shape](body) {
			t.Errorf("%s %s with a key %t: %d %v, %v; want %d as %s has it", tt.method, tt.path, tt.key, r.StatusCode, body, err, tt.status, tt.shape)
		}
		want := ""
		if tt.shape == "Anthropic" {
			want = "mine"
		}
		if got := r.Header.Get("request-id"); got != want {
			t.Errorf("%s %s: request-id %q, want %q", tt.method, tt.path, got, want)
		}
	}
}
