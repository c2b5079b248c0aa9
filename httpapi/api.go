// Package httpapi serves an engine over HTTP in the dialect of OpenAI's API.
//
// It turns JSON into engine requests and engine events into JSON or
// server-sent events. It keeps no state about models or conversations.
package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/julienschmidt/httprouter"

	"quern/engine"
	"quern/engine/budget"
	"quern/httpapi/spool"
)

// An Engine does the work. *local.Engine is one.
type Engine interface {
	// Models lists what is served. Find describes one of them by any name it goes by.
	Models() []engine.ModelInfo
	Find(name string, kinds ...engine.Kind) (engine.ModelInfo, error)
	// Voices lists the speakers of all models.
	Voices() []engine.Voice
	// Open makes the model a request names ready for it.
	Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error)
	// Unload releases a model's memory.
	Unload(name string) error
	// Phonemize tells how a text is pronounced.
	Phonemize(ctx context.Context, text, language string) ([]engine.Pronunciation, error)
	Stats() engine.Stats
}

// Options configure an API. Zero fields take the defaults given here; a
// negative duration switches that timeout off.
type Options struct {
	Engine Engine // required

	Keys   []Key // who may call; none means everybody
	NoAuth bool  // no keys on purpose: Serve accepts an address other machines can reach

	// BoundLoopback makes requests for a foreign Host fail while there are no
	// keys. Serve sets it by the address it serves.
	BoundLoopback  bool
	AllowedHosts   []string // Host values accepted beside loopback and private addresses
	AllowedOrigins []string // web origins, one "*" each allowed; nil means pages of this machine and app://*

	// Zero means the constant below that is named alike, where there is one.
	JSONBody          int64 // bytes of a JSON body, inflated
	Upload            int64 // bytes of a multipart body
	TempFiles         int64 // bytes of uploads and of sound to be answered in one piece, of all requests together
	SpeechChars       int   // characters of a text to be spoken
	MaxN              int   // largest n
	MaxBestOf         int   // largest best_of; 0 means 16
	MaxLogprobs       int   // largest logprobs of /v1/completions, at most MostLogprobs
	DefaultMaxTokens  int   // of a chat reply that sets no limit and whose model sets none; 0 means the rest of the context
	CompletionsTokens int   // max_tokens of /v1/completions when absent

	RequestTimeout  time.Duration            // of requests answered in one piece
	RequestTimeouts map[string]time.Duration // the same for single paths, as "/v1/embeddings"
	LoadTimeout     time.Duration            // a request's wait for its model; 0 means engine.DefaultLoadTimeout
	MemoryWait      time.Duration            // of that, the engine's wait for memory: only shown by /v1/server; 0 means engine.DefaultMemoryWait
	StreamWrite     time.Duration            // one write to a client
	Stall           time.Duration            // a stream without an event of the engine; 0 means off
	KeepAlive       time.Duration            // silence after which a stream sends a comment
	HeaderDelay     time.Duration            // from admission to the header of a stream without a token
	BodyIdle        time.Duration            // a body without a byte; 0 means 60 s
	ReadHeader      time.Duration            // 0 means 30 s
	Idle            time.Duration            // a connection between requests; 0 means 120 s
	ShutdownGrace   time.Duration            // for work in flight
	MetricsPublic   bool                     // /metrics needs no key
	VLLMNames       *bool                    // metrics under vLLM's names; nil means true
	Version         string                   // shown by /v1/server
	Log             *slog.Logger             // nil discards; with a LogHandler, lines name their request
}

// MostLogprobs is the largest top_logprobs of a chat, and what MaxLogprobs may be.
const MostLogprobs = 20

// What options that are zero stand for. The settings of quern name these too, so that a
// default stands in one place.
const (
	DefaultJSONBody          = 16 << 20
	DefaultUpload            = 512 << 20
	DefaultTempFiles         = 8 << 30
	DefaultSpeechChars       = 50000
	DefaultMaxN              = 8
	DefaultMaxLogprobs       = 5
	DefaultCompletionsTokens = 16

	DefaultRequestTimeout = 60 * time.Second
	DefaultStreamWrite    = 30 * time.Second
	DefaultKeepAlive      = 15 * time.Second
	DefaultHeaderDelay    = 5 * time.Second
	DefaultShutdownGrace  = 30 * time.Second
)

// DefaultOrigins are the pages that may call an API without AllowedOrigins.
func DefaultOrigins() []string {
	return []string{
		"http://localhost:*", "https://localhost:*", "http://127.0.0.1:*", "https://127.0.0.1:*",
		"http://[::1]:*", "https://[::1]:*", "app://*",
	}
}

// The limits no option changes.
const (
	maxHeaderBytes  = 64 << 10
	maxEmbedInputs  = 2048
	maxPrompts      = 2048
	maxStops        = 16
	maxStopBytes    = 256
	maxUnknownNames = 1000 // unknown fields remembered so that each is logged once
)

// An API is the HTTP face of an engine.
type API struct {
	o       Options
	router  *httprouter.Router
	metrics *metrics
	log     *slog.Logger
	floods  floods
	started time.Time

	ready    atomic.Pointer[string] // why not ready; nil when ready
	loopback atomic.Bool
	work     gate
	bodies   budget.Budget // of large JSON bodies
	temp     *spool.Pool

	unknownMu sync.Mutex
	unknown   map[string]bool // fields already logged, by path and name
}

// New makes an API. It fails on options that contradict each other.
func New(o Options) (*API, error) {
	if o.Engine == nil {
		return nil, errors.New("httpapi: no engine")
	}
	if err := o.fill(); err != nil {
		return nil, err
	}
	a := &API{o: o, log: o.Log, floods: floods{log: o.Log}, started: time.Now(), unknown: map[string]bool{}, temp: spool.NewPool(o.TempFiles)}
	a.bodies.Total = bodyBudgets * o.JSONBody
	a.loopback.Store(o.BoundLoopback)
	a.metrics = newMetrics(o.Engine, a.temp, *o.VLLMNames, a.log)
	a.router = a.newRouter()
	for path := range o.RequestTimeouts {
		if !slices.ContainsFunc(a.allRoutes(), func(r route) bool { return r.path == path }) {
			return nil, fmt.Errorf("httpapi: request_timeout_overrides: there is no endpoint %q", path)
		}
	}
	return a, nil
}

func (o *Options) fill() error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.VLLMNames == nil {
		on := true
		o.VLLMNames = &on
	}
	if o.AllowedOrigins == nil {
		o.AllowedOrigins = DefaultOrigins()
	}
	for _, p := range o.AllowedOrigins {
		if strings.Count(p, "*") > 1 {
			return fmt.Errorf("httpapi: allowed origin %q has more than one *", p)
		}
	}
	if err := orDefault([]option[int]{
		{"limit of spoken characters", &o.SpeechChars, DefaultSpeechChars},
		{"max n", &o.MaxN, DefaultMaxN},
		{"max best_of", &o.MaxBestOf, 16},
		{"max logprobs", &o.MaxLogprobs, DefaultMaxLogprobs},
		{"completions max_tokens", &o.CompletionsTokens, DefaultCompletionsTokens},
		{"default max_tokens", &o.DefaultMaxTokens, 0},
	}); err != nil {
		return err
	}
	if o.MaxLogprobs > MostLogprobs {
		return fmt.Errorf("httpapi: max logprobs is %d, more than %d", o.MaxLogprobs, MostLogprobs)
	}
	if err := orDefault([]option[int64]{
		{"limit of JSON bodies", &o.JSONBody, DefaultJSONBody},
		{"limit of uploads", &o.Upload, DefaultUpload},
		{"limit of temporary files", &o.TempFiles, DefaultTempFiles},
	}); err != nil {
		return err
	}
	for _, d := range []struct {
		v    *time.Duration
		zero time.Duration
	}{
		{&o.RequestTimeout, DefaultRequestTimeout},
		{&o.LoadTimeout, engine.DefaultLoadTimeout},
		{&o.MemoryWait, engine.DefaultMemoryWait},
		{&o.StreamWrite, DefaultStreamWrite},
		{&o.KeepAlive, DefaultKeepAlive},
		{&o.HeaderDelay, DefaultHeaderDelay},
		{&o.BodyIdle, 60 * time.Second},
		{&o.ReadHeader, 30 * time.Second},
		{&o.Idle, 120 * time.Second},
		{&o.ShutdownGrace, DefaultShutdownGrace},
	} {
		if *d.v == 0 {
			*d.v = d.zero
		}
	}
	return nil
}

// An option is a number that may not be negative, and what zero stands for.
type option[T int | int64] struct {
	name string
	v    *T
	zero T
}

func orDefault[T int | int64](list []option[T]) error {
	for _, n := range list {
		if *n.v < 0 {
			return fmt.Errorf("httpapi: %s is %d", n.name, *n.v)
		}
		*n.v = cmp.Or(*n.v, n.zero)
	}
	return nil
}

// SetReady says why /readyz should answer 503; "" makes it answer 200.
func (a *API) SetReady(reason string) {
	if reason == "" {
		a.ready.Store(nil)
		return
	}
	a.ready.Store(&reason)
}

// requestTimeout returns the limit of a route and the configuration key that
// sets it.
func (a *API) requestTimeout(path string) (d time.Duration, key string) {
	if d, ok := a.o.RequestTimeouts[path]; ok {
		return d, fmt.Sprintf("request_timeout_overrides[%q]", path)
	}
	return a.o.RequestTimeout, "request_timeout"
}

// withRequestTimeout starts the clock of a request that is answered in one
// piece. It starts after the model is loaded.
func (a *API) withRequestTimeout(ctx context.Context, c *call) (context.Context, context.CancelFunc) {
	d, key := a.requestTimeout(c.route.path)
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, fail(codeRequestTimeout, "",
		"the request took longer than %s (%v); raise it, ask for fewer tokens, or set \"stream\": true", key, d))
}

// inTime has the engine answer a request in one piece, in the time there is for that.
func inTime[Q, R any](a *API, c *call, ask func(context.Context, Q) (R, error), q Q) (R, error) {
	ctx, cancel := a.withRequestTimeout(c.r.Context(), c)
	defer cancel()
	res, err := ask(ctx, q)
	if err != nil {
		err = classify(ctx, err)
	}
	return res, err
}

// prepare finds the model a request names, which has to be of one of kinds, and makes
// it resident for the rest of the call.
func (a *API) prepare(c *call, model string, kinds ...engine.Kind) (engine.ModelInfo, error) {
	begin, ctx := time.Now(), c.r.Context()
	if d := a.o.LoadTimeout; d > 0 {
		what := "the model"
		if model != "" {
			what = fmt.Sprintf("model %.100q", model)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, fail(codeLoadTimeout, "",
			"%s was not loaded within load_timeout (%v); loading goes on, so try again later or raise load_timeout", what, d))
		defer cancel()
	}
	c.release() // a request that holds one model must not wait for another
	lease, err := a.o.Engine.Open(ctx, model, kinds...)
	if err != nil {
		return engine.ModelInfo{}, classify(ctx, err)
	}
	c.lease, c.loading = lease, time.Since(begin)
	return lease.Info(), nil
}

// A body is what a request says: an object or a form.
type body interface {
	strays() []stray // fields nobody asked for
	err() error
}

var _ http.Handler = (*API)(nil)
