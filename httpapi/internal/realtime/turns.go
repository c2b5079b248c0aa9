package realtime

import "quern/engine"

// loudHops is how many hops in a row are speech before a turn begins: 96 ms, which a
// click is not.
const loudHops = 3

// turns finds where turns of a speaker begin and end.
type turns struct {
	ear       engine.Listener
	threshold float32 // speech is at least so likely
	release   float32 // silence is less likely speech
	silence   int     // hops that end a turn

	loud, quiet int // hops in a row
	speaking    bool
}

// A change is what a hop changed.
type change int

const (
	same change = iota
	began
	ended
)

func newTurns(d engine.Detector, t *turnDetection) *turns {
	hops := (t.Silence*engine.HearingRate/1000 + engine.Hop - 1) / engine.Hop
	return &turns{ear: d.Listen(), threshold: t.Threshold, release: max(t.Threshold-0.15, 0.01), silence: max(hops, 1)}
}

// hear takes the next engine.Hop samples.
func (t *turns) hear(hop []float32) change {
	p := t.ear.Hear(hop)
	switch {
	case p >= t.threshold:
		t.loud, t.quiet = t.loud+1, 0
	case p < t.release:
		t.loud, t.quiet = 0, t.quiet+1
	default: // between the two what was goes on
		if t.loud = 0; t.quiet > 0 {
			t.quiet++
		}
	}
	switch {
	case !t.speaking && t.loud == loudHops:
		t.speaking = true
		return began
	case t.speaking && t.quiet >= t.silence:
		t.stop()
		return ended
	}
	return same
}

// stop ends a turn.
func (t *turns) stop() { t.speaking, t.loud, t.quiet = false, 0, 0 }
