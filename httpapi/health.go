package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

type healthStatus struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// serveHealth answers that the process serves, whatever the state of the models.
func serveHealth(a *server.API, c *server.Call) error {
	return a.WriteJSON(c, 200, healthStatus{Status: "ok"})
}

// serveReady reports whether new work should be sent here or, with ?model=NAME, new work for
// a model. Requests that name a model need a key, as with /v1/models.
func serveReady(a *server.API, c *server.Call) error {
	q := c.R.URL.Query()
	if q.Has("model") && !a.Knows(c.R) {
		return fault.New(fault.CodeInvalidKey, "", "Incorrect or missing API key: /readyz tells of single models as /v1/models does; ask without model, or the operations listener.")
	}
	status, answer, err := readiness(a, q)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		c.W.Header().Set("Retry-After", "1")
	}
	return a.WriteJSON(c, status, answer)
}

// readiness is the answer of /readyz. The error is of a model that does
// not exist.
func readiness(a *server.API, q url.Values) (status int, answer healthStatus, err error) {
	reason := a.Unready()
	if q.Has("model") {
		found, err := a.Options.Engine.Find(q.Get("model"))
		if err != nil {
			return 0, healthStatus{}, err
		}
		m := found.Info()
		switch {
		case a.Leaving():
		case m.Status == "loaded": // others may still be loading
			reason = ""
		default:
			reason = fmt.Sprintf("model %q is %s", m.ID, m.Status)
		}
	}
	if reason != "" {
		return http.StatusServiceUnavailable, healthStatus{Status: "unavailable", Reason: reason}, nil
	}
	return http.StatusOK, healthStatus{Status: "ok"}, nil
}

// serveMetrics answers GET /metrics.
func serveMetrics(a *server.API, c *server.Call) error {
	a.Metrics.Handler.ServeHTTP(c.W, c.R)
	return nil
}

// serveSettings shows the limits and timeouts in effect, so that none of them is
// hidden. Durations are spelled as the configuration spells them; "0s" is off.
func serveSettings(a *server.API, c *server.Call) error {
	span := func(d time.Duration) string { return max(d, 0).String() }
	overrides := map[string]string{}
	for path, d := range a.Options.RequestTimeouts {
		overrides[path] = span(d)
	}
	type limits struct {
		JSONBody          int64 `json:"json_body"`
		Upload            int64 `json:"upload"`
		TempFiles         int64 `json:"temp_files"`
		SpeechChars       int   `json:"speech_chars"`
		Headers           int   `json:"headers"`
		EmbeddingInputs   int   `json:"embedding_inputs"`
		Prompts           int   `json:"prompts"`
		MaxN              int   `json:"max_n"`
		MaxBestOf         int   `json:"max_best_of"`
		MaxLogprobs       int   `json:"max_logprobs"`
		TopLogprobs       int   `json:"max_top_logprobs"`
		DefaultMaxTokens  int   `json:"default_max_tokens"`
		CompletionsTokens int   `json:"completions_max_tokens"`
		Objects           int   `json:"objects"`
		BodyRate          int   `json:"body_bytes_per_second"`

		RealtimeSessions int    `json:"realtime_sessions"`
		RealtimeMessage  int64  `json:"realtime_message"`
		RealtimeEvents   int    `json:"realtime_events"`
		RealtimeItems    int    `json:"realtime_items"`
		RealtimeAudio    string `json:"realtime_audio"`

		ResponsesKept       bool  `json:"responses_kept"`
		ResponsesBytes      int64 `json:"responses_bytes"`
		ResponsesCount      int   `json:"responses_count"`
		ResponsesBackground int   `json:"responses_background"`
	}
	type timeouts struct {
		Request   string            `json:"request_timeout"`
		Overrides map[string]string `json:"request_timeout_overrides"`
		Load      string            `json:"load_timeout"`
		Memory    string            `json:"memory_wait"`
		Write     string            `json:"stream_write_timeout"`
		Stall     string            `json:"stall_timeout"`
		KeepAlive string            `json:"keepalive_interval"`
		Header    string            `json:"header_delay"`
		Body      string            `json:"body_idle_timeout"`
		Read      string            `json:"read_header_timeout"`
		Idle      string            `json:"idle_timeout"`
		Delay     string            `json:"shutdown_delay"`
		Grace     string            `json:"shutdown_grace"`

		RealtimeIdle  string `json:"realtime_idle"`
		RealtimeTotal string `json:"realtime_total"`
		ResponsesAge  string `json:"responses_age"`
	}
	o := &a.Options
	names := []string{}
	for _, k := range a.Keys() {
		names = append(names, k.Name)
	}
	return a.WriteJSON(c, 200, struct {
		Object   string   `json:"object"`
		Version  string   `json:"version"`
		Started  int64    `json:"started"`
		Auth     bool     `json:"auth"`
		Keys     []string `json:"keys"`          // by name
		Key      string   `json:"key,omitempty"` // of them the caller's
		Manage   bool     `json:"manage"`        // the caller may pull and remove models
		Limits   limits   `json:"limits"`
		Timeouts timeouts `json:"timeouts"`
	}{
		"server", o.Version, a.Started.Unix(), len(names) > 0, names, c.KeyName(), a.Manages(c),
		limits{
			o.JSONBody, o.Upload, o.TempFiles, o.SpeechChars, server.MaxHeaderBytes, server.MaxEmbedInputs, server.MaxPrompts, o.MaxN, o.MaxBestOf, o.MaxLogprobs,
			server.MostLogprobs, o.DefaultMaxTokens, o.CompletionsTokens, body.MaxObjects, server.LeastBodyRate,
			o.Realtime.Sessions, o.Realtime.Message, o.Realtime.Events, o.Realtime.Items, span(o.Realtime.Audio),
			!o.Responses.Off, o.Responses.Bytes, o.Responses.Count, o.Responses.Background,
		},
		timeouts{
			span(o.RequestTimeout), overrides, span(o.LoadTimeout), span(o.MemoryWait), span(o.StreamWrite), span(o.Stall), span(o.KeepAlive),
			span(o.HeaderDelay), span(o.BodyIdle), span(o.ReadHeader), span(o.Idle), span(o.ShutdownDelay), span(o.ShutdownGrace),
			span(o.Realtime.Idle), span(o.Realtime.Total), span(o.Responses.Age),
		},
	})
}
