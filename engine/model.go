package engine

import (
	"time"
)

// A Kind is what a model is good for. Completion models are chat models whose
// file has no chat template.
type Kind string

// The kinds.
const (
	KindChat           Kind = "chat"
	KindCompletion     Kind = "completion"
	KindEmbedding      Kind = "embedding"
	KindRerank         Kind = "rerank"
	KindClassification Kind = "classification"
	KindTranscription  Kind = "transcription"
	KindSpeech         Kind = "speech"
)

// A ModelInfo describes a model without loading it.
type ModelInfo struct {
	ID            string
	AliasOf       string // id of the model this name stands for, "" when it is no alias
	Base          string // id of the model that the adapter of this name changes, "" when it is none
	Adapter       string // of such: the name of its file or folder
	Kind          Kind
	Capabilities  []string // "chat", "completion", "embedding", …
	Created       time.Time
	ContextLength int    // 0 when not known before loading
	Status        string // "unloaded", "loading", "loaded" or "failed"
	Waiting       int    // requests that wait until it is loaded
	Users         int    // requests that use it
	Format        string // "gguf", "safetensors", "onnx"
	Quantization  string // "Q4_K_M"; "" when unknown
	Architecture  string
	SizeBytes     int64
	InputTypes    bool   // the texts that EmbedRequest.InputType puts before inputs are known
	Fingerprint   string // "fp_…": hash of file, quantisation and build; "" before loading
}

// Needs says what a model takes of memory.
type Needs struct {
	Bytes int64 // when it is loaded: what it holds; else what it will ask for
	Limit int64 // of all models
	Why   error // it does not fit, even alone: what to change; nil when it fits
}

// Details are what a model's files and options say beyond ModelInfo.
type Details struct {
	Template   string // of chats, in Jinja; "" without one
	BOS, EOS   string // the texts of these tokens, "" without one
	Infill     bool   // the vocabulary has the tokens to fill in the middle
	Parameters int64  // 0 when not known
	Slots      int    // sequences decoded together, as asked for; 0 of models without
	Sampling   Sampling
}

// Stats is a snapshot of what operators and gateways watch.
type Stats struct {
	Models []ModelStats
	Disk   *DiskStats // nil without Options.PrefixCache
}

// DiskStats describe the prefix cache on disk, of all models together. Counters count from
// the start.
type DiskStats struct {
	Bytes, Blocks int64 // there are
	Limit         int64 // of bytes

	Hits    int64 // blocks read
	Misses  int64 // look-ups that found none, or no more where there had been
	Writes  int64 // blocks written
	Dropped int64 // blocks not written, since the disk was slow or had failed
	Evicted int64 // blocks removed for others
	Damaged int64 // files that were not what they should be; they are removed
	Errors  int64 // of the disk
}

// ModelStats describes one resident text model. Counters count from its load.
type ModelStats struct {
	Model string
	Kind  Kind

	Waiting int // requests queued
	Running int // sequences in the batch
	Slots   int // sequences the batch has room for; 0 of models that make no text

	Blocks     int // KV blocks in the pool
	BlocksUsed int // of them held by running sequences
	BlockSize  int // tokens per block

	PromptTokens    int64 // evaluated or taken from the cache
	GeneratedTokens int64
	ForcedTokens    int64 // of them, those a form left no choice about, which cost no step of their own
	Steps           int64 // of the batch
	PrefixQueries   int64 // prompt tokens looked up in the prefix cache
	PrefixHits      int64 // of them found
	DiskHits        int64 // tokens read from the prefix cache on disk
	Preemptions     int64
	LoadSeconds     float64
	WeightBytes     int64
	CacheBytes      int64
	Fingerprint     string // ModelInfo's

	Adapters []AdapterStats
}

// AdapterStats describe one adapter of a resident model.
type AdapterStats struct {
	Model   string // what requests call the model with it
	Waiting int    // requests queued
	Running int    // sequences in the batch
}

// KVUsage is the share of KV blocks in use, 0 to 1.
func (m ModelStats) KVUsage() float64 {
	if m.Blocks == 0 {
		return 0
	}
	return float64(m.BlocksUsed) / float64(m.Blocks)
}
