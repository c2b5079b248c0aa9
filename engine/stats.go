package engine

// Stats is a snapshot of what operators and gateways watch.
type Stats struct {
	Models []ModelStats
}

// ModelStats describes one resident text model. Counters count from its load.
type ModelStats struct {
	Model string
	Kind  Kind

	Waiting int // requests queued
	Running int // sequences in the batch

	Blocks     int // KV blocks in the pool
	BlocksUsed int // of them held by running sequences
	BlockSize  int // tokens per block

	PromptTokens    int64 // evaluated or taken from the cache
	GeneratedTokens int64
	PrefixQueries   int64 // prompt tokens looked up in the prefix cache
	PrefixHits      int64 // of them found
	Preemptions     int64
	LoadSeconds     float64
	WeightBytes     int64
	CacheBytes      int64
}

// KVUsage is the share of KV blocks in use, 0 to 1.
func (m ModelStats) KVUsage() float64 {
	if m.Blocks == 0 {
		return 0
	}
	return float64(m.BlocksUsed) / float64(m.Blocks)
}
