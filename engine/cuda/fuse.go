package cuda

import (
	"slices"

	"quern/engine/graph"
)

// A task is a step as one kernel does it: a product may have value plus added to
// it, unless that is none.
type task struct {
	graph.Step
	plus int
}

// none is no value.
const none = -1

// A group is tasks that need not be launched one by one.
type group struct {
	members []int // places of the tasks among all
	tasks   []task
	// start does all of them for a number of rows that fits; nil where there is
	// only one way. What it leaves out are values that no task outside the group reads.
	start    func(rows int) error
	fits     func(rows int) bool // nil: any number
	fallback []*group            // what does the tasks where they do not fit; nil: one by one

	quantises bool // it begins with a norm of what its products take as ActQ8_32

	// Of products and of attention, for rotating to look at.
	products *products
	heads    *headsOf
}

// out is the value whose rows the group computes.
func (g *group) out() int { return g.tasks[len(g.tasks)-1].Out }

// A fuser looks for groups among the tasks of a part.
type fuser struct {
	p     *part
	tasks []task
	made  map[int]int // task that makes a value
	taken []bool
}

// fuse makes the part's steps into groups, in an order of execution.
func (p *part) fuse() {
	f := &fuser{p: p, tasks: p.sums(), made: make(map[int]int)}
	f.taken = make([]bool, len(f.tasks))
	for i, t := range f.tasks {
		f.made[t.Out] = i
	}
	of := make([]*group, len(f.tasks))
	if !p.e.b.apart {
		for _, find := range patterns {
			for i := range f.tasks {
				if f.taken[i] {
					continue
				}
				g := find(f, i)
				if g == nil {
					continue
				}
				for _, j := range g.members {
					f.taken[j], of[j] = true, g
					g.tasks = append(g.tasks, f.tasks[j])
				}
			}
		}
	}
	for i, g := range of {
		if g == nil {
			of[i] = &group{tasks: f.tasks[i : i+1]}
		}
	}
	for i := range of {
		if both := f.rotating(of, of[i]); both != nil {
			for j, g := range of {
				if slices.Contains(both.fallback, g) {
					of[j] = both
				}
			}
		}
	}
	// A group comes after those that make what it reads.
	seen := make(map[*group]bool)
	var visit func(g *group)
	visit = func(g *group) {
		if seen[g] {
			return
		}
		seen[g] = true
		for _, t := range g.tasks {
			for _, v := range t.reads() {
				if i, ok := f.made[v]; ok {
					visit(of[i])
				}
			}
		}
		p.groups = append(p.groups, g)
	}
	for _, g := range of {
		visit(g)
	}
}

// reads lists the values a task reads.
func (t *task) reads() []int {
	in := t.In[:len(t.In):len(t.In)]
	if t.plus != none {
		in = append(in, t.plus)
	}
	return in
}

// sums makes tasks of the steps: a product that only a sum reads does the
// sum itself.
func (p *part) sums() []task {
	made := make(map[int]int)
	tasks := make([]task, len(p.steps))
	gone := make([]bool, len(p.steps))
	for i, s := range p.steps {
		made[s.Out] = i
		tasks[i] = task{s, none}
		if _, is := s.Op.(graph.Add); !is || s.In[0] == s.In[1] {
			continue
		}
		from := none
		for _, v := range s.In {
			if j, here := made[v]; here && p.e.uses[v] == 1 {
				if _, is := p.steps[j].Op.(graph.Linear); is {
					from = max(from, j)
				}
			}
		}
		if from != none {
			product := p.steps[from]
			tasks[i] = task{graph.Step{Op: product.Op, In: product.In, Out: s.Out}, s.In[0] + s.In[1] - product.Out}
			gone[from] = true
		}
	}
	kept := tasks[:0]
	for i, t := range tasks {
		if !gone[i] {
			kept = append(kept, t)
		}
	}
	return kept
}
