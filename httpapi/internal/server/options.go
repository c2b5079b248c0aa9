package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"quern/engine"
	"quern/httpapi/internal/guard"
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

	Keys   []guard.Key // who may call; none means everybody
	NoAuth bool        // no keys on purpose: Serve accepts an address other machines can reach

	// BoundLoopback makes requests for a foreign Host fail while there are no
	// keys. Serve sets it by the address it serves.
	BoundLoopback  bool
	AllowedHosts   []string // Host values accepted beside loopback and private addresses
	AllowedOrigins []string // web origins, one "*" each allowed; nil means pages of this machine and app://*

	JSONBody          int64 // bytes of a JSON body, inflated; 0 means 16 MiB
	Upload            int64 // bytes of a multipart body; 0 means 512 MiB
	TempFiles         int64 // bytes of uploads and of sound to be answered in one piece, of all requests together; 0 means 8 GiB
	SpeechChars       int   // characters of a text to be spoken; 0 means 50,000
	MaxN              int   // largest n; 0 means 8
	MaxBestOf         int   // largest best_of; 0 means 16
	MaxLogprobs       int   // largest logprobs of /v1/completions; 0 means 5, at most 20
	DefaultMaxTokens  int   // of a chat reply that sets no limit and whose model sets none; 0 means the rest of the context
	CompletionsTokens int   // max_tokens of /v1/completions when absent; 0 means 16

	RequestTimeout  time.Duration            // of requests answered in one piece; 0 means 60 s
	RequestTimeouts map[string]time.Duration // the same for single paths, as "/v1/embeddings"
	LoadTimeout     time.Duration            // a request's wait for its model; 0 means 10 min
	MemoryWait      time.Duration            // of that, the engine's wait for memory: only shown by /v1/server; 0 means 1 min
	StreamWrite     time.Duration            // one write to a client; 0 means 30 s
	Stall           time.Duration            // a stream without an event of the engine; 0 means off
	KeepAlive       time.Duration            // silence after which a stream sends a comment; 0 means 15 s
	HeaderDelay     time.Duration            // from admission to the header of a stream without a token; 0 means 5 s
	BodyIdle        time.Duration            // a body without a byte; 0 means 60 s
	ReadHeader      time.Duration            // 0 means 30 s
	Idle            time.Duration            // a connection between requests; 0 means 120 s
	ShutdownGrace   time.Duration            // for work in flight; 0 means 30 s
	MetricsPublic   bool                     // /metrics needs no key
	VLLMNames       *bool                    // metrics under vLLM's names; nil means true
	Version         string                   // shown by /v1/server
	Log             *slog.Logger             // nil discards; with a LogHandler, lines name their request
}

// MostLogprobs is the largest top_logprobs of a chat, and what MaxLogprobs may be.
const MostLogprobs = 20

// The limits no option changes.
const (
	MaxHeaderBytes = 64 << 10
	MaxEmbedInputs = 2048
	MaxPrompts     = 2048
)

func (o *Options) fill() error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.VLLMNames == nil {
		on := true
		o.VLLMNames = &on
	}
	if o.AllowedOrigins == nil {
		o.AllowedOrigins = []string{
			"http://localhost:*", "https://localhost:*", "http://127.0.0.1:*", "https://127.0.0.1:*",
			"http://[::1]:*", "https://[::1]:*", "app://*",
		}
	}
	for _, p := range o.AllowedOrigins {
		if strings.Count(p, "*") > 1 {
			return fmt.Errorf("httpapi: allowed origin %q has more than one *", p)
		}
	}
	for _, n := range []struct {
		name string
		v    *int
		zero int
	}{
		{"limit of spoken characters", &o.SpeechChars, 50000},
		{"max n", &o.MaxN, 8},
		{"max best_of", &o.MaxBestOf, 16},
		{"max logprobs", &o.MaxLogprobs, 5},
		{"completions max_tokens", &o.CompletionsTokens, 16},
		{"default max_tokens", &o.DefaultMaxTokens, 0},
	} {
		if *n.v < 0 {
			return fmt.Errorf("httpapi: %s is %d", n.name, *n.v)
		}
		*n.v = cmp.Or(*n.v, n.zero)
	}
	if o.MaxLogprobs > MostLogprobs {
		return fmt.Errorf("httpapi: max logprobs is %d, more than %d", o.MaxLogprobs, MostLogprobs)
	}
	for _, n := range []struct {
		name string
		v    *int64
		zero int64
	}{
		{"JSON bodies", &o.JSONBody, 16 << 20},
		{"uploads", &o.Upload, 512 << 20},
		{"temporary files", &o.TempFiles, 8 << 30},
	} {
		if *n.v < 0 {
			return fmt.Errorf("httpapi: limit of %s is %d", n.name, *n.v)
		}
		*n.v = cmp.Or(*n.v, n.zero)
	}
	for _, d := range []struct {
		v    *time.Duration
		zero time.Duration
	}{
		{&o.RequestTimeout, 60 * time.Second},
		{&o.LoadTimeout, 10 * time.Minute},
		{&o.MemoryWait, time.Minute},
		{&o.StreamWrite, 30 * time.Second},
		{&o.KeepAlive, 15 * time.Second},
		{&o.HeaderDelay, 5 * time.Second},
		{&o.BodyIdle, 60 * time.Second},
		{&o.ReadHeader, 30 * time.Second},
		{&o.Idle, 120 * time.Second},
		{&o.ShutdownGrace, 30 * time.Second},
	} {
		*d.v = cmp.Or(*d.v, d.zero)
	}
	return nil
}
