// Package metrics counts requests and the work of models, for Prometheus.
package metrics

import (
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"quern/engine"
	"quern/httpapi/spool"
)

// Metrics are counted as requests pass, or read from the engine when a client
// asks for them. vLLM's names let its dashboards and gateways work unchanged.
type Metrics struct {
	Handler  http.Handler
	requests series
	audio    series

	sessions  series
	responses series
	legs      series

	// nil without vLLM's names
	success  series
	first    series
	perToken series
	latency  series
	queue    series
}

// A series adds n to, or has a histogram observe n with, the values of its labels.
type series func(n float64, values ...string)

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

// A Build is the version of the program.
type Build struct{ Version, Revision string }

// New makes the metrics of an engine; vllm reports whether vLLM's names are there.
func New(e Source, temp *spool.Pool, vllm bool, b Build, log *slog.Logger) *Metrics {
	r := newRegistry()
	m := &Metrics{
		requests:  r.counter("http_requests_total", "Requests answered, by route and status; 499 are clients that left.", "path", "code"),
		audio:     r.counter("audio_seconds_total", "Audio transcribed (in) and spoken (out), in seconds of sound.", "direction"),
		sessions:  r.gauge("realtime_sessions", "Sessions of /v1/realtime that are open."),
		responses: r.counter("realtime_responses_total", "Responses of /v1/realtime that ended, by status.", "status"),
		legs: r.histogram("realtime_leg_seconds",
			"Of a spoken turn: transcription (from its end to the text), first_token (from there), first_audio (from there), turn (from its end to the first sound or, without sound, token).",
			firstBuckets, "leg"),
	}
	for _, d := range []string{AudioIn, AudioOut} {
		m.audio(0, d) // so that both are there from the start
	}
	r.collect(state{e, temp, vllm, b}.report)
	if vllm {
		m.success = r.counter("vllm:request_success_total", "Sequences ended, by reason.", "model_name", "finished_reason")
		m.first = r.histogram("vllm:time_to_first_token_seconds", "From submission to the first token.", firstBuckets, "model_name")
		m.perToken = r.histogram("vllm:time_per_output_token_seconds", "Between two tokens of a sequence.", tokenBuckets, "model_name")
		m.latency = r.histogram("vllm:e2e_request_latency_seconds", "From submission to the last token.", spanBuckets, "model_name")
		m.queue = r.histogram("vllm:request_queue_time_seconds", "From submission to the first step.", spanBuckets, "model_name")
	}
	m.Handler = r.handler(log)
	return m
}

// Request counts one that was answered.
func (m *Metrics) Request(path string, status int) {
	m.requests(1, path, strconv.Itoa(status))
}

// Directions of audio.
const (
	AudioIn  = "in"
	AudioOut = "out"
)

// Heard counts sound that was transcribed or spoken.
func (m *Metrics) Heard(direction string, seconds float64) {
	m.audio(max(seconds, 0), direction)
}

// Session counts a session of /v1/realtime, until left is called.
func (m *Metrics) Session() (left func()) {
	m.sessions(1)
	return func() { m.sessions(-1) }
}

// Responded counts a response of such a session that ended.
func (m *Metrics) Responded(status string) { m.responses(1, status) }

// Leg records how long a part of a turn of such a session took.
func (m *Metrics) Leg(leg string, took time.Duration) {
	m.legs(took.Seconds(), leg)
}

// Finished counts a sequence that ended.
func (m *Metrics) Finished(model, reason string) {
	if m.success != nil {
		m.success(1, model, reason)
	}
}

// Generated counts a prompt that is done. tokens is the length of its longest
// sequence.
func (m *Metrics) Generated(model string, t engine.Timings, tokens int, took time.Duration) {
	if m.first == nil {
		return
	}
	m.queue(t.Queue.Seconds(), model)
	m.latency(took.Seconds(), model)
	if tokens > 0 {
		m.first(t.First.Seconds(), model)
	}
	if tokens > 1 {
		m.perToken(t.Predict.Seconds()/float64(tokens-1), model)
	}
}

// state is read at the time of a scrape.
type state struct {
	e    Source
	temp *spool.Pool
	vllm bool
	b    Build
}

// A desc describes a metric that is not counted but read.
type desc struct {
	name, help string
	labels     []string
	counter    bool // else a gauge
}

var (
	byModel    = []string{"model_name"}
	descBuild  = &desc{"quern_build_info", "What the program was made of.", []string{"version", "revision", "goversion"}, false}
	descTemp   = &desc{"temp_bytes", "Uploads, large bodies and answers kept for requests under way, in memory or temporary files.", nil, false}
	descLoaded = &desc{"model_loaded", "1 while the model is resident.", byModel, false}
	descLoad   = &desc{"model_load_seconds", "How long the model's load took.", byModel, false}
	descMemory = &desc{"model_memory_bytes", "Memory of a resident model, by kind.", []string{"model_name", "kind"}, false}

	// Of the whole server and without labels: gateways read one line of each name.
	descAllWaiting = &desc{"quern_requests_waiting", "Requests queued, for models of all kinds, those that wait for a load included and lines of batches not.", nil, false}
	descAllRunning = &desc{"quern_requests_running", "Sequences and requests that are worked on, by models of all kinds.", nil, false}
	descAllKV      = &desc{"quern_kv_cache_usage", "KV blocks in use of the model whose cache is fullest, 0 to 1.", nil, false}
	descAllCache   = &desc{"quern_cache_config_info", "Shape of the KV pool of the default chat model, as planned before it is loaded.", []string{"block_size", "num_blocks"}, false}

	descPreempt = &desc{"vllm:num_preemptions_total", "Sequences that gave their blocks back and waited.", byModel, true}
	descWaiting = &desc{"vllm:num_requests_waiting", "Requests queued, but for lines of batches.", byModel, false}
	descRunning = &desc{"vllm:num_requests_running", "Sequences in the batch.", byModel, false}
	descKV      = &desc{"vllm:kv_cache_usage_perc", "KV blocks in use, 0 to 1.", byModel, false}
	descCache   = &desc{"vllm:cache_config_info", "Shape of the KV pool, as planned before the model is loaded.", []string{"model_name", "block_size", "num_gpu_blocks"}, false}
	descPrompt  = &desc{"vllm:prompt_tokens_total", "Prompt tokens evaluated or taken from the cache.", byModel, true}
	descOutput  = &desc{"vllm:generation_tokens_total", "Tokens generated.", byModel, true}
	descQueries = &desc{"vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.", byModel, true}
	descHits    = &desc{"vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", byModel, true}
	// One line for all models, with vLLM's labels and no other: gateways take the one with the
	// latest time.
	descLoRA = &desc{"vllm:lora_requests_info", "When this was so, in Unix seconds: adapters that requests run and wait with, and how many may be in a batch.",
		[]string{"max_lora", "running_lora_adapters", "waiting_lora_adapters"}, false}
	descDisk = []struct {
		*desc
		of func(*engine.DiskStats) int64
	}{
		{&desc{"prefix_cache_disk_bytes", "Size of the prefix cache on disk.", nil, false}, func(d *engine.DiskStats) int64 { return d.Bytes }},
		{&desc{"prefix_cache_disk_limit_bytes", "Most that it may take.", nil, false}, func(d *engine.DiskStats) int64 { return d.Limit }},
		{&desc{"prefix_cache_disk_blocks", "KV blocks there.", nil, false}, func(d *engine.DiskStats) int64 { return d.Blocks }},
		{&desc{"prefix_cache_disk_hits_total", "Blocks read from there.", nil, true}, func(d *engine.DiskStats) int64 { return d.Hits }},
		{&desc{"prefix_cache_disk_misses_total", "Look-ups that found none there, or no more where there had been.", nil, true}, func(d *engine.DiskStats) int64 { return d.Misses }},
		{&desc{"prefix_cache_disk_writes_total", "Blocks written.", nil, true}, func(d *engine.DiskStats) int64 { return d.Writes }},
		{&desc{"prefix_cache_disk_writes_dropped_total", "Blocks that were not written, since the disk was slow or had failed.", nil, true}, func(d *engine.DiskStats) int64 { return d.Dropped }},
		{&desc{"prefix_cache_disk_evictions_total", "Blocks removed for others.", nil, true}, func(d *engine.DiskStats) int64 { return d.Evicted }},
		{&desc{"prefix_cache_disk_damaged_total", "Files that were not what they should be, and were removed.", nil, true}, func(d *engine.DiskStats) int64 { return d.Damaged }},
		{&desc{"prefix_cache_disk_errors_total", "Errors of the disk.", nil, true}, func(d *engine.DiskStats) int64 { return d.Errors }},
	}
	descBackground = &desc{"background_requests_waiting", "Lines of batches queued for a slot, which other requests do not wait for.", byModel, false}
	descDiskHits   = &desc{"prefix_cache_disk_hit_tokens_total", "Tokens whose keys and values were read from disk.", byModel, true}
	descDrafts     = &desc{"vllm:spec_decode_num_drafts_total", "Drafts of what comes next.", byModel, true}
	descDrafted    = &desc{"vllm:spec_decode_num_draft_tokens_total", "Tokens of drafts.", byModel, true}
	descAccepted   = &desc{"vllm:spec_decode_num_accepted_tokens_total", "Tokens of drafts that came next.", byModel, true}
	descPlaces     = &desc{"vllm:spec_decode_num_accepted_tokens_per_pos_total", "Tokens of drafts that came next, by place in the draft.", []string{"model_name", "position"}, true}
)

// report puts the state of the server and of every model. Models that are not resident
// have empty queues rather than none, so that gateways see their gauges.
func (s state) report(put func(d *desc, v float64, labels ...string)) {
	put(descBuild, 1, s.b.Version, s.b.Revision, runtime.Version())
	put(descTemp, float64(s.temp.Used()))
	stats := s.e.Stats()
	put(descAllWaiting, float64(stats.Waiting()))
	put(descAllRunning, float64(stats.Running()))
	put(descAllKV, stats.KVUsage())
	if c, ok := stats.Cache(); ok {
		put(descAllCache, 1, strconv.Itoa(c.BlockSize), strconv.Itoa(c.Blocks))
	}
	if s.vllm {
		for _, c := range stats.Caches() {
			put(descCache, 1, c.Model, strconv.Itoa(c.BlockSize), strconv.Itoa(c.Blocks))
		}
	}
	resident := map[string]bool{}
	var running, waiting []string // adapters
	if stats.Disk != nil {
		for _, d := range descDisk {
			put(d.desc, float64(d.of(stats.Disk)))
		}
	}
	for _, m := range stats.Models {
		resident[m.Model] = true
		put(descLoaded, 1, m.Model)
		put(descLoad, m.LoadSeconds, m.Model)
		put(descMemory, float64(m.WeightBytes), m.Model, "weights")
		put(descMemory, float64(m.CacheBytes), m.Model, "kv_cache")
		put(descBackground, float64(m.Background), m.Model)
		if stats.Disk != nil {
			put(descDiskHits, float64(m.DiskHits), m.Model)
		}
		if !s.vllm {
			continue
		}
		put(descWaiting, float64(m.Waiting), m.Model)
		put(descRunning, float64(m.Running), m.Model)
		put(descKV, m.KVUsage(), m.Model)
		put(descPrompt, float64(m.PromptTokens), m.Model)
		put(descOutput, float64(m.GeneratedTokens), m.Model)
		put(descQueries, float64(m.PrefixQueries), m.Model)
		put(descHits, float64(m.PrefixHits), m.Model)
		put(descPreempt, float64(m.Preemptions), m.Model)
		if len(m.AcceptedAt) > 0 { // as vLLM, which has these where drafts are made
			put(descDrafts, float64(m.Drafts), m.Model)
			put(descDrafted, float64(m.DraftTokens), m.Model)
			put(descAccepted, float64(m.AcceptedTokens), m.Model)
			for i, n := range m.AcceptedAt {
				put(descPlaces, float64(n), m.Model, strconv.Itoa(i))
			}
		}
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
		put(descLoaded, 0, m.ID)
		if s.vllm {
			put(descWaiting, float64(m.Waiting), m.ID)
			put(descRunning, 0, m.ID)
			put(descKV, 0, m.ID)
		}
	}
	if s.vllm && adapters > 0 {
		put(descLoRA, float64(time.Now().UnixNano())/1e9, strconv.Itoa(adapters), strings.Join(running, ","), strings.Join(waiting, ","))
	}
}
