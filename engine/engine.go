package engine

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"quern/engine/token"
	"quern/kernels/quant"
)

// Options configure an Engine. The zero value serves the built-in model.
type Options struct {
	Models   []ModelOptions // configured models, in order
	Dirs     []string       // folders whose model files are listed too
	Builtin  bool           // list the built-in model; also when nothing else is configured or found
	Aliases  map[string]string
	Defaults map[Kind]string // model of a request that names none

	Threads int    // compute threads; 0 means physical cores
	Device  string // "auto" (or ""), "cpu", "cuda"

	LoadTimeout time.Duration // how long a request waits for its model; 0 means 10 minutes
	KeepAlive   time.Duration // idle time after which a model is unloaded; 0 means 5 minutes, negative never
	MemoryLimit int64         // bytes resident models may use; 0 means what the machine has

	Defaulted ModelOptions // what a ModelOptions field left zero falls back to (Name and Path unused)

	Log *slog.Logger // nil discards

	// Progress, when not nil, is told how far a model's load is, 0 to 1.
	Progress func(model string, done float64)
}

// ModelOptions configure one model. Zero fields take Options.Defaulted's, then
// the built-in defaults given here.
type ModelOptions struct {
	Name string // public id; "" means the file's name without extension
	Path string // file or directory

	ContextLength int        // tokens one request gets; 0 means the model's own, at most 8192 unless asked for
	Slots         int        // sequences decoded together; 0 means 64
	Queue         int        // requests that may wait; 0 means 64
	Batch         int        // rows of one step; 0 means 512
	CacheType     quant.Type // KV cache: F16 (default), F32 or Q8_0
	CacheBytes    int64      // KV pool; 0 means min(context × slots, a quarter of memory)
	ChatTemplate  string     // overrides the file's
	Preload       bool       // load at start
	KeepAlive     time.Duration
	Sampling      Sampling // the model's own defaults for requests that do not say
}

// Sampling holds a model's default sampling values; nil means not set.
type Sampling struct {
	Temperature, TopP *float32
	TopK              *int
	MinP              *float32
	RepeatPenalty     *float32
	MaxTokens         int // default for chat; 0 means the rest of the context
}

// An Engine owns the loaded models.
type Engine struct{}

// New makes an Engine. It opens no model file beyond reading headers of what
// Options lists; models marked Preload are loaded by Preload.
func New(o Options) (*Engine, error) { return nil, errors.New("engine: being written") }

// Preload loads the models marked so. Readiness waits for it.
func (e *Engine) Preload(ctx context.Context) error { return nil }

// Close cancels all work, waits for it and releases every model.
func (e *Engine) Close() error { return nil }

// Models lists what is configured and found on disk, aliases too. It loads
// nothing and is cheap.
func (e *Engine) Models() []ModelInfo { return nil }

// Resolve finds the model a request means: exact id, alias, id without its
// ":quant" part when unambiguous, then without regard to case. An empty name
// is the default model of kind. kind "" accepts any.
func (e *Engine) Resolve(name string, kind Kind) (ModelInfo, error) { return ModelInfo{}, nil }

// Load makes a model resident, waiting at most Options.LoadTimeout. Loads of
// one model are shared. The other calls load by themselves; this one exists so
// that a caller's own deadline can start after loading.
func (e *Engine) Load(ctx context.Context, model string) error { return nil }

// Defaults returns a model's default sampling values.
func (e *Engine) Defaults(model string) Sampling { return Sampling{} }

// Generate answers a prompt. Breaking out of the loop cancels the work; so
// does ctx. Errors are *Error or ctx's; an error is the last thing yielded.
func (e *Engine) Generate(ctx context.Context, r GenerateRequest) iter.Seq2[Event, error] { return nil }

// Embed turns texts into vectors.
func (e *Engine) Embed(ctx context.Context, r EmbedRequest) (EmbedResult, error) {
	return EmbedResult{}, nil
}

// Tokenize shows the tokens of a prompt.
func (e *Engine) Tokenize(ctx context.Context, r TokenizeRequest) (TokenizeResult, error) {
	return TokenizeResult{}, nil
}

// Detokenize returns the text of tokens, control tokens spelled out.
func (e *Engine) Detokenize(ctx context.Context, model string, ids []token.ID) (string, error) {
	return "", nil
}

// Stats takes a snapshot.
func (e *Engine) Stats() Stats { return Stats{} }
