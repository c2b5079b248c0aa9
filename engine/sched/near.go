package sched

import "quern/engine/graph"

// Layers with a sliding window have blocks of their own (Options.Near), which sequences release as
// their rows advance. A sequence has them for the rows of the step under way and for the
// positions that its next row sees.

// holds is the most blocks that a sequence has between two steps where rows see so far.
func (s *Scheduler) holds(r graph.Reach) int { return s.pool.BlocksFor(r.Most()-1) + 1 }

// first is the first block of near pool i that rows from position pos on see.
func (s *Scheduler) first(i, pos int) int { return s.o.Near[i].First(pos) / s.o.BlockSize }

// ahead is the number of the block of near pool i up to which q acquires some when it is admitted:
// as many as it will have between two steps.
func (s *Scheduler) ahead(q *sequence, i int) int {
	return min(s.pool.BlocksFor(len(q.tokens)), s.first(i, q.computed)+s.holds(s.o.Near[i].Reach))
}

// reach acquires the blocks that planned rows are written to. A sequence for which there are too
// few has fewer rows; if it has none, grow preempts for it in the next turn.
func (s *Scheduler) reach() {
	for k, q := range s.running {
		for i, n := range s.near {
			if t := &q.near[i]; s.rows[k] > 0 && !n.Grow(t, s.pool.BlocksFor(q.computed+s.rows[k])) {
				s.rows[k] = min(s.rows[k], len(t.Table)*s.o.BlockSize-q.computed)
				s.left = s.left || s.rows[k] == 0
			}
		}
	}
}

// drop releases the blocks that no row of q sees any more.
func (s *Scheduler) drop(q *sequence) {
	for i, n := range s.near {
		n.Drop(&q.near[i], s.first(i, q.computed))
	}
}

// usable is how many of the blocks found for q, from its at-th on, it may use: the most
// behind which all near blocks that its next row sees are still cached, and the states.
func (s *Scheduler) usable(q *sequence, at int) int {
	n := at + len(s.found)
	for n > at {
		was := n
		for i, near := range s.near {
			if m := near.Missing(s.found, at, s.first(i, n*s.o.BlockSize), n); m >= 0 {
				n = m
			}
		}
		if n == was && s.o.States && s.behind(s.found[n-1-at]) == nil {
			n--
		}
		if n == was {
			break
		}
	}
	return n - at
}
