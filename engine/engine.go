// Package engine loads models and answers requests with them.
//
// Its callers speak of texts, vectors and events; tokens, batches and devices
// stay inside. Every call that works for a request takes its context: when
// that ends the work stops before the next step and its memory is free again.
// Failures a client can be told about are *Error.
package engine

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"quern/engine/budget"
	"quern/engine/graph"
	"quern/engine/tts"
	"quern/kernels/quant"
)

// Options configure an Engine. The zero value serves the built-in model.
type Options struct {
	Models  []ModelOptions    // configured models, in order
	Dirs    []string          // folders whose model files are listed too
	Builtin bool              // list the built-in model; also when nothing else is configured or found
	Aliases map[string]string // other names of models

	// VoiceAliases are names for voices and mixtures: "narrator" for
	// "af_bella(2)+af_sky".
	VoiceAliases map[string]string

	Defaults map[Kind]string // model of a request that names none

	Threads   int    // compute threads; 0 means physical cores
	Device    string // "auto" (or ""), "cpu", "cuda", "cuda:0,1"
	GPULayers *int   // how many layers of a model, the last ones, run on GPUs; nil means all

	LoadTimeout time.Duration // how long a request waits for its model; 0 means 10 minutes
	MemoryWait  time.Duration // how long a request waits for memory that models in use hold; 0 means 1 minute
	KeepAlive   time.Duration // idle time after which a model is unloaded; 0 means 5 minutes, negative never
	MemoryLimit int64         // bytes resident models may use; 0 means what is free at start

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

	// Fetch, with Path "", brings a model that is not on this machine when it is
	// first asked for, and returns its path. It is told progress in bytes. A
	// *Error it returns is told to clients. Name must be set.
	Fetch func(ctx context.Context, progress func(done, total int64)) (path string, err error)

	ContextLength int        // tokens one request gets; 0 means the model's own, at most 8192 unless asked for
	Slots         int        // sequences decoded together; 0 means 64
	Queue         int        // requests that may wait; 0 means 64
	Batch         int        // rows of one step; 0 means 512
	CacheType     quant.Type // KV cache: F16 (default), F32 or Q8_0, on GPUs also BF16 or F8_E4M3
	CacheBytes    int64      // KV pool; 0 means min(context × slots, a quarter of memory)
	ChatTemplate  string     // overrides the file's
	Quantize      string     // a name of QuantizeTypes: what weights of 16 or 32 bits become when they are loaded
	Detector      string     // of recognisers: a file of Silero's detector of speech; "" means the built-in one, by energy
	Preload       bool       // load at start
	KeepAlive     time.Duration
	Sampling      Sampling // the model's own defaults for requests that do not say

	// Of embeddings: what stands before queries and documents, and whether
	// vectors may be cut. nil is what the file or the table of models says.
	QueryPrefix, DocumentPrefix *string
	Matryoshka                  *bool
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
type Engine struct {
	o      Options
	log    *slog.Logger
	ctx    context.Context // of all work; ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // loads and schedulers

	backend graph.Backend
	device  string

	texts *budget.Budget // of text in work

	pronouncer func() (*tts.Pronouncer, error) // unpacked when first asked for

	mu      sync.Mutex
	fixed   []*entry // configured, in order
	folders []*folder
	builtin *entry
	voice   *entry   // built in
	listed  []*entry // what catalog found last
	scanned time.Time

	open    func(context.Context, *entry) (loaded, error) // openModel, but for tests
	live    []*entry                                      // whose models are loaded
	loads   []*load                                       // under way
	tickets int64
	closing int64 // bytes of models that are being closed
}

// New makes an Engine. It reads the headers of what Options lists and loads
// nothing; models marked Preload are loaded by Preload.
func New(o Options) (*Engine, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.LoadTimeout = cmp.Or(o.LoadTimeout, 10*time.Minute)
	o.MemoryWait = cmp.Or(o.MemoryWait, time.Minute)
	o.KeepAlive = cmp.Or(o.KeepAlive, 5*time.Minute)
	e := &Engine{o: o, log: o.Log, texts: &budget.Budget{Total: textBudget, Least: textLeast, Reserve: textReserve}, pronouncer: sync.OnceValues(func() (*tts.Pronouncer, error) { return tts.NewPronouncer(nil) })}
	e.open = e.openModel
	if err := e.configure(); err != nil {
		return nil, err
	}
	if err := e.checkVoiceAliases(); err != nil {
		return nil, err
	}
	backend, name, err := openDevice(o.Device, deviceOptions{threads: o.Threads, layers: gpuLayers(o.GPULayers), log: o.Log})
	if err != nil {
		return nil, err
	}
	e.backend, e.device = backend, name
	if e.o.MemoryLimit <= 0 {
		e.o.MemoryLimit = memoryFor(backend, o.GPULayers)
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.mu.Lock()
	defer e.mu.Unlock()
	for to := range o.Aliases {
		if e.find(o.Aliases[to]) == nil {
			e.log.Warn("alias of a model that is not there", "alias", to, "model", o.Aliases[to])
		}
	}
	for kind, name := range o.Defaults {
		if _, err := e.lookup(name, kind); err != nil {
			e.log.Warn("default that cannot be used", "kind", kind, "model", name, "err", err)
		}
	}
	return e, nil
}

// Device names what models run on: "cpu" or "cuda".
func (e *Engine) Device() string { return e.device }

// Preload loads the models marked so, one after another. Readiness waits for
// it.
func (e *Engine) Preload(ctx context.Context) error {
	for _, n := range e.catalog() {
		if !n.o.Preload {
			continue
		}
		if err := e.Load(ctx, n.id); err != nil {
			return err
		}
	}
	return nil
}

// Load makes a model resident, waiting at most Options.LoadTimeout. Loads of
// one model are shared. The other calls load by themselves; this one exists so
// that a caller's own deadline can start after loading.
func (e *Engine) Load(ctx context.Context, name string) error {
	lease, err := e.Lease(ctx, name)
	lease.Release()
	return err
}

// Close cancels all work, waits for it and releases every model.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.cancel()
	var shut []func()
	for _, n := range slices.Clone(e.live) {
		shut = append(shut, e.detach(n))
	}
	e.mu.Unlock()
	for _, shut := range shut {
		shut()
	}
	e.work.Wait()
	return e.backend.Close()
}

// Stats takes a snapshot of the resident models.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	var s Stats
	for _, n := range e.catalogLocked() {
		if n.model != nil {
			m := n.model.stats(n)
			m.Waiting += n.waiting()
			s.Models = append(s.Models, m)
		}
	}
	return s
}
