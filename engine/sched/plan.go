package sched

// A load is what plan knows of a running sequence.
type load struct {
	rows     int  // tokens whose keys and values are still to be computed, at least 1
	from, to int  // the rows of these whose results are wanted, apart from the last one
	last     bool // the result of the last row is wanted
	reply    bool // all rows are of what was drawn last, or are sure to follow that
	cut      int  // at most so many rows, 0 for any number
	full     bool // its reader is behind: it must not run
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
		n-- // the last row can wait
	}
	if l.wants(n) > want {
		n = l.from + want
	}
	return n
}

// first says whether l comes before prompts.
func (l *load) first() bool { return !l.full && (l.rows == 1 || l.reply) }

// plan decides how many rows of each sequence run in the next step, given loads
// oldest first: at most budget rows with at most want results. It appends the
// numbers to dst.
//
// Sequences with one row left or the rows of a reply, which is what generating ones
// have, come first: each has a row before any has more.
// What remains goes to prompts: to each, oldest first, at most half of what the
// ones before it left, so that a short prompt behind a long one need not wait
// for all of it; then whatever is still left, oldest first.
func plan(dst []int, loads []load, budget, want int) []int {
	start := len(dst)
	more := budget // rows beyond the first of each
	for i := range loads {
		if loads[i].first() {
			more--
		}
	}
	for i := range loads {
		l, n := &loads[i], 0
		if l.first() && budget > 0 {
			n = l.fit(1+max(0, more), want)
			more -= max(0, n-1)
		}
		budget -= n
		want -= l.wants(n)
		dst = append(dst, n)
	}
	rows := dst[start:]
	for _, share := range []int{2, 1} {
		for i := range loads {
			l := &loads[i]
			if l.full || l.first() || budget <= 0 {
				continue
			}
			had := l.wants(rows[i])
			n := l.fit(rows[i]+(budget+share-1)/share, had+(want+share-1)/share)
			budget -= n - rows[i]
			want -= l.wants(n) - had
			rows[i] = n
		}
	}
	return dst
}
