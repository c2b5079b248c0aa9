package sched

// The background's share of a step that foreground requests are in.
const (
	// backgroundShare is its share of the time that these take, one of so many.
	backgroundShare = 16
	// mostBeside bounds the time of a row that takes longer than that: one of so many parts of the
	// step. Its share is saved up for it.
	mostBeside = 5
	// leastBeside is the number of steps of which one has a row of the background at least, so that it
	// does not starve where rows take longer, or where every step reads prompts. It is large
	// enough for 95 of 100 steps to be as they are without it.
	leastBeside = 32
)

// A beside counts the background's share of the steps of the foreground. While one of these reads a
// prompt the share is 0: clients wait longer for a first token than for the next one.
type beside struct {
	saved float64 // time of its share that was too little for a row
	since int     // steps since its last row
}

// room is how much time of a step the background may take: the foreground takes others of it,
// reading prompts or not, and one row of the background takes row.
func (b *beside) room(others, row float64, reading bool) float64 {
	share := others / backgroundShare
	switch {
	case b.due():
		return max(share, row)
	case reading:
		return 0
	case row > share && row*mostBeside <= others && row <= b.saved+share:
		return row
	}
	return share
}

// due reports whether the next step has a row of the background, however long it takes.
func (b *beside) due() bool { return b.since >= leastBeside-1 }

// note records the background's time in such a step.
func (b *beside) note(others, had float64) {
	if b.since++; had > 0 {
		b.since = 0
	}
	b.saved = min(max(0, b.saved+others/backgroundShare-had), others)
}
