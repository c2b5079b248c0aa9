package audio

import "quern/engine"

// LoudHops is how many hops in a row are speech before a turn begins: 96 ms, which a
// click is not.
const LoudHops = 3

// Turns finds where turns of a speaker begin and end.
type Turns struct {
	Speaking bool

	ear       engine.Listener
	threshold float32 // speech is at least so likely
	release   float32 // silence is less likely speech
	begins    int     // hops that begin a turn
	silence   int     // hops that end it

	loud, quiet int // hops in a row
}

// A Change is the effect of a hop.
type Change int

// The changes.
const (
	Same Change = iota
	Began
	Ended
)

// NewTurns finds turns by a detector of speech: speech is likelier than threshold, and so
// many hops of it begin a turn; a silence of so many milliseconds ends it.
func NewTurns(d engine.Detector, threshold float32, begins, silence int) *Turns {
	return &Turns{ear: d.Listen(), threshold: threshold, release: max(threshold-0.15, 0.01), begins: max(begins, 1), silence: max(Hops(silence), 1)}
}

// Hops is how many hops last so many milliseconds at least.
func Hops(ms int) int { return (ms*engine.HearingRate/1000 + engine.Hop - 1) / engine.Hop }

// Hear takes the next engine.Hop samples.
func (t *Turns) Hear(hop []float32) Change {
	p := t.ear.Hear(hop)
	switch {
	case p >= t.threshold:
		t.loud, t.quiet = t.loud+1, 0
	case p < t.release:
		t.loud, t.quiet = 0, t.quiet+1
	default: // between the two thresholds the state stays
		if t.loud = 0; t.quiet > 0 {
			t.quiet++
		}
	}
	switch {
	case !t.Speaking && t.loud == t.begins:
		t.Speaking = true
		return Began
	case t.Speaking && t.quiet >= t.silence:
		t.Stop()
		return Ended
	}
	return Same
}

// Stop ends a turn.
func (t *Turns) Stop() { t.Speaking, t.loud, t.quiet = false, 0, 0 }
