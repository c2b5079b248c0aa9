package engine

// Stats is a snapshot of the counters and gauges that operators and gateways read.
type Stats struct {
	Models  []ModelStats // resident
	Planned []CachePlan  // of models that are not resident: those loaded at start, and Default
	Loading int          // requests that wait for models that are not resident
	Default string       // the model of chats that name none; "" where they must name one
	Disk    *DiskStats   // nil without Options.PrefixCache
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
	Damaged int64 // damaged files; they are removed
	Errors  int64 // of the disk
}

// ModelStats describes one resident model. Counters count from its load.
type ModelStats struct {
	Model string
	Kind  Kind

	Waiting    int // requests queued, but for those in the background
	Background int // and those: lines of batches
	Running    int // sequences in the batch; requests under way where there is none
	Slots      int // sequences the batch has room for; 0 of models that make no text

	Blocks     int // KV blocks in the pool; 0 where requests share no cache
	BlocksUsed int // of them held by running sequences
	BlockSize  int // tokens per block; 0 where Blocks is

	PromptTokens    int64 // evaluated or taken from the cache
	GeneratedTokens int64
	ForcedTokens    int64 // of them, those a form left no choice about, which cost no step of their own
	Steps           int64 // of the batch
	PrefixQueries   int64 // prompt tokens looked up in the prefix cache
	PrefixHits      int64 // of them found
	DiskHits        int64 // tokens read from the prefix cache on disk
	Preemptions     int64
	Drafts          int64   // of any length
	DraftTokens     int64   // in them
	AcceptedTokens  int64   // of them, those that came next
	AcceptedAt      []int64 // of these, by place in the draft; nil where nothing is drafted
	LoadSeconds     float64
	WeightBytes     int64
	CacheBytes      int64
	Fingerprint     string // ModelInfo's

	Adapters []AdapterStats
}

// Add adds the work and the memory of x, a model of the same name whose file was replaced while it was
// loaded. Its cache and its drafts are not told apart.
func (m *ModelStats) Add(x ModelStats) {
	m.Waiting += x.Waiting
	m.Background += x.Background
	m.Running += x.Running
	m.PromptTokens += x.PromptTokens
	m.GeneratedTokens += x.GeneratedTokens
	m.ForcedTokens += x.ForcedTokens
	m.Steps += x.Steps
	m.PrefixQueries += x.PrefixQueries
	m.PrefixHits += x.PrefixHits
	m.DiskHits += x.DiskHits
	m.Preemptions += x.Preemptions
	m.WeightBytes += x.WeightBytes
	m.CacheBytes += x.CacheBytes
}

// AdapterStats describe one adapter of a resident model.
type AdapterStats struct {
	Model   string // id in requests of the model with it
	Waiting int    // requests queued
	Running int    // sequences in the batch
}

// A CachePlan is the KV cache a model will have when it is loaded, as its header and the
// options say.
type CachePlan struct {
	Model     string
	BlockSize int // tokens per block
	Blocks    int
}

// KVUsage is the share of KV blocks in use, 0 to 1.
func (m ModelStats) KVUsage() float64 {
	if m.Blocks == 0 {
		return 0
	}
	return float64(m.BlocksUsed) / float64(m.Blocks)
}

// Waiting is how many requests wait, for whatever model.
func (s Stats) Waiting() int {
	n := s.Loading
	for _, m := range s.Models {
		n += m.Waiting
	}
	return n
}

// Running is how many sequences and requests are under way, of all models.
func (s Stats) Running() int {
	n := 0
	for _, m := range s.Models {
		n += m.Running
	}
	return n
}

// KVUsage is that of the model whose cache is fullest.
func (s Stats) KVUsage() float64 {
	most := 0.0
	for _, m := range s.Models {
		most = max(most, m.KVUsage())
	}
	return most
}

// Caches are the KV caches of models that have or will have one, loaded models first.
func (s Stats) Caches() []CachePlan {
	var list []CachePlan
	for _, m := range s.Models {
		if m.BlockSize > 0 && m.Blocks > 0 {
			list = append(list, CachePlan{m.Model, m.BlockSize, m.Blocks})
		}
	}
	return append(list, s.Planned...)
}

// Cache is the KV cache of the default chat model or, where there is none, of the first
// model that has one.
func (s Stats) Cache() (CachePlan, bool) {
	list := s.Caches()
	for _, c := range list {
		if c.Model == s.Default {
			return c, true
		}
	}
	if len(list) == 0 {
		return CachePlan{}, false
	}
	return list[0], true
}
