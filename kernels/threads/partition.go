package threads

import "sync/atomic"

// A Partition divides chunks so that each worker takes consecutive ones: what a kernel
// prefetches beyond its chunk is then its own next chunk. A worker that has finished its
// share takes chunks from the end of another's.
type Partition []stretch

// A stretch is the chunks from its high half up to its low half, in one word so that both
// ends can be claimed atomically. It is padded to a cache line.
type stretch struct {
	ends atomic.Uint64
	_    [56]byte
}

// NewPartition prepares shares for that many workers.
func NewPartition(workers int) Partition { return make(Partition, workers) }

// Divide cuts n chunks into one share for each worker.
func (s Partition) Divide(n int) {
	for i := range s {
		s[i].ends.Store(uint64(n*i/len(s))<<32 | uint64(n*(i+1)/len(s)))
	}
}

// Take returns a chunk that no worker has taken. The caller knows that there is one.
func (s Partition) Take(worker int) int {
	for i := 0; ; i++ {
		from := &s[(worker+i)%len(s)]
		for {
			ends := from.ends.Load()
			first, end := ends>>32, ends&0xffffffff
			if first == end {
				break
			}
			if i == 0 {
				if from.ends.CompareAndSwap(ends, (first+1)<<32|end) {
					return int(first)
				}
			} else if from.ends.CompareAndSwap(ends, first<<32|(end-1)) {
				return int(end - 1)
			}
		}
	}
}
