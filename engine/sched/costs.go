package sched

import "time"

// costs is how long steps take by their rows, as measured. Steps of few rows are bound by the
// weights they read, so that one row more costs little; how little depends on the model,
// the machine and the kernels, and is no smooth function. Rows of prompts come in larger
// numbers, and the cost of one grows with the tokens before it.
type costs struct {
	mean    [mostRows + 1]float64 // seconds, a running mean; 0 where none was measured
	when    [mostRows + 1]int     // the step that was the last of so many rows, from 1
	steps   int
	prompts line // seconds a row of a prompt, by the tokens before it
}

// mostRows is how many rows a step may have that drafts go with. One with more is bound by
// arithmetic: each row costs its share.
const mostRows = 64

// A share is a step's rows of prompts.
type share struct {
	rows  int
	depth int // tokens before these rows, of all together
}

// perRow is the share of a step's time that a further row adds, until it is measured, and leastRow
// the least share: measured on a busy machine, more rows may seem to take less.
const (
	perRow   = 0.1
	leastRow = 0.02
)

// note records the time of a step. One that took longer than twice the mean counts as that.
func (c *costs) note(rows int, of share, took time.Duration) {
	c.steps++
	if rows <= mostRows {
		c.when[rows] = c.steps
	}
	if took <= 0 {
		return
	}
	x := took.Seconds()
	if of.rows > 0 {
		n := float64(of.rows)
		depth := float64(of.depth) / n
		beside := c.of(rows - of.rows)
		if had := c.prompts.n > 0; had {
			x = min(x, 2*(beside+n*c.row(depth)))
		}
		c.prompts.note(depth, max(0, x-beside)/n)
		x = max(x-n*depth*c.prompts.slope(), x/2)
	}
	if rows > mostRows {
		return
	}
	mean := &c.mean[rows]
	if *mean == 0 {
		*mean = x
	}
	*mean += (min(x, 2**mean) - *mean) / 8
}

// row estimates what a row of a prompt adds to a step that has others.
func (c *costs) row(depth float64) float64 {
	if c.prompts.n == 0 {
		return perRow * c.of(1)
	}
	return max(c.prompts.at(depth), c.of(1)/leastShare, tiny)
}

// leastShare bounds the estimated cost of a row of a prompt from below: so many take as long
// as a step of one.
const leastShare = 1024

// tiny keeps costs from being nothing.
const tiny = 1e-12

// A line is one through points of which older ones fade: a least-squares fit that rises or
// is level.
type line struct{ n, x, y, xx, xy float64 }

// note adds a point.
func (l *line) note(x, y float64) {
	const keep = 15. / 16
	l.n, l.x, l.y, l.xx, l.xy = l.n*keep+1, l.x*keep+x, l.y*keep+y, l.xx*keep+x*x, l.xy*keep+x*y
}

// slope is what y rises by with x; 0 where points are too close to each other.
func (l *line) slope() float64 {
	spread := l.xx - l.x*l.x/l.n
	if spread < 1 {
		return 0
	}
	rise := max(0, l.xy-l.x*l.y/l.n) / (spread + l.n*levelled*levelled)
	return min(rise, l.y/max(l.x, 1)) // nothing costs less than nothing at 0
}

// levelled is the standard deviation of the points' x, in tokens, at which half of the measured slope
// is used: it damps noise.
const levelled = 64

// at is the line's y, where there is any point.
func (l *line) at(x float64) float64 { return l.y/l.n + l.slope()*(x-l.x/l.n) }

// known reports whether steps of so many rows were measured lately. Without that the
// time that a draft saves cannot be estimated.
func (c *costs) known(rows int) bool {
	return rows > mostRows || c.when[rows] > 0 && c.steps-c.when[rows] < 64
}

// of estimates the time of a step of so many rows, by those with fewer and more where it was
// never measured. Its unit is without meaning until anything was.
func (c *costs) of(rows int) float64 {
	switch {
	case rows == 0:
		return 0
	case rows > mostRows:
		return c.of(mostRows) * float64(rows) / mostRows
	}
	lo, hi := rows, rows
	for lo > 0 && c.mean[lo] == 0 {
		lo--
	}
	for hi <= mostRows && c.mean[hi] == 0 {
		hi++
	}
	model := func(n int) float64 { return 1 + perRow*float64(n-1) }
	switch {
	case lo > 0 && hi <= mostRows && hi > lo:
		return c.mean[lo] + (c.mean[hi]-c.mean[lo])*float64(rows-lo)/float64(hi-lo)
	case lo > 0:
		return c.mean[lo] * model(rows) / model(lo)
	case hi <= mostRows:
		return c.mean[hi] * model(rows) / model(hi)
	}
	if c.prompts.n > 0 {
		return model(rows) * max(c.prompts.y/c.prompts.n, tiny) / perRow
	}
	return model(rows)
}

// odds are those of a drafted token to be drawn, where all before it were.
type odds struct{ agreed, tried float64 }

// of is the share, as far as it is known.
func (o odds) of() float64 { return o.agreed / o.tried }

// note records that of a draft of n tokens the first agreed were drawn. Tries older than the
// last memory of them fade.
func (o *odds) note(n, agreed int, memory float64) {
	o.agreed += float64(agreed)
	o.tried += float64(min(n, agreed+1))
	if o.tried > memory {
		o.agreed, o.tried = o.agreed*memory/o.tried, memory
	}
}

// few is the weight of the odds of all sequences, in tries.
const few = 4

// among mixes the odds o of one sequence with those of all, which count as few tries.
func (o odds) among(all odds) float64 { return (o.agreed + few*all.of()) / (o.tried + few) }
