package engine

import (
	"time"
)

// A Kind is the task that a model was made for. Completion models are chat models whose
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
	ContextLength int       // 0 when not known before loading
	Status        string    // "unloaded", "loading", "loaded" or "failed"
	Expires       time.Time // when a loaded model is unloaded unless a request uses it; zero: never
	Waiting       int       // requests that wait until it is loaded
	Users         int       // requests that use it
	Format        string    // "gguf", "safetensors", "onnx"
	Quantization  string    // "Q4_K_M"; "" when unknown
	Architecture  string
	SizeBytes     int64
	InputTypes    bool   // the texts that EmbedRequest.InputType puts before inputs are known
	Undrawn       bool   // a recogniser that draws no tokens, so that a seed has no effect
	Fingerprint   string // "fp_…": hash of file, quantisation and build; "" before loading
}

// Needs is the memory that a model takes.
type Needs struct {
	Bytes int64 // held when it is loaded; else an estimate
	Limit int64 // of all models
	Why   error // why it does not fit, even alone, and what to change; nil when it fits
}

// Details are what a model's files and options say beyond ModelInfo.
type Details struct {
	Template   string // of chats, in Jinja; "" without one
	BOS, EOS   string // the texts of these tokens, "" without one
	Thinks     bool   // its chats may think before they answer
	Infill     bool   // the vocabulary has the tokens to fill in the middle
	Parameters int64  // 0 when not known
	Slots      int    // sequences decoded together, as asked for; 0 of models without
	Sampling   Sampling
}

// A PullState is the state of a pull.
type PullState string

// The states of a pull.
const (
	PullStarting    PullState = "starting"    // the hub is asked
	PullWaiting     PullState = "waiting"     // for another program that pulls from the same repository
	PullDownloading PullState = "downloading" // File is
	PullVerifying   PullState = "verifying"   // File is compared with its hash
	PullDone        PullState = "done"        // every file is there; Model is its id
	PullStopped     PullState = "stopped"     // not to its end; a pull of Ref goes on from there
)

// A Pull is how far the fetching of a model is.
type Pull struct {
	Ref   string // the model as the hub names it, "OWNER/NAME:Q4_K_M"
	State PullState

	File               string // whose progress came last
	FileDone, FileSize int64  // bytes of it, in this state
	Done, Size         int64  // bytes of all files, with those that were there before

	Plan  *PullPlan // nil before the hub has answered
	Model string    // of PullDone: its id in requests; "" when it cannot be served, see the log
}

// A PullPlan is what a pull fetches.
type PullPlan struct {
	Commit string
	Kind   string   // "gguf", "safetensors", …
	Quant  string   // "" when the kind has none
	Chosen bool     // Quant was not asked for by name
	Others []string // the repository's other quantisations
	Files  int
	Fetch  int64 // bytes that come over the network
}
