package sched

import (
	"fmt"
	"time"

	"quern/engine/graph"
	"quern/engine/kv/disk"
)

// Blocks of the prefix cache are also kept in files (Options.Disk). Blocks that a step has filled are
// copied to a queue that is written asynchronously. A sequence that is admitted has blocks for all its
// tokens; those that are on the disk are read ahead by other goroutines and copied in between two
// steps, some in each turn, and until there are no more of them the sequence does not run.

// A Disk is where a Scheduler keeps blocks beside the Cache. The Store is closed by the caller.
type Disk struct {
	Store *disk.Store
	Roots []disk.Key       // keys before the first blocks, without an adapter and with each
	Spec  *graph.CacheSpec // the Cache's
}

// kept is the disk's side of the prefix cache; the loop owns it.
type kept struct {
	model *disk.Model // nil without a disk
	cache graph.Portable
	roots []disk.Key
	pools []int64 // bytes of a block, by pool
}

// onDisk is a sequence's state with the disk.
type onDisk struct {
	keys  []disk.Key  // of its whole blocks, as far as they were asked for
	use   uint64      // of the disk's count
	fetch *disk.Fetch // blocks that are being read for it, nil for none
}

func (o *onDisk) drop() {
	if o.fetch != nil {
		o.fetch.Close()
		o.fetch = nil
	}
}

func (s *Scheduler) openDisk(d *Disk) error {
	if len(d.Roots) != 1+s.o.Adapters || len(d.Spec.Near) != len(s.o.Near) {
		return fmt.Errorf("sched: a disk with %d roots and %d pools, for %d adapters and %d pools", len(d.Roots), 1+len(d.Spec.Near), s.o.Adapters, 1+len(s.o.Near))
	}
	switch {
	case s.o.States && s.o.Snapshots == 0: // nothing is read from the prefix cache
		return nil
	case s.o.States && len(s.near) > 0:
		// Blocks would fill the near pools until states are reached, behind which a window can go on.
		s.log.Warn("models with states and a window keep no blocks on the disk")
		return nil
	}
	cache, ok := s.o.Cache.(graph.Portable)
	if !ok {
		return fmt.Errorf("sched: blocks of %T cannot be kept on a disk", s.o.Cache)
	}
	s.disk = kept{cache: cache, roots: d.Roots}
	all := int64(0)
	for i := range 1 + len(s.o.Near) {
		s.disk.pools = append(s.disk.pools, d.Spec.BlockBytes(i))
		all += s.disk.pools[i]
	}
	states := int64(0)
	if s.o.States {
		states = d.Spec.StateBytes()
	}
	s.disk.model = d.Store.Model(all, states, s.nudge)
	return nil
}

// name makes the keys of q's whole blocks.
func (k *kept) name(q *sequence, size int) {
	if k.model == nil || q.NoPromptCache {
		return
	}
	keys := q.onDisk.keys
	for n := len(keys); (n+1)*size <= len(q.tokens); n++ {
		before := k.roots[q.Adapter]
		if n > 0 {
			before = keys[n-1]
		}
		keys = append(keys, before.Next(q.tokens[n*size:(n+1)*size]))
	}
	q.onDisk.keys = keys
}

// seek looks up the blocks of q's tokens on the disk. The last token is left out, because its
// logits are needed.
func (s *Scheduler) seek(q *sequence) {
	d := &q.onDisk
	if s.disk.model == nil || !q.reads() {
		return
	}
	if d.use == 0 {
		d.use = s.disk.model.Use()
	}
	d.fetch = s.disk.model.Seek(d.keys[:min(len(d.keys), (len(q.tokens)-1)/s.o.BlockSize)], d.use)
}

// fetch starts reading the blocks that q, which was admitted, lacks.
func (s *Scheduler) fetch(q *sequence) {
	if s.disk.model == nil || q.NoPromptCache {
		return
	}
	d := &q.onDisk
	if q.seen && d.fetch == nil { // it was sent back to wait
		s.disk.name(q, s.o.BlockSize)
		s.seek(q)
	}
	at := q.computed / s.o.BlockSize
	s.disk.model.Touch(d.keys[:at], d.use)
	if d.fetch != nil && !d.fetch.Want(at) {
		d.drop()
	}
	if d.fetch != nil && q.started.IsZero() {
		q.started = time.Now()
	}
}

// most is how many bytes of blocks are copied in one turn: steps wait meanwhile.
const most = 16 << 20

// installRead installs the blocks that have been read for sequences.
func (s *Scheduler) installRead() {
	if s.disk.model == nil {
		return
	}
	room := int64(most)
	for _, q := range s.running {
		for d := &q.onDisk; d.fetch != nil; {
			if room <= 0 {
				s.left = true
				return
			}
			b, over := d.fetch.Next()
			if over {
				d.drop()
			}
			if b == nil {
				break
			}
			room -= int64(len(b.Data) + len(b.States))
			if !s.install(q, b) {
				d.drop()
			}
			b.Release()
		}
	}
}

// install copies b into q's table and sets q.computed to its end; where there are states, only
// when b has them. It reports whether q can use more blocks.
func (s *Scheduler) install(q *sequence, b *disk.Block) bool {
	at := q.computed / s.o.BlockSize
	if b.Index < at { // q has found this one in the prefix cache meanwhile
		return q.onDisk.fetch.Want(at)
	}
	data := b.Data
	for i, n := range s.disk.pools {
		var block int32
		if i == 0 {
			block = q.table[b.Index]
		} else {
			if !s.near[i-1].Grow(&q.near[i-1], b.Index+1) {
				return false
			}
			block = q.near[i-1].Table[b.Index]
		}
		if n > 0 && s.disk.cache.Write(i, block, data[:n]) != nil {
			return false // the next Run returns the error
		}
		data = data[n:]
	}
	if s.o.States {
		if b.States == nil {
			return true
		}
		if s.disk.cache.WriteState(q.slot, b.States) != nil {
			return false
		}
	}
	from := q.computed
	q.computed = (b.Index + 1) * s.o.BlockSize
	s.stats.disk.Add(int64(q.computed - from))
	if !q.done {
		q.cached += q.computed - from
	}
	s.keep(q, from)
	s.drop(q)
	return true
}

// spill queues for writing the blocks that q has filled since it had from tokens computed, as far
// as they are findable, and the states behind its prompt.
func (s *Scheduler) spill(q *sequence, from int) {
	if s.disk.model == nil || q.NoPromptCache || q.computed/s.o.BlockSize == from/s.o.BlockSize {
		return
	}
	s.disk.name(q, s.o.BlockSize)
	d := &q.onDisk
	if d.use == 0 {
		d.use = s.disk.model.Use()
	}
	end := q.computed / s.o.BlockSize
	for k := from / s.o.BlockSize; k < end; k++ {
		if s.pool.Serial(q.table[k]) == 0 {
			return
		}
		s.disk.model.Save(d.keys[k], k, d.use, func(data []byte) error { return s.copyOut(q, k, data) })
	}
	// States behind a reply are replaced with each block; only those of prompts are likely to be reused.
	if s.o.States && !q.done && q.computed%s.o.BlockSize == 0 && s.behind(q.table[end-1]) != nil {
		s.disk.model.SaveStates(d.keys[end-1], end-1, d.use, func(data []byte) error { return s.disk.cache.ReadState(data, q.slot) })
	}
}

// copyOut copies q's k-th block of all pools to data.
func (s *Scheduler) copyOut(q *sequence, k int, data []byte) error {
	for i, n := range s.disk.pools {
		block := q.table[k]
		if i > 0 {
			if block = q.near[i-1].Table[k]; block < 0 {
				return fmt.Errorf("sched: block %d of pool %d is given back", k, i)
			}
		}
		if n > 0 {
			if err := s.disk.cache.Read(data[:n], i, block); err != nil {
				return err
			}
		}
		data = data[n:]
	}
	return nil
}
