// Package engine is the interface between callers and an engine: requests,
// events, descriptions of models, options and errors. Package local below it
// implements the engine.
//
// Callers use texts, vectors and events; tokens, batches and devices stay
// inside. Every call that works for a request takes its context: when that ends
// the work stops before the next step and its memory is free again. Failures
// that may be shown to clients are *Error.
package engine

import (
	"context"
	"iter"
	"time"

	"quern/engine/token"
)

// A Model is one that is served, in memory or not. It may be kept as long as its engine;
// what was removed in the meantime says so when it is asked.
type Model interface {
	// Info describes the model as it is now.
	Info() ModelInfo
	// Describe tells what the model's files say of it.
	Describe(ctx context.Context) (Details, error)
	// Needs tells what the model takes of memory.
	Needs(ctx context.Context) (Needs, error)
	// Detector is what tells speech from other sound for a recogniser, which is not loaded.
	Detector() (Detector, error)
	// CheckVoice returns an error if a model that speaks is known to lack a voice, whether it
	// is loaded or not. The voices of one that is not fetched yet are not known.
	CheckVoice(voice string) error
	// Unload releases the model's memory. A model in use is refused; one that is not
	// loaded is no error.
	Unload() error
}

// A Lease is a model kept in memory for one request: its description, and the
// actions on it. An action that a model of its kind cannot do is refused with
// CodeModelNotSupported. Actions end with their context; errors are *Error or the
// context's, and an error is the last thing a sequence yields. Leaving a sequence
// cancels its work.
//
// A request holds one Lease at a time: two requests, each waiting for the model that
// the other holds, would deadlock.
type Lease interface {
	// Info describes the model as it was when it was leased.
	Info() ModelInfo
	// Defaults are the model's own sampling values.
	Defaults() Sampling
	// CheckVoice returns an error if a model that speaks lacks a voice, or the voice the
	// sounds of a language, by one of its tags; "" is the voice's own.
	CheckVoice(voice, language string) error
	// CheckConstraint returns an error if the model cannot keep to a constraint, as Generate
	// does before all else. The notes name keywords of a schema that are read as comments.
	CheckConstraint(ctx context.Context, c *Constraint) (notes []string, err error)

	// Generate answers a prompt, which it forgets once that is encoded: the sequence is
	// to be used once.
	Generate(ctx context.Context, r GenerateRequest) iter.Seq2[Event, error]
	// Embed turns texts into vectors.
	Embed(ctx context.Context, r EmbedRequest) (EmbedResult, error)
	// Rerank scores documents by a query, with a reranker or an embedding model.
	Rerank(ctx context.Context, r RerankRequest) (RerankResult, error)
	// Classify says which of a classifier's labels texts have.
	Classify(ctx context.Context, r ClassifyRequest) (ClassifyResult, error)
	// Tokenize shows the tokens of a prompt, however long it is.
	Tokenize(ctx context.Context, r TokenizeRequest) (TokenizeResult, error)
	// Infill shows the prompt that has the model fill in a text: its tokens are for Generate.
	// A model without tokens for that is refused.
	Infill(ctx context.Context, r InfillRequest) (TokenizeResult, error)
	// Detokenize returns the text of tokens, control tokens spelled out, in pieces of
	// whole characters. They are made as they are read, which may be more than once
	// and when the lease is over; a piece lasts until the next. The text breaks off
	// when ctx ends.
	Detokenize(ctx context.Context, ids []token.ID) (iter.Seq[[]byte], error)
	// Transcribe transcribes the speech of the source, segment by segment.
	Transcribe(ctx context.Context, r TranscribeRequest) iter.Seq2[Segment, error]
	// Speak renders a text, the first utterance first.
	Speak(ctx context.Context, r SpeakRequest) iter.Seq2[Speech, error]

	// Stay notes for how long the model is to stay once it is idle, as KeepAlive of a request that
	// has an action does.
	Stay(keep time.Duration)
	// Release ends the lease. It may be called more than once.
	Release()
}

type background struct{}

// InBackground marks requests under ctx as background work: text models run it only in
// slots, blocks and rows that other requests leave, and it takes no place in a queue.
func InBackground(ctx context.Context) context.Context {
	return context.WithValue(ctx, background{}, true)
}

// IsBackground reports whether requests under ctx are background work.
func IsBackground(ctx context.Context) bool { return ctx.Value(background{}) != nil }
