package settings

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"quern/engine"
	"quern/kernels/quant"
)

func TestEngineOptions(t *testing.T) {
	s, err := load(t, `
models: [{name: m, path: /m.gguf, cache_type: f32, cache_memory: 1MiB, quantize: Q8_0, preload: true, keep_alive: 1m, sampling: {top_k: 4}}]
defaults: {chat: m}
aliases: {a: m}
keep_alive: never
threads: 3
`, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := s.EngineOptions(nil)
	four := 4
	want := []engine.ModelOptions{{Name: "m", Path: "/m.gguf", CacheType: quant.F32, CacheBytes: 1 << 20, Quantize: "q8_0",
		Preload: new(true), KeepAlive: 60e9, Sampling: engine.Sampling{TopK: &four}}}
	if !reflect.DeepEqual(o.Models, want) {
		t.Errorf("models %+v; want %+v", o.Models, want)
	}
	if o.KeepAlive >= 0 || o.Threads != 3 || o.Aliases["a"] != "m" || !reflect.DeepEqual(o.Defaults, map[engine.Kind]string{engine.KindChat: "m"}) {
		t.Errorf("options %+v", o)
	}
}

func TestAPIOptions(t *testing.T) {
	s, err := load(t, `
auth: [{name: n, key: k}]
request_timeout: 0
request_timeout_overrides: {/v1/embeddings: 0, /v1/completions: 2m}
stall_timeout: 9s
shutdown_grace: 0
metrics: {vllm_names: false, public: true}
cors: {allowed_origins: []}
default_max_tokens: 7
reasoning_field: both
reasoning_budgets: {low: 10}
responses: {store: off, age: 0, count: 5, other_tools: refuse}
`, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := s.APIOptions(nil, "", slog.New(slog.DiscardHandler))
	if len(o.Keys) != 1 || o.Keys[0].Name != "n" || fmt.Sprintf("%x", o.Keys[0].SHA256) != hash("k") {
		t.Errorf("keys %+v", o.Keys)
	}
	if o.RequestTimeout >= 0 || o.ShutdownGrace >= 0 || o.Stall != 9*time.Second || o.KeepAlive != 15*time.Second ||
		o.RequestTimeouts["/v1/embeddings"] >= 0 || o.RequestTimeouts["/v1/completions"] != 2*time.Minute {
		t.Errorf("times %+v", o)
	}
	if r := o.Responses; !r.Off || r.Age >= 0 || r.Count != 5 || r.Bytes != 256<<20 || r.Background != 16 || !r.OwnTools {
		t.Errorf("responses %+v", r)
	}
	if o.NoAuth || *o.VLLMNames || !o.MetricsPublic || o.DefaultMaxTokens != 7 || o.ReasoningField != "both" || o.ReasoningBudgets["low"] != 10 || o.AllowedOrigins == nil || len(o.AllowedOrigins) != 0 || o.JSONBody != 16<<20 {
		t.Errorf("options %+v", o)
	}
}

func TestDurationText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"0", "0"}, {"0s", "0"}, {"60s", "1m"}, {"90s", "1m30s"}, {"2h", "2h"}, {"1h30m", "1h30m"}, {"never", "never"}, {"-1", "never"}, {"1500ms", "1.5s"},
	} {
		var d, again Duration
		if err := d.parse(tt.in); err != nil || d.String() != tt.want {
			t.Errorf("parse(%q) = %v, %v; want %v", tt.in, d, err, tt.want)
		}
		if err := again.parse(d.String()); err != nil || again != d {
			t.Errorf("%v read back is %v, %v", d, again, err)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(Example()))
	f.Add([]byte("auth: none\nmodels:\n- &a {path: x}\n- *a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := defaults("serve")
		if err := decodeYAML("fuzz", data, &s); err != nil {
			if !strings.HasPrefix(err.Error(), "fuzz:") {
				t.Errorf("error without its file: %v", err)
			}
			return
		}
		if _, err := yaml.Marshal(&s); err != nil {
			t.Errorf("accepted settings cannot be printed: %v", err)
		}
	})
}

// TestJobsForResponses: where responses are kept with jobs there are to be some.
func TestJobsForResponses(t *testing.T) {
	s, err := load(t, "responses: {store: jobs, bytes: 1 MiB, age: 2h}\n", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o, ok := s.JobsOptions("folder", nil)
	if !ok || o.ResponseBytes != 1<<20 || o.ResponseAge != 2*time.Hour || o.Dir != "folder" {
		t.Errorf("%v, %+v", ok, o)
	}
	if _, err := load(t, "responses: {store: jobs}\njobs: {store: off}\n", nil, nil); err == nil || !strings.Contains(err.Error(), "jobs.store is off") {
		t.Error(err)
	}
	if s, err = load(t, "responses: {store: memory}\n", nil, nil); err != nil {
		t.Fatal(err)
	}
	if o, _ := s.JobsOptions("folder", nil); o.ResponseBytes != 0 {
		t.Errorf("%+v", o)
	}
}
