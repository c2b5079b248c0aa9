// Package metrics counts requests and what models did for them, for Prometheus.
package metrics

import (
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"quern/engine"
	"quern/httpapi/spool"
)

// Metrics are counted as requests pass, or read from the engine when a client
// asks for them. vLLM's names let its dashboards and gateways work unchanged.
type Metrics struct {
	Handler  http.Handler
	requests *prometheus.CounterVec
	audio    *prometheus.CounterVec

	sessions  prometheus.Gauge
	responses *prometheus.CounterVec
	legs      *prometheus.HistogramVec

	// nil without vLLM's names
	success  *prometheus.CounterVec
	first    *prometheus.HistogramVec
	perToken *prometheus.HistogramVec
	latency  *prometheus.HistogramVec
	queue    *prometheus.HistogramVec
}

// Upper bounds of the histograms, in seconds.
var (
	firstBuckets = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160}
	tokenBuckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5}
	spanBuckets  = []float64{0.05, 0.1, 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960}
)

// A Source is asked when a client asks for metrics. An engine is one.
type Source interface {
	Models() []engine.ModelInfo
	Stats() engine.Stats
}

// New makes the metrics of an engine; vllm says whether vLLM's names are there.
func New(e Source, temp *spool.Pool, vllm bool, log *slog.Logger) *Metrics {
	reg := prometheus.NewRegistry()
	m := &Metrics{requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "http_requests_total", Help: "Requests answered, by route and status; 499 are clients that left.",
	}, []string{"path", "code"})}
	m.audio = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "audio_seconds_total", Help: "Audio transcribed (in) and spoken (out), in seconds of sound.",
	}, []string{"direction"})
	for _, d := range []string{AudioIn, AudioOut} {
		m.audio.WithLabelValues(d) // so that both are there from the start
	}
	m.sessions = prometheus.NewGauge(prometheus.GaugeOpts{Name: "realtime_sessions", Help: "Sessions of /v1/realtime that are open."})
	m.responses = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "realtime_responses_total", Help: "Responses of /v1/realtime that ended, by status.",
	}, []string{"status"})
	m.legs = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "realtime_leg_seconds",
		Help:    "Of a spoken turn: transcription (from its end to the text), first_token (from there), first_audio (from there), turn (from its end to the first sound or, without sound, token).",
		Buckets: firstBuckets,
	}, []string{"leg"})
	reg.MustRegister(m.requests, m.audio, m.sessions, m.responses, m.legs, &stateCollector{e, vllm}, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "temp_bytes", Help: "Uploads, large bodies and answers kept for requests under way, in memory or temporary files.",
	}, func() float64 { return float64(temp.Used()) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if vllm {
		m.success = prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vllm:request_success_total", Help: "Sequences ended, by reason.",
		}, []string{"model_name", "finished_reason"})
		histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
			h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"model_name"})
			reg.MustRegister(h)
			return h
		}
		reg.MustRegister(m.success)
		m.first = histogram("vllm:time_to_first_token_seconds", "From submission to the first token.", firstBuckets)
		m.perToken = histogram("vllm:time_per_output_token_seconds", "Between two tokens of a sequence.", tokenBuckets)
		m.latency = histogram("vllm:e2e_request_latency_seconds", "From submission to the last token.", spanBuckets)
		m.queue = histogram("vllm:request_queue_time_seconds", "From submission to the first step.", spanBuckets)
	}
	m.Handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog:           slog.NewLogLogger(log.Handler(), slog.LevelError),
		DisableCompression: true,
	})
	return m
}

// Request counts one that was answered.
func (m *Metrics) Request(path string, status int) {
	m.requests.WithLabelValues(path, strconv.Itoa(status)).Inc()
}

// Directions of audio.
const (
	AudioIn  = "in"
	AudioOut = "out"
)

// Heard counts sound that was transcribed or spoken.
func (m *Metrics) Heard(direction string, seconds float64) {
	m.audio.WithLabelValues(direction).Add(max(seconds, 0))
}

// Session counts a session of /v1/realtime, until left is called.
func (m *Metrics) Session() (left func()) {
	m.sessions.Inc()
	return m.sessions.Dec
}

// Responded counts a response of such a session that ended.
func (m *Metrics) Responded(status string) { m.responses.WithLabelValues(status).Inc() }

// Leg notes how long a part of a turn of such a session took.
func (m *Metrics) Leg(leg string, took time.Duration) {
	m.legs.WithLabelValues(leg).Observe(took.Seconds())
}

// Finished counts a sequence that ended.
func (m *Metrics) Finished(model, reason string) {
	if m.success != nil {
		m.success.WithLabelValues(model, reason).Inc()
	}
}

// Generated counts a prompt that is done. tokens is the length of its longest
// sequence.
func (m *Metrics) Generated(model string, t engine.Timings, tokens int, took time.Duration) {
	if m.first == nil {
		return
	}
	m.queue.WithLabelValues(model).Observe(t.Queue.Seconds())
	m.latency.WithLabelValues(model).Observe(took.Seconds())
	if tokens > 0 {
		m.first.WithLabelValues(model).Observe(t.First.Seconds())
	}
	if tokens > 1 {
		m.perToken.WithLabelValues(model).Observe(t.Predict.Seconds() / float64(tokens-1))
	}
}

// A stateCollector reports the engine's state at the time of a scrape.
type stateCollector struct {
	e    Source
	vllm bool
}

var (
	byModel     = []string{"model_name"}
	descLoaded  = prometheus.NewDesc("model_loaded", "1 while the model is resident.", byModel, nil)
	descLoad    = prometheus.NewDesc("model_load_seconds", "How long the model's load took.", byModel, nil)
	descMemory  = prometheus.NewDesc("model_memory_bytes", "Memory of a resident model, by kind.", []string{"model_name", "kind"}, nil)
	descPreempt = prometheus.NewDesc("vllm:num_preemptions_total", "Sequences that gave their blocks back and waited.", byModel, nil)
	descWaiting = prometheus.NewDesc("vllm:num_requests_waiting", "Requests queued.", byModel, nil)
	descRunning = prometheus.NewDesc("vllm:num_requests_running", "Sequences in the batch.", byModel, nil)
	descKV      = prometheus.NewDesc("vllm:kv_cache_usage_perc", "KV blocks in use, 0 to 1.", byModel, nil)
	descCache   = prometheus.NewDesc("vllm:cache_config_info", "Shape of the KV pool.", []string{"model_name", "block_size", "num_gpu_blocks"}, nil)
	descPrompt  = prometheus.NewDesc("vllm:prompt_tokens_total", "Prompt tokens evaluated or taken from the cache.", byModel, nil)
	descOutput  = prometheus.NewDesc("vllm:generation_tokens_total", "Tokens generated.", byModel, nil)
	descQueries = prometheus.NewDesc("vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.", byModel, nil)
	// One line for all models, with vLLM's labels and no other: gateways take the one with the
	// latest time.
	descLoRA = prometheus.NewDesc("vllm:lora_requests_info", "When this was so, in Unix seconds: adapters that requests run and wait with, and how many may be in a batch.", []string{"max_lora", "running_lora_adapters", "waiting_lora_adapters"}, nil)
	descHits = prometheus.NewDesc("vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", byModel, nil)
)

// Describe sends nothing: which models there are changes.
func (s *stateCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the state of every text model. Models that are not resident
// have empty queues rather than none, so that gateways see their gauges.
func (s *stateCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	resident := map[string]bool{}
	var running, waiting []string // adapters
	for _, m := range s.e.Stats().Models {
		if resident[m.Model] {
			continue
		}
		resident[m.Model] = true
		gauge(descLoaded, 1, m.Model)
		gauge(descLoad, m.LoadSeconds, m.Model)
		gauge(descMemory, float64(m.WeightBytes), m.Model, "weights")
		gauge(descMemory, float64(m.CacheBytes), m.Model, "kv_cache")
		if !s.vllm {
			continue
		}
		gauge(descWaiting, float64(m.Waiting), m.Model)
		gauge(descRunning, float64(m.Running), m.Model)
		gauge(descKV, m.KVUsage(), m.Model)
		gauge(descCache, 1, m.Model, strconv.Itoa(m.BlockSize), strconv.Itoa(m.Blocks))
		count(descPrompt, m.PromptTokens, m.Model)
		count(descOutput, m.GeneratedTokens, m.Model)
		count(descQueries, m.PrefixQueries, m.Model)
		count(descHits, m.PrefixHits, m.Model)
		count(descPreempt, m.Preemptions, m.Model)
		for _, a := range m.Adapters {
			if a.Running > 0 {
				running = append(running, a.Model)
			}
			if a.Waiting > 0 {
				waiting = append(waiting, a.Model)
			}
		}
	}
	adapters := 0
	for _, m := range s.e.Models() {
		if m.Base != "" && m.AliasOf == "" {
			adapters++
		}
		if m.AliasOf != "" || m.Base != "" || resident[m.ID] {
			continue
		}
		resident[m.ID] = true
		gauge(descLoaded, 0, m.ID)
		if s.vllm && (m.Kind == engine.KindChat || m.Kind == engine.KindCompletion || m.Kind == engine.KindEmbedding) {
			gauge(descWaiting, float64(m.Waiting), m.ID)
			gauge(descRunning, 0, m.ID)
			gauge(descKV, 0, m.ID)
		}
	}
	if s.vllm && adapters > 0 {
		gauge(descLoRA, float64(time.Now().UnixNano())/1e9, strconv.Itoa(adapters), strings.Join(running, ","), strings.Join(waiting, ","))
	}
}
