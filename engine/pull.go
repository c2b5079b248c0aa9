package engine

// A PullState says what a Pull is about.
type PullState string

// The states of a pull.
const (
	PullStarting    PullState = "starting"    // the hub is asked
	PullWaiting     PullState = "waiting"     // for another program that pulls from the same repository
	PullDownloading PullState = "downloading" // File is
	PullVerifying   PullState = "verifying"   // File is compared with its hash
	PullDone        PullState = "done"        // every file is there; Model says what it is called
	PullStopped     PullState = "stopped"     // not to its end; a pull of Ref goes on from there
)

// A Pull is how far the fetching of a model is.
type Pull struct {
	Ref   string // the model as the hub names it, "OWNER/NAME:Q4_K_M"
	State PullState

	File               string // that told last
	FileDone, FileSize int64  // bytes of it, in this state
	Done, Size         int64  // bytes of all files, with those that were there before

	Plan  *PullPlan // what is fetched; nil before the hub has said so
	Model string    // of PullDone: what requests call it; "" when it cannot be served, which the log explains
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
