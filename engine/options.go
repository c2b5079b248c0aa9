package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"quern/kernels/quant"
)

// Options configure an Engine. The zero value serves the built-in model.
type Options struct {
	Models []ModelOptions // configured models, in order
	Dirs   []string       // folders whose model files are listed too
	Store  string         // folder that models are pulled into; its files are listed too, behind all others. It need not be there yet
	// Stored is the path of the model of Store that a name means as pulls are asked for it, ""
	// where there is none. nil knows no such names.
	Stored  func(name string) (path string)
	Builtin bool              // list the built-in model; also when nothing else is configured or found
	Aliases map[string]string // other names of models

	// VoiceAliases are names for voices and mixtures: "narrator" for
	// "af_bella(2)+af_sky".
	VoiceAliases map[string]string

	Defaults map[Kind]string // model of a request that names none

	Threads   int    // compute threads; 0 means physical cores
	Device    string // "auto" (or ""), "cpu", "cuda", "cuda:0,1"
	GPULayers *int   // how many layers of a model, the last ones, run on GPUs; nil means all

	// InFileOrder has the processor use weights as they lie in the file only, and not copy
	// those that are multiplied faster in another order.
	InFileOrder bool

	LoadTimeout time.Duration // how long a request waits for its model; 0 means DefaultLoadTimeout
	MemoryWait  time.Duration // how long a request waits for memory that models in use hold; 0 means DefaultMemoryWait
	KeepAlive   time.Duration // idle time after which a model is unloaded; 0 means DefaultKeepAlive, negative never
	MemoryLimit int64         // bytes resident models may use; 0 means the memory that is free at start

	Defaulted ModelOptions // values of ModelOptions fields that are left zero (Name and Path unused)

	PrefixCache PrefixCache // blocks of prompts that outlive the process

	NoToolFallback bool // refuse tools where a template shows none, instead of describing them to the model

	Log *slog.Logger // nil discards

	// Progress, when not nil, is called with how far a model's load is, 0 to 1.
	Progress func(model string, done float64)
}

// A PrefixCache is a folder for keys and values of prompts and replies, which are found there
// after a restart. Servers may share it.
type PrefixCache struct {
	Dir  string // made where it is missing, but not the folder above it; "" keeps nothing
	Size int64  // bytes it may take; 0 means DefaultPrefixCache
}

// Defaults of options that are zero. The settings of quern use these too, so that a
// default stands in one place.
const (
	DefaultLoadTimeout = 10 * time.Minute
	DefaultMemoryWait  = time.Minute
	DefaultKeepAlive   = 5 * time.Minute

	DefaultSlots     = 64   // sequences of a model decoded together
	DefaultQueue     = 64   // requests that may wait for a model
	DefaultBatch     = 512  // rows of a step
	DefaultContext   = 8192 // most tokens of one request
	DefaultCacheType = quant.F16

	DefaultSpeculation = SpeculationLookup
	DefaultDraftTokens = 16       // longer drafts seldom agree to their end
	DefaultPrefixCache = 16 << 30 // bytes on disk

	DefaultTemperature = 1 // of sampling
)

// ModelOptions configure one model. Zero fields take Options.Defaulted's, then
// the built-in defaults given here.
type ModelOptions struct {
	Name string // public id; "" means the file's name without extension
	Path string // file or directory

	// Fetch, with Path "", downloads a model that is not on this machine at its
	// first request, and returns its path. It calls progress with bytes. A
	// *Error it returns is sent to clients. Name must be set.
	Fetch func(ctx context.Context, progress func(done, total int64)) (path string, err error)

	ContextLength int        // tokens one request gets; 0 means the model's own, at most DefaultContext unless asked for
	Slots         int        // sequences decoded together; 0 means DefaultSlots
	Queue         int        // requests that may wait; 0 means DefaultQueue
	Batch         int        // rows of one step; 0 means DefaultBatch
	CacheType     quant.Type // KV cache: F16, BF16, F32 or Q8_0, on the CPU also Q4_0, on GPUs F8_E4M3; 0 means DefaultCacheType
	CacheBytes    int64      // KV pool; 0 means min(context × slots, a quarter of memory)
	Speculation   string     // the source of drafts: one of Speculations; "" means SpeculationDraft with a Draft, else DefaultSpeculation
	Draft         string     // with SpeculationDraft: the name or file of a smaller model with the same vocabulary
	DraftTokens   int        // most tokens of a draft, up to MostDraftTokens; 0 means DefaultDraftTokens
	ChatTemplate  string     // overrides the file's
	ToolFormat    string     // how answers write calls and thinking, a name of the wire formats; "" is that of the template, "none" plain text
	Quantize      string     // a name of QuantizeTypes, to which weights of 16 or 32 bits are quantised at load
	Detector      string     // of recognisers: a file of Silero's detector of speech; "" means the built-in one, by energy
	Diarize       Diarizer   // of recognisers: the networks of diarization
	Lexicon       string     // of voices: a file of words and how they are said; "" is none
	Adapters      []Adapter  // of text models: requests call them NAME:ADAPTER
	Preload       *bool      // load at start; nil means no
	KeepAlive     time.Duration
	Sampling      Sampling // the model's own defaults for requests that do not say

	// Of embeddings: texts before queries and documents, and whether
	// vectors may be cut. nil: by the file or the table of models.
	QueryPrefix, DocumentPrefix *string
	Matryoshka                  *bool
}

// Preloads reports whether the model is loaded at start.
func (o ModelOptions) Preloads() bool { return o.Preload != nil && *o.Preload }

// A Diarizer is the files of the networks of diarization. The zero value is none.
type Diarizer struct {
	Segmentation, Embedding string // ONNX graphs
	PLDA                    string // a folder; "" clusters without
}

// Values of ModelOptions.Speculation. Replies are the same with all of them.
const (
	SpeculationOff    = "off"
	SpeculationLookup = "lookup" // tokens that followed the same ones before, in prompt and reply
	SpeculationDraft  = "draft"  // those, or the likeliest ones of ModelOptions.Draft
	SpeculationMTP    = "mtp"    // those, or the likeliest ones of the model's own layer for multi-token prediction
)

// Speculations are all of them.
var Speculations = []string{SpeculationOff, SpeculationLookup, SpeculationDraft, SpeculationMTP}

// CheckDraft refuses a draft model with a Speculation that would not use it. With
// SpeculationOff it may stay, to be switched on again.
func CheckDraft(speculation, draft string) error {
	if draft != "" && (speculation == SpeculationLookup || speculation == SpeculationMTP) {
		return fmt.Errorf("draft: with speculation: %s no model is asked; leave out draft, or take speculation: %s", speculation, SpeculationDraft)
	}
	return nil
}

// MostDraftTokens bounds ModelOptions.DraftTokens.
const MostDraftTokens = 32

// An Adapter is a low-rank adapter (LoRA) of a model, which it is loaded with.
type Adapter struct {
	Name  string  // added to the model's name in requests, after a colon
	Path  string  // a GGUF file, or a folder as PEFT writes it
	Scale float64 // a factor of its change; 0 means 1
}

// Sampling holds a model's default sampling values; nil means not set.
type Sampling struct {
	Temperature, TopP *float32
	TopK              *int
	MinP              *float32
	RepeatPenalty     *float32
	MaxTokens         int // default for chat; 0 means the rest of the context
}

// Or fills zero fields from d.
func (o ModelOptions) Or(d ModelOptions) ModelOptions {
	o.ContextLength = cmp.Or(o.ContextLength, d.ContextLength)
	o.Slots = cmp.Or(o.Slots, d.Slots)
	o.Queue = cmp.Or(o.Queue, d.Queue)
	o.Batch = cmp.Or(o.Batch, d.Batch)
	o.CacheType = cmp.Or(o.CacheType, d.CacheType)
	o.CacheBytes = cmp.Or(o.CacheBytes, d.CacheBytes)
	o.Speculation = cmp.Or(o.Speculation, d.Speculation)
	o.Draft = cmp.Or(o.Draft, d.Draft)
	o.DraftTokens = cmp.Or(o.DraftTokens, d.DraftTokens)
	o.ChatTemplate = cmp.Or(o.ChatTemplate, d.ChatTemplate)
	o.ToolFormat = cmp.Or(o.ToolFormat, d.ToolFormat)
	o.Quantize = cmp.Or(o.Quantize, d.Quantize)
	o.Detector = cmp.Or(o.Detector, d.Detector)
	o.Diarize = cmp.Or(o.Diarize, d.Diarize)
	o.Lexicon = cmp.Or(o.Lexicon, d.Lexicon)
	o.KeepAlive = cmp.Or(o.KeepAlive, d.KeepAlive)
	o.QueryPrefix = cmp.Or(o.QueryPrefix, d.QueryPrefix)
	o.DocumentPrefix = cmp.Or(o.DocumentPrefix, d.DocumentPrefix)
	o.Matryoshka = cmp.Or(o.Matryoshka, d.Matryoshka)
	o.Preload = cmp.Or(o.Preload, d.Preload)
	if o.Adapters == nil {
		o.Adapters = d.Adapters
	}
	o.Sampling = o.Sampling.Or(d.Sampling)
	return o
}

func (s Sampling) Or(d Sampling) Sampling {
	s.Temperature = cmp.Or(s.Temperature, d.Temperature)
	s.TopP = cmp.Or(s.TopP, d.TopP)
	s.TopK = cmp.Or(s.TopK, d.TopK)
	s.MinP = cmp.Or(s.MinP, d.MinP)
	s.RepeatPenalty = cmp.Or(s.RepeatPenalty, d.RepeatPenalty)
	s.MaxTokens = cmp.Or(s.MaxTokens, d.MaxTokens)
	return s
}

// Defaulted fills in those of a model's options that are not set.
func (o ModelOptions) Defaulted() ModelOptions {
	return o.Or(ModelOptions{Slots: DefaultSlots, Queue: DefaultQueue, Batch: DefaultBatch, CacheType: DefaultCacheType, Speculation: DefaultSpeculation, DraftTokens: DefaultDraftTokens})
}
