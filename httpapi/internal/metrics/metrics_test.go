package metrics_test

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"quern/engine"
	"quern/httpapi/internal/metrics"
	"quern/httpapi/spool"
)

type source struct{}

func (source) Models() []engine.ModelInfo {
	return []engine.ModelInfo{{ID: "a", Kind: engine.KindChat}, {ID: "b \"c\\", Kind: engine.KindChat}}
}

func (source) Stats() engine.Stats {
	return engine.Stats{
		Models:  []engine.ModelStats{{Model: "a", LoadSeconds: 1.5, PromptTokens: 7, Waiting: 3, Background: 6, Running: 2}},
		Planned: []engine.CachePlan{{Model: "b \"c\\", BlockSize: 32, Blocks: 64}}, Loading: 1,
	}
}

// The text is the same with the library of Prometheus and, in a browser, without; only what
// Go and the process tell of themselves is left out there.
func TestText(t *testing.T) {
	m := metrics.New(source{}, spool.NewPool(1<<20), true, metrics.Build{Version: "1.2"}, slog.New(slog.DiscardHandler))
	m.Request("/v1/models", 200)
	m.Request("/v1/models", 200)
	m.Request("/v1/models", 404)
	m.Heard(metrics.AudioOut, 2.5)
	m.Session()
	m.Session()()
	m.Leg("turn", 40*time.Millisecond)
	m.Leg("turn", 50*time.Millisecond)
	m.Leg("turn", 200*time.Second)
	m.Finished("a\nb", "stop")
	w := httptest.NewRecorder()
	m.Handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if ct := w.Header().Get("Content-Type"); !strings.HasPrefix(ct, "text/plain; version=0.0.4") {
		t.Errorf("Content-Type %q", ct)
	}
	var got strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "quern_build_info{") && !strings.HasPrefix(name, "process_") {
			got.WriteString(line)
		}
	}
	if got.String() != want {
		t.Errorf("got:\n%s", got.String())
	}
}

const want = `# HELP audio_seconds_total Audio transcribed (in) and spoken (out), in seconds of sound.
# TYPE audio_seconds_total counter
audio_seconds_total{direction="in"} 0
audio_seconds_total{direction="out"} 2.5
# HELP background_requests_waiting Lines of batches queued for a slot, which other requests do not wait for.
# TYPE background_requests_waiting gauge
background_requests_waiting{model_name="a"} 6
# HELP http_requests_total Requests answered, by route and status; 499 are clients that left.
# TYPE http_requests_total counter
http_requests_total{code="200",path="/v1/models"} 2
http_requests_total{code="404",path="/v1/models"} 1
# HELP model_load_seconds How long the model's load took.
# TYPE model_load_seconds gauge
model_load_seconds{model_name="a"} 1.5
# HELP model_loaded 1 while the model is resident.
# TYPE model_loaded gauge
model_loaded{model_name="a"} 1
model_loaded{model_name="b \"c\\"} 0
# HELP model_memory_bytes Memory of a resident model, by kind.
# TYPE model_memory_bytes gauge
model_memory_bytes{kind="kv_cache",model_name="a"} 0
model_memory_bytes{kind="weights",model_name="a"} 0
# HELP quern_build_info What the program was made of.
# TYPE quern_build_info gauge
# HELP quern_cache_config_info Shape of the KV pool of the default chat model, as planned before it is loaded.
# TYPE quern_cache_config_info gauge
quern_cache_config_info{block_size="32",num_blocks="64"} 1
# HELP quern_kv_cache_usage KV blocks in use of the model whose cache is fullest, 0 to 1.
# TYPE quern_kv_cache_usage gauge
quern_kv_cache_usage 0
# HELP quern_requests_running Sequences and requests that are worked on, by models of all kinds.
# TYPE quern_requests_running gauge
quern_requests_running 2
# HELP quern_requests_waiting Requests queued, for models of all kinds, those that wait for a load included and lines of batches not.
# TYPE quern_requests_waiting gauge
quern_requests_waiting 4
# HELP realtime_leg_seconds Of a spoken turn: transcription (from its end to the text), first_token (from there), first_audio (from there), turn (from its end to the first sound or, without sound, token).
# TYPE realtime_leg_seconds histogram
realtime_leg_seconds_bucket{leg="turn",le="0.001"} 0
realtime_leg_seconds_bucket{leg="turn",le="0.005"} 0
realtime_leg_seconds_bucket{leg="turn",le="0.01"} 0
realtime_leg_seconds_bucket{leg="turn",le="0.02"} 0
realtime_leg_seconds_bucket{leg="turn",le="0.04"} 1
realtime_leg_seconds_bucket{leg="turn",le="0.06"} 2
realtime_leg_seconds_bucket{leg="turn",le="0.08"} 2
realtime_leg_seconds_bucket{leg="turn",le="0.1"} 2
realtime_leg_seconds_bucket{leg="turn",le="0.25"} 2
realtime_leg_seconds_bucket{leg="turn",le="0.5"} 2
realtime_leg_seconds_bucket{leg="turn",le="0.75"} 2
realtime_leg_seconds_bucket{leg="turn",le="1"} 2
realtime_leg_seconds_bucket{leg="turn",le="2.5"} 2
realtime_leg_seconds_bucket{leg="turn",le="5"} 2
realtime_leg_seconds_bucket{leg="turn",le="7.5"} 2
realtime_leg_seconds_bucket{leg="turn",le="10"} 2
realtime_leg_seconds_bucket{leg="turn",le="20"} 2
realtime_leg_seconds_bucket{leg="turn",le="40"} 2
realtime_leg_seconds_bucket{leg="turn",le="80"} 2
realtime_leg_seconds_bucket{leg="turn",le="160"} 2
realtime_leg_seconds_bucket{leg="turn",le="+Inf"} 3
realtime_leg_seconds_sum{leg="turn"} 200.09
realtime_leg_seconds_count{leg="turn"} 3
# HELP realtime_sessions Sessions of /v1/realtime that are open.
# TYPE realtime_sessions gauge
realtime_sessions 1
# HELP temp_bytes Uploads, large bodies and answers kept for requests under way, in memory or temporary files.
# TYPE temp_bytes gauge
temp_bytes 0
# HELP vllm:cache_config_info Shape of the KV pool, as planned before the model is loaded.
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="32",model_name="b \"c\\",num_gpu_blocks="64"} 1
# HELP vllm:generation_tokens_total Tokens generated.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model_name="a"} 0
# HELP vllm:kv_cache_usage_perc KV blocks in use, 0 to 1.
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{model_name="a"} 0
vllm:kv_cache_usage_perc{model_name="b \"c\\"} 0
# HELP vllm:num_preemptions_total Sequences that gave their blocks back and waited.
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{model_name="a"} 0
# HELP vllm:num_requests_running Sequences in the batch.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="a"} 2
vllm:num_requests_running{model_name="b \"c\\"} 0
# HELP vllm:num_requests_waiting Requests queued, but for lines of batches.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="a"} 3
vllm:num_requests_waiting{model_name="b \"c\\"} 0
# HELP vllm:prefix_cache_hits_total Prompt tokens found in the prefix cache.
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{model_name="a"} 0
# HELP vllm:prefix_cache_queries_total Prompt tokens looked up in the prefix cache.
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{model_name="a"} 0
# HELP vllm:prompt_tokens_total Prompt tokens evaluated or taken from the cache.
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{model_name="a"} 7
# HELP vllm:request_success_total Sequences ended, by reason.
# TYPE vllm:request_success_total counter
vllm:request_success_total{finished_reason="stop",model_name="a\nb"} 1
`
