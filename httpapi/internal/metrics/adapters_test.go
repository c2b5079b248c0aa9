package metrics_test

import (
	"io"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi/internal/metrics"
	"quern/httpapi/spool"
)

// adapted is an engine that says always the same.
type adapted struct {
	models []engine.ModelInfo
	stats  engine.Stats
}

func (s adapted) Models() []engine.ModelInfo { return s.models }
func (s adapted) Stats() engine.Stats        { return s.stats }

// Gateways read from one line which adapters run and wait, under the names requests use.
func TestAdapters(t *testing.T) {
	s := adapted{
		models: []engine.ModelInfo{
			{ID: "m", Kind: engine.KindChat}, {ID: "m:a", Base: "m", Kind: engine.KindChat}, {ID: "m:b", Base: "m", Kind: engine.KindChat},
			{ID: "other", Kind: engine.KindChat}, {ID: "other:c", Base: "other", Kind: engine.KindChat}, {ID: "alias", AliasOf: "m:a", Base: "m"},
		},
		stats: engine.Stats{Models: []engine.ModelStats{{Model: "m", Adapters: []engine.AdapterStats{{Model: "m:a", Running: 2}, {Model: "m:b", Running: 1, Waiting: 3}}}}},
	}
	scrape := func(vllm bool) string {
		w := httptest.NewRecorder()
		metrics.New(s, spool.NewPool(1), vllm, metrics.Build{}, slog.New(slog.DiscardHandler)).Handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		b, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	text := scrape(true)
	if line := regexp.MustCompile(`(?m)^vllm:lora_requests_info\{max_lora="3",running_lora_adapters="m:a,m:b",waiting_lora_adapters="m:b"\} 1\.\d+e\+09$`); !line.MatchString(text) {
		t.Errorf("no line of adapters in\n%s", text)
	}
	if strings.Contains(text, `model_name="m:a"`) || strings.Contains(text, `model_name="alias"`) || !strings.Contains(text, `model_loaded{model_name="other"} 0`) {
		t.Error("an adapter counts as a model")
	}
	if strings.Contains(scrape(false), "lora") {
		t.Error("without vLLM's names there are some")
	}
	s.models, s.stats = s.models[:1], engine.Stats{}
	if strings.Contains(scrape(true), "lora") {
		t.Error("a server without adapters tells of some")
	}
}
