package sched

// States of sequences, of models that carry them beside keys and values. The Cache has a
// slot for each sequence that runs, and after these slots of snapshots: the states at the end of
// a cached block. A prompt is found in the prefix cache as far as the last of its blocks that has a
// snapshot.
type states struct {
	free  []int32    // unused slots
	snaps []snapshot // slots.Slots and on
	of    []int32    // by block: the snapshot behind it, if its block still has the serial number
	clock uint64
}

// A snapshot is the states behind a block.
type snapshot struct {
	block uint64 // its serial number in the pool, 0 for none
	used  uint64 // when it was last made or read
	by    *sequence
}

// spacing is how many tokens of a prompt lie between snapshots, where it is long.
const spacing = 1024

func (s *Scheduler) newStates() {
	for i := range s.o.Slots {
		s.states.free = append(s.states.free, int32(s.o.Slots-1-i))
	}
	s.states.snaps = make([]snapshot, s.o.Snapshots)
	s.states.of = make([]int32, s.o.Blocks)
}

// takeSlot acquires a slot for q's states, of which there are as many as sequences run.
func (s *Scheduler) takeSlot(q *sequence) {
	if n := len(s.states.free); n > 0 {
		q.slot, s.states.free = s.states.free[n-1], s.states.free[:n-1]
	}
}

// giveSlot releases q's slot.
func (s *Scheduler) giveSlot(q *sequence) {
	if q.slot != noSlot {
		s.states.free, q.slot = append(s.states.free, q.slot), noSlot
	}
	for i := range s.states.snaps {
		if x := &s.states.snaps[i]; x.by == q {
			x.by = nil
		}
	}
}

// behind returns the snapshot behind a block, nil where there is none.
func (s *Scheduler) behind(b int32) *snapshot {
	if len(s.states.snaps) == 0 {
		return nil
	}
	if id, snap := s.pool.Serial(b), &s.states.snaps[s.states.of[b]]; id != 0 && snap.block == id {
		return snap
	}
	return nil
}

// restore copies to q's slot the states behind the blocks it found.
func (s *Scheduler) restore(q *sequence) {
	if q.slot == noSlot || q.computed == 0 {
		return
	}
	b := q.table[q.computed/s.o.BlockSize-1]
	s.states.clock++
	snap := s.behind(b)
	snap.used = s.states.clock
	s.o.Cache.CopyState(q.slot, int32(s.o.Slots)+s.states.of[b])
}

// snap keeps q's states if they are those at the end of a block. It replaces the snapshot of q's
// reply before: only the last one is likely to be used again.
func (s *Scheduler) snap(q *sequence) {
	if len(s.states.snaps) == 0 || q.computed == 0 || q.computed%s.o.BlockSize != 0 {
		return
	}
	b := q.table[q.computed/s.o.BlockSize-1]
	id := s.pool.Serial(b)
	if id == 0 {
		return
	}
	s.states.clock++
	if have := s.behind(b); have != nil {
		have.used = s.states.clock
		return
	}
	at := 0
	for i := range s.states.snaps {
		x := &s.states.snaps[i]
		if q.done && x.by == q {
			at = i
			break
		}
		if x.used < s.states.snaps[at].used {
			at = i
		}
	}
	s.states.snaps[at] = snapshot{block: id, used: s.states.clock}
	if q.done {
		s.states.snaps[at].by = q
	}
	s.states.of[b] = int32(at)
	s.o.Cache.CopyState(int32(s.o.Slots+at), q.slot)
}

// cut is how many rows of q's prompt a step may have, so that it ends where a snapshot is to
// be; 0 is any number.
func (s *Scheduler) cut(q *sequence) int {
	if len(s.states.snaps) == 0 || q.done || q.NoPromptCache {
		return 0
	}
	size := s.o.BlockSize
	last := (q.prompt - 1) / size * size
	next := (q.computed/spacing + 1) * spacing / size * size
	if next = min(next, last); next <= q.computed {
		return 0
	}
	return next - q.computed
}
