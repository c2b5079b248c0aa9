package sched

import (
	"cmp"
	"math"
	"slices"
)

// A load is a running sequence as the planner sees it.
type load struct {
	rows       int   // tokens whose keys and values are still to be computed, at least 1
	from, to   int   // the rows of these whose results are wanted, apart from the last one
	last       bool  // the result of the last row is wanted
	reply      bool  // all rows are of tokens of the last step, drawn or forced, or computed again after a draft
	cut        int   // at most so many rows, 0 for any number
	full       bool  // its stream's queue is full: it must not run
	depth      int   // tokens before its rows, which these see
	had        int   // of prompts: rows of its last step
	since      int64 // and those of others' prompts in the steps after it
	background bool  // is in the background
}

// wants is how many results the first n rows have.
func (l *load) wants(n int) int {
	w := max(0, min(n, l.to)-l.from)
	if l.last && n == l.rows {
		w++
	}
	return w
}

// fit is the largest number of rows, at most n, with at most want results.
func (l *load) fit(n, want int) int {
	n = min(n, l.rows)
	if l.cut > 0 {
		n = min(n, l.cut)
	}
	if n <= 0 || l.wants(n) <= want {
		return max(n, 0)
	}
	if n == l.rows && l.last {
		n-- // the last row is left to the next step
	}
	if l.wants(n) > want {
		n = l.from + want
	}
	return n
}

// first reports whether l is planned before prompts.
func (l *load) first() bool { return !l.full && (l.rows == 1 || l.reply) }

// prompt reports whether l is of a prompt and may run.
func (l *load) prompt() bool { return !l.full && !l.first() }

// How long a step may be, by its estimated time. One that evaluates prompts beside replies takes
// up to stretch times as long as those replies alone, since their clients see the tokens come
// slower; longStretch beside a prompt of more than long tokens, which slows them for longer.
// Where there are more prompts than replies, each has the same share of the time.
// A step without replies takes up to longest times as long as one of one row, since a request
// that arrives meanwhile waits for it; rows of longer steps cost hardly less.
const (
	stretch     = 2.4
	longStretch = 1.8
	long        = 2048
	longest     = 16
)

// oldestShare is the share of prompts' rows, one of so many, that the oldest prompt has beside
// shorter ones.
const oldestShare = 5

// A planner decides how many rows of each sequence run in the next step.
type planner struct {
	costs  *costs
	stays  bool // steps of the background are not aborted
	beside beside

	// The step in work.
	loads        []load
	rows         []int
	budget, want int     // left
	few          int     // rows of replies
	took         float64 // the time of all planned rows

	replies, prompts []int // loads of the lane in work
}

// plan decides for loads, oldest first: at most budget rows with at most want results. It
// appends the numbers to dst.
//
// Sequences with one row left or the rows of a reply, which is what generating ones
// have, come first: each has a row before any has more. Prompts follow as far as there is
// time, shortest first, so that a short one need not wait for a long one; but the oldest
// is planned before them from time to time. The background has its share of a step; see beside.
func (p *planner) plan(dst []int, loads []load, budget, want int) []int {
	start := len(dst)
	for range loads {
		dst = append(dst, 0)
	}
	p.loads, p.rows, p.budget, p.want, p.few, p.took = loads, dst[start:], budget, want, 0, 0
	p.replies, p.prompts = p.replies[:0], p.prompts[:0]
	kept := 0
	if p.beside.due() && min(budget, want) > 1 && slices.ContainsFunc(loads, func(l load) bool { return l.background && !l.full }) {
		kept = 1
	}
	p.budget, p.want = p.budget-kept, p.want-kept
	p.lane(false)
	p.budget, p.want = p.budget+kept, p.want+kept
	p.lane(true)
	p.loads, p.rows = nil, nil
	return dst
}

// lane plans the sequences in the background, or the others.
func (p *planner) lane(background bool) {
	reading := p.prompted()
	p.sort(background)
	before, room := p.took, math.Inf(1)
	if before > 0 {
		if room = p.beside.room(before, p.next(), reading); p.few > 0 && !p.costs.known(p.few) {
			room = 0 // measure the step without it first
		}
	}
	p.reply(room)
	switch {
	case before > 0:
		room -= p.took - before
	case p.took > 0:
		room = p.took * (p.stretch() - 1)
	case background && p.stays:
		room = p.costs.of(1) * stretch
	default:
		room = p.costs.of(1) * longest
	}
	p.read(room, before == 0)
	if before > 0 && len(p.replies)+len(p.prompts) > 0 {
		p.beside.note(before, p.took-before)
	}
}

// prompted reports whether a prompt of the lane that was planned has rows in the step.
func (p *planner) prompted() bool {
	return slices.ContainsFunc(p.prompts, func(i int) bool { return p.rows[i] > 0 })
}

// next is the time that the next row of the lane adds to the step.
func (p *planner) next() float64 {
	switch {
	case len(p.replies) > 0:
		return p.more(1)
	case len(p.prompts) > 0:
		return p.costs.row(float64(p.foremost().depth))
	}
	return 0
}

// stretch is how many times as long prompts may make the step.
func (p *planner) stretch() float64 {
	times := stretch
	if l := p.foremost(); l != nil && l.depth+l.rows > long {
		times = longStretch
	}
	if prompts, replies := len(p.prompts), len(p.replies); prompts > replies {
		times = max(times, 1+float64(prompts)/float64(replies))
	}
	return times
}

// sort finds the sequences of a lane.
func (p *planner) sort(background bool) {
	p.replies, p.prompts = p.replies[:0], p.prompts[:0]
	for i := range p.loads {
		switch l := &p.loads[i]; {
		case l.full || l.background != background:
		case l.first():
			p.replies = append(p.replies, i)
		default:
			p.prompts = append(p.prompts, i)
		}
	}
	list := p.prompts
	if l := p.foremost(); l != nil && (oldestShare-1)*int64(l.had) < l.since {
		list = list[1:]
	}
	slices.SortFunc(list, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.loads[a].rows, p.loads[b].rows), cmp.Compare(a, b))
	})
}

// foremost is the first prompt of the lane, nil without any.
func (p *planner) foremost() *load {
	if len(p.prompts) == 0 {
		return nil
	}
	return &p.loads[p.prompts[0]]
}

// reply plans rows of replies that take no more than room.
func (p *planner) reply(room float64) {
	most := 0
	for _, i := range p.replies {
		most += p.loads[i].rows
	}
	for most = min(most, p.budget); most > 0 && p.more(most) > room; {
		most--
	}
	rows, spare := 0, max(0, most-len(p.replies))
	for _, i := range p.replies {
		n := p.add(i, min(1+spare, most-rows))
		spare -= max(0, n-1)
		rows += n
	}
	p.took += p.more(rows)
	p.few += rows
}

// more is the time that n rows of replies add to the step.
func (p *planner) more(n int) float64 {
	if p.took > 0 && p.few == 0 { // beside prompts
		return float64(n) * p.costs.row(0)
	}
	return max(0, p.costs.of(p.few+n)-p.costs.of(p.few))
}

// read plans rows of prompts that take no more than room, and one at least where some must go
// on.
func (p *planner) read(room float64, must bool) {
	for _, i := range p.prompts {
		price := p.costs.row(float64(p.loads[i].depth))
		n := int(min(room/price, float64(p.budget)))
		if must {
			n = max(n, 1)
		}
		if n = p.add(i, n); n > 0 {
			must = false
		}
		room -= float64(n) * price
		p.took += float64(n) * price
	}
}

// add plans at most n rows of load i, as far as there are rows and results left.
func (p *planner) add(i, n int) int {
	l := &p.loads[i]
	n = l.fit(min(n, p.budget), p.want)
	p.rows[i] = n
	p.budget -= n
	p.want -= l.wants(n)
	return n
}
