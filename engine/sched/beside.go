package sched

// What the background may have of a step that others are in.
const (
	// backgroundShare is its share of the time that others take, one of so many.
	backgroundShare = 16
	// mostBeside bounds what a row adds that takes longer than that: one of so many parts of the
	// step. Its share is saved up for it.
	mostBeside = 5
	// leastBeside is the number of steps of which one has a row of the background at least, so that it
	// ends some day: where rows take longer, and where others read prompts in every step. It is
	// few enough for 95 of 100 steps to be as they are without it.
	leastBeside = 32
)

// A beside is what the background has had of the steps of others. While one of them reads a
// prompt it has nothing: a first token is waited for longer than the next one.
type beside struct {
	saved float64 // time that was left to it and too little for a row
	since int     // steps since its last row
}

// room is how much time of a step the background may have: others take so much of it, reading
// prompts or not, and one of its rows takes row.
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

// due says whether the next step has a row of the background, whatever it takes.
func (b *beside) due() bool { return b.since >= leastBeside-1 }

// note takes in what it had of such a step.
func (b *beside) note(others, had float64) {
	if b.since++; had > 0 {
		b.since = 0
	}
	b.saved = min(max(0, b.saved+others/backgroundShare-had), others)
}
