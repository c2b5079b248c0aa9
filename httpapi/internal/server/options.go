package server

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"quern/engine"
	"quern/engine/trace"
	"quern/httpapi/audit"
	"quern/httpapi/internal/guard"
)

// An Engine does the work. *local.Engine is one.
type Engine interface {
	// Models lists what is served, and Voices the speakers of all of it.
	Models() []engine.ModelInfo
	Voices() []engine.Voice
	// Find finds a model by any name it goes by. It loads nothing.
	Find(name string, kinds ...engine.Kind) (engine.Model, error)
	// Open makes the model a request names ready for it.
	Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error)
	// Phonemize tells how a text is pronounced.
	Phonemize(ctx context.Context, r engine.PhonemizeRequest) ([]engine.Pronunciation, error)
	Stats() engine.Stats
}

// A Store is the folder that models are pulled into. *store.Store is one.
type Store interface {
	// Pull has a model of the hub fetched and tells how far that is, until it is done or
	// the caller stops reading the sequence.
	Pull(ctx context.Context, model string) iter.Seq2[engine.Pull, error]
	// Pulls lists what is being pulled, and what was not pulled to its end.
	Pulls() ([]engine.Pull, error)
	// Stop ends a pull; discard throws away what has arrived.
	Stop(ctx context.Context, model string, discard bool) error
	// Removable reports whether a model was pulled, and may be removed when no request uses it.
	Removable(id string) bool
	// Remove deletes the files of such a model and returns how many bytes that were.
	Remove(ctx context.Context, id string) (bytes int64, err error)
}

// An Auditor writes down who asked what of which model. *audit.Log is one.
type Auditor interface {
	Write(audit.Entry) error
}

// A Tracer collects spans of requests.
type Tracer interface {
	// Request begins the span of a request, as part of the trace its header names.
	Request(h http.Header, name string, at time.Time, facts ...slog.Attr) trace.Span
}

// Options configure an API. Zero fields take the defaults given here; a
// negative duration switches that timeout off.
type Options struct {
	Engine Engine // required

	// Store is where models are pulled into and removed from, by who may: callers without
	// keys when only this machine can connect, those whose key says so, and all
	// clients with ManageAll. nil: none.
	Store     Store
	ManageAll bool

	// Jobs are files and batches; nil: there are none.
	Jobs Jobs

	Keys   []guard.Key // who may call at first, see SetKeys; without any, every caller
	NoAuth bool        // no keys on purpose: Serve accepts an address other machines can reach

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
	MaxBestOf         int   // largest best_of, at least MaxN; 0 means 16
	MaxLogprobs       int   // largest logprobs of /v1/completions, at most MostLogprobs
	DefaultMaxTokens  int   // of a chat reply that sets no limit and whose model sets none; 0 means the rest of the context
	CompletionsTokens int   // max_tokens of /v1/completions when absent

	ReasoningField   ReasoningField // where chats show thinking; "" means ReasoningContent
	ReasoningBudgets map[string]int // most tokens of thinking by effort, where a chat names no budget

	Connections     int                      // open at a time, more wait to be accepted; 0: no bound
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
	ShutdownDelay   time.Duration            // unready but at work, before it shuts down; 0 means none
	ShutdownGrace   time.Duration            // for work in flight
	Realtime        Realtime                 // limits of /v1/realtime
	Responses       Responses                // what is kept of /v1/responses
	MetricsPublic   bool                     // /metrics needs no key
	Page            bool                     // serve the page people use, at /
	VLLMNames       *bool                    // metrics under vLLM's names; nil means true
	Version         string                   // shown by /v1/server and /metrics
	Revision        string                   // of the source, shown by /metrics
	Instance        string                   // what answers call this server, in the header x-quern-instance; "" has none
	Audit           Auditor                  // records every request but those that need no key; nil: none is recorded
	Tracer          Tracer                   // collects spans of requests; nil: none
	Now             func() time.Time         // the clock of limits; nil is the clock
	Log             *slog.Logger             // nil discards; with a LogHandler, lines name their request
}

// Realtime limits the sessions of /v1/realtime. Zero fields take the constants below.
type Realtime struct {
	Sessions int           // at a time
	Message  int64         // bytes of one event of a client
	Events   int           // events of a client a second; more wait
	Items    int           // of a conversation
	Audio    time.Duration // sound of a turn, and of a session that is not transcribed yet
	Step     time.Duration // new sound before a turn under way is transcribed again, at least; negative: turns are when they end
	Idle     time.Duration // a session without an event
	Total    time.Duration // a session
}

// Responses say what is kept of /v1/responses, for the key that made it. Zero numbers take the
// constants below.
type Responses struct {
	Off        bool          // nothing is kept, so nothing can be retrieved or continued
	Archive    Archive       // where they are kept; nil: in memory
	Bytes      int64         // of all; the oldest of the key that has most goes first
	Count      int           // of all, the same
	Age        time.Duration // since a response was made, or continued by another
	Background int           // at work at a time
	OwnTools   bool          // tools this server does not run are refused, not left out with a warning
}

// What numbers of Responses that are zero stand for.
const (
	DefaultResponsesBytes      = 256 << 20
	DefaultResponsesCount      = 10_000
	DefaultResponsesAge        = time.Hour
	DefaultResponsesBackground = 16
)

// What fields of Realtime that are zero stand for.
const (
	DefaultRealtimeSessions = 16
	DefaultRealtimeMessage  = 4 << 20
	DefaultRealtimeEvents   = 200
	DefaultRealtimeItems    = 1000
	DefaultRealtimeAudio    = 3 * time.Minute
	DefaultRealtimeStep     = 500 * time.Millisecond
	DefaultRealtimeIdle     = 15 * time.Minute
	DefaultRealtimeTotal    = time.Hour
)

// A ReasoningField says where the answers of chats show thinking.
type ReasoningField string

// The fields.
const (
	ReasoningContent ReasoningField = "reasoning_content" // as of llama-server, DeepSeek and SGLang
	ReasoningPlain   ReasoningField = "reasoning"         // as of vLLM, Ollama and OpenRouter
	ReasoningBoth    ReasoningField = "both"
	ReasoningInline  ReasoningField = "inline" // in the content, between <think> and </think>
)

// ReasoningFields are all of them.
func ReasoningFields() []string {
	return []string{string(ReasoningContent), string(ReasoningPlain), string(ReasoningBoth), string(ReasoningInline)}
}

// ReasoningEfforts are those a chat may name, least first.
func ReasoningEfforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}

// MostLogprobs is the largest top_logprobs of a chat, and what MaxLogprobs may be.
const MostLogprobs = 20

// What options that are zero stand for.
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
		{"realtime sessions", &o.Realtime.Sessions, DefaultRealtimeSessions},
		{"realtime events a second", &o.Realtime.Events, DefaultRealtimeEvents},
		{"realtime items", &o.Realtime.Items, DefaultRealtimeItems},
		{"number of responses", &o.Responses.Count, DefaultResponsesCount},
		{"responses in the background", &o.Responses.Background, DefaultResponsesBackground},
	}); err != nil {
		return err
	}
	o.MaxBestOf = max(o.MaxBestOf, o.MaxN)
	o.ReasoningField = cmp.Or(o.ReasoningField, ReasoningContent)
	if !slices.Contains(ReasoningFields(), string(o.ReasoningField)) {
		return fmt.Errorf("httpapi: reasoning field is %q, none of %s", o.ReasoningField, strings.Join(ReasoningFields(), ", "))
	}
	for effort, n := range o.ReasoningBudgets {
		if !slices.Contains(ReasoningEfforts()[1:], effort) || n < 0 {
			return fmt.Errorf("httpapi: %d tokens of thinking for the effort %q; efforts are %s", n, effort, strings.Join(ReasoningEfforts()[1:], ", "))
		}
	}
	if o.MaxLogprobs > MostLogprobs {
		return fmt.Errorf("httpapi: max logprobs is %d, more than %d", o.MaxLogprobs, MostLogprobs)
	}
	if err := orDefault([]option[int64]{
		{"limit of JSON bodies", &o.JSONBody, DefaultJSONBody},
		{"limit of uploads", &o.Upload, DefaultUpload},
		{"limit of temporary files", &o.TempFiles, DefaultTempFiles},
		{"limit of realtime events", &o.Realtime.Message, DefaultRealtimeMessage},
		{"limit of responses", &o.Responses.Bytes, DefaultResponsesBytes},
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
		{&o.Realtime.Audio, DefaultRealtimeAudio},
		{&o.Realtime.Step, DefaultRealtimeStep},
		{&o.Realtime.Idle, DefaultRealtimeIdle},
		{&o.Realtime.Total, DefaultRealtimeTotal},
		{&o.Responses.Age, DefaultResponsesAge},
	} {
		*d.v = cmp.Or(*d.v, d.zero)
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
