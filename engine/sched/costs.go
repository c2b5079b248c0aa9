package sched

import "time"

// costs is how long steps take by their rows, as measured. Steps of few rows are bound by the
// weights they read, so that one row more costs little; how little depends on the model,
// the machine and the kernels, and is no smooth function.
type costs struct {
	mean  [mostRows + 1]float64 // seconds, a running mean; 0 where none was measured
	when  [mostRows + 1]int     // the step that was the last of so many rows, from 1
	steps int
}

// mostRows is how many rows a step may have that drafts go with. One with more is bound by
// arithmetic: each row costs its share.
const mostRows = 64

// perRow is what a row adds to a step of one, until it is measured, and leastRow what it adds
// at least: times of a busy machine may say that more rows take less.
const (
	perRow   = 0.1
	leastRow = 0.02
)

// note takes the time of a step in. One that was held up counts as twice the mean.
func (c *costs) note(rows int, took time.Duration) {
	c.steps++
	if rows > mostRows {
		return
	}
	if c.when[rows] = c.steps; took <= 0 {
		return
	}
	x, mean := took.Seconds(), &c.mean[rows]
	if *mean == 0 {
		*mean = x
	}
	*mean += (min(x, 2**mean) - *mean) / 8
}

// known says whether steps of so many rows were measured lately. What is saved cannot be
// told otherwise.
func (c *costs) known(rows int) bool {
	return c.when[rows] > 0 && c.steps-c.when[rows] < 64
}

// of estimates the time of a step of so many rows, by those with fewer and more where it was
// never measured. Its unit is without meaning until anything was.
func (c *costs) of(rows int) float64 {
	rows = min(rows, mostRows)
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
	return model(rows)
}

// odds are those of a drafted token to be drawn, where all before it were.
type odds struct{ agreed, tried float64 }

// of is the share, as far as it is known.
func (o odds) of() float64 { return o.agreed / o.tried }

// note takes in that of a draft of n tokens the first agreed were drawn. What is older than
// memory tries fades.
func (o *odds) note(n, agreed int, memory float64) {
	o.agreed += float64(agreed)
	o.tried += float64(min(n, agreed+1))
	if o.tried > memory {
		o.agreed, o.tried = o.agreed*memory/o.tried, memory
	}
}

// few is the weight of what is known of others, in tries.
const few = 4

// among are the odds o where little is known of it but all.
func (o odds) among(all odds) float64 { return (o.agreed + few*all.of()) / (o.tried + few) }
