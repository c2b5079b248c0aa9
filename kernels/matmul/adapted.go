package matmul

import "quern/kernels/threads"

// adaptedSlots adds the changes of adapters to the products of experts. Each expert of a row has
// a change of its own, so that LowRank is given slots where it is given rows elsewhere.
type adaptedSlots struct {
	gate, up, down *LowRank // nil without changes
	*adaptedRoom
	any bool // of the run in progress: some row has an adapter
}

// newAdaptedSlots is nil if nothing changes.
func newAdaptedSlots(e *Experts) *adaptedSlots {
	o, slots := &e.o, e.rows*e.o.Used
	if len(o.GateChanges)+len(o.UpChanges)+len(o.DownChanges) == 0 {
		return nil
	}
	a := &adaptedSlots{adaptedRoom: &e.Room.adapted}
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
	grow(&a.change, slots)
	if cap(a.runs) < slots {
		a.runs = make([]Run, 0, slots)
	}
	grow(&a.low, slots*rank)
	if a.gate != nil || a.up != nil {
		grow(&a.in, slots*o.Up.In)
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

// keep copies the input of slot s, if it has a change.
func (a *adaptedSlots) keep(s int, x []float32) {
	if a != nil && a.any && a.change[s] >= 0 && (a.gate != nil || a.up != nil) {
		copy(a.in[s*len(x):], x)
	}
}

// project adds the changes of gate and up to their products.
func (a *adaptedSlots) project(p *threads.Pool, e *Experts) {
	if a.gate != nil {
		a.gate.Run(p, e.g, a.in, a.low, a.runs)
	}
	if a.up != nil {
		a.up.Run(p, e.u, a.in, a.low, a.runs)
	}
}

// contract adds the changes of down to its products.
func (a *adaptedSlots) contract(p *threads.Pool, e *Experts) {
	if a.down != nil {
		a.down.Run(p, e.y, e.u, a.low, a.runs)
	}
}
