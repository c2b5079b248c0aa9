package lm

import (
	"sort"

	"quern/engine"
	"quern/engine/graph"
)

// A Pool is the blocks of layers with one window.
type Pool struct {
	graph.Reach
	Layers int
	Bytes  int64 // of a block
	Blocks int   // there are
	Kept   int   // that a sequence of the model's context has between two steps
}

// poolsOf are the pools of a cache, still without blocks.
func poolsOf(s *graph.CacheSpec) []Pool {
	pools := make([]Pool, 1+len(s.Near))
	for i := range pools {
		if i > 0 {
			pools[i].Reach = s.Near[i-1].Reach
		}
		pools[i].Bytes = s.BlockBytes(i)
	}
	for _, l := range s.Layers {
		if l.KVHeads > 0 {
			pools[l.Near].Layers++
		}
	}
	return pools
}

// held is how many blocks a sequence has between two steps, of any number of tokens.
func (p *Pool) held() int { return (p.Most()+BlockSize-2)/BlockSize + 1 }

// FitCache sizes a cache of keys and values: it sets the Blocks of its pools, the first of
// which is of layers that see everything. Others need no more blocks than that, and no more
// than those of all running sequences and of as many that have ended.
func (s *Estimate) FitCache(id string, o engine.ModelOptions, pools []Pool, limit int64) error {
	one := (s.Context + BlockSize - 1) / BlockSize
	step := (o.Batch + BlockSize - 1) / BlockSize // blocks that the rows of a step fill
	size := func(p *Pool, n, sequences int) int {
		if p.Most() == 0 {
			return n
		}
		return min(n, sequences*p.held()+step)
	}
	bytes := func(n, sequences int) (sum int64) {
		for i := range pools {
			sum += pools[i].Bytes * int64(size(&pools[i], n, sequences))
		}
		return sum
	}
	for i := range pools {
		if pools[i].Kept = one; pools[i].Most() > 0 {
			pools[i].Kept = min(one, pools[i].held())
		}
	}
	s.OneRequest = bytes(one, 1) + s.State
	room, most := min(limit/4, limit-s.Weights-s.Compute-s.Draft), one*o.Slots
	if o.CacheBytes > 0 {
		if room = o.CacheBytes; pools[0].Bytes > 0 {
			most = 1 << 30
		}
	}
	// Where windows of all sequences leave too little for one, fewer run together.
	n, sequences := 0, 2*o.Slots
	for ; ; sequences = max(1, sequences/2) {
		n = sort.Search(most, func(n int) bool { return bytes(n+1, sequences) > room })
		if n >= one || sequences == 1 {
			break
		}
	}
	if n < one {
		if o.CacheBytes > 0 {
			return engine.Errorf(engine.CodeOutOfMemory, "", "model %q: cache_memory of %s holds %d tokens of its context of %d; raise cache_memory to %s or lower context_length",
				id, engine.MiB(o.CacheBytes), n*BlockSize, s.Context, engine.MiB(bytes(one, 1)))
		}
		n = one
	}
	for i := range pools {
		pools[i].Blocks = size(&pools[i], n, sequences)
	}
	s.Cache, s.Tokens, s.Pools = bytes(n, sequences)+s.State*int64(2*s.Running), n*BlockSize, pools
	return nil
}
