package matmul

import "quern/kernels/threads"

// adaptedSlots is what adapters add to the products of experts. A row's experts are changed
// as its adapter says, each by itself, so that slots are to LowRank what rows are elsewhere.
type adaptedSlots struct {
	gate, up, down *LowRank // nil without changes
	*AdaptedRoom
	any bool // of the run in progress: some row has an adapter
}

// An AdaptedRoom is what mixtures with changes work in. Those that take turns may share one.
type AdaptedRoom struct {
	change []int32   // (slots) of the lists of changes, -1 for none
	runs   []Run     // slots of one change
	x      []float32 // (slots, in) what gate and up take in
	low    []float32 // (slots, rank)
}

// newAdaptedSlots is nil if nothing changes.
func newAdaptedSlots(e *Experts) *adaptedSlots {
	o, slots := &e.o, len(e.slot)
	if len(o.GateChanges)+len(o.UpChanges)+len(o.DownChanges) == 0 {
		return nil
	}
	a := &adaptedSlots{AdaptedRoom: o.Room}
	if a.AdaptedRoom == nil {
		a.AdaptedRoom = new(AdaptedRoom)
	}
	rank := 0
	of := func(s *Stack, changes []Change) *LowRank {
		if len(changes) == 0 {
			return nil
		}
		l := NewLowRank(s.Out, s.In, slots, changes)
		rank = max(rank, l.Rank())
		return l
	}
	a.gate, a.up, a.down = of(&o.Gate, o.GateChanges), of(&o.Up, o.UpChanges), of(&o.Down, o.DownChanges)
	if len(a.change) < slots {
		a.change, a.runs = make([]int32, slots), make([]Run, 0, slots)
	}
	if len(a.low) < slots*rank {
		a.low = make([]float32, slots*rank)
	}
	if n := slots * o.Up.In; (a.gate != nil || a.up != nil) && len(a.x) < n {
		a.x = make([]float32, n)
	}
	return a
}

// find finds the runs of slots with one change, and reports whether there are any.
func (a *adaptedSlots) find(e *Experts, adapters []Run) bool {
	if a == nil {
		return false
	}
	used := e.o.Used
	a.any = false
	for i := range a.change[:e.count*used] {
		a.change[i] = -1
	}
	for _, r := range adapters {
		for i := r.From * used; i < r.To*used; i++ {
			if r.Change >= 0 {
				a.change[e.slot[i]], a.any = int32(r.Change*e.n)+e.chosen[i], true
			}
		}
	}
	if !a.any {
		return false
	}
	a.runs = a.runs[:0]
	for s, c := range a.change[:e.count*used] {
		if n := len(a.runs); n > 0 && a.runs[n-1].Change == int(c) {
			a.runs[n-1].To = s + 1
		} else {
			a.runs = append(a.runs, Run{s, s + 1, int(c)})
		}
	}
	return true
}

// keep notes what slot s takes in, if its change wants that.
func (a *adaptedSlots) keep(s int, x []float32) {
	if a != nil && a.any && a.change[s] >= 0 && (a.gate != nil || a.up != nil) {
		copy(a.x[s*len(x):], x)
	}
}

// project adds to what gate and up make of the slots.
func (a *adaptedSlots) project(p *threads.Pool, e *Experts) {
	if a.gate != nil {
		a.gate.Run(p, e.g, a.x, a.low, a.runs)
	}
	if a.up != nil {
		a.up.Run(p, e.u, a.x, a.low, a.runs)
	}
}

// contract adds to what down makes of the slots.
func (a *adaptedSlots) contract(p *threads.Pool, e *Experts) {
	if a.down != nil {
		a.down.Run(p, e.y, e.u, a.low, a.runs)
	}
}
