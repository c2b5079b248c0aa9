package live

import (
	"quern/engine"
	"quern/engine/asr/vad"
)

// leastHops is how many hops of speech a piece has at least: 96 ms, which a click has not.
const leastHops = 3

// pad is how much of the silence before speech is part of a piece, in samples.
const pad = engine.HearingRate * 3 / 10

// pauses say how long a silence ends a piece, by how long the piece is: a long one ends
// between words, before it has to be cut through one.
var pauses = []struct{ from, silence float64 }{{18, 0.16}, {10, 0.32}, {0, 0.64}}

// A cutter cuts sound into pieces, in pauses.
type cutter struct {
	ear                engine.Listener
	threshold, release float32
	pause              float64 // of a short piece, seconds
	longest            int     // samples of a piece

	audio    []float32 // of the piece, or the pad before one
	start    int       // sample number of audio[0]
	heard    int       // samples of audio that the detector has read
	speaking bool      // a piece has begun
	loud     int       // hops of speech in the piece
	quiet    int       // hops since the last of them
	fresh    int       // hops of speech since the piece was transcribed
}

// add takes sound up to the end of a piece, and returns the rest.
func (c *cutter) add(x []float32) (rest []float32, ended bool) {
	for {
		n := min(c.heard+engine.Hop-len(c.audio), len(x))
		c.audio = append(c.audio, x[:n]...)
		x = x[n:]
		if len(c.audio)-c.heard < engine.Hop {
			return nil, false
		}
		p := c.ear.Hear(c.audio[c.heard : c.heard+engine.Hop])
		c.heard += engine.Hop
		if c.hop(p) {
			return x, true
		}
	}
}

// hop counts a hop by the probability p that it is speech; true: a piece ends.
func (c *cutter) hop(p float32) bool {
	switch {
	case p >= c.threshold:
		if !c.speaking {
			c.drop(max(len(c.audio)-engine.Hop-pad, 0))
		}
		c.speaking, c.quiet = true, 0
		c.loud++
		c.fresh++
	case !c.speaking:
		c.keep(pad)
		return false
	case p < c.release || c.quiet > 0: // between the two, silence goes on if it had begun
		c.quiet++
	}
	if len(c.audio) >= c.longest {
		return true
	}
	if c.quiet == 0 || float64(c.quiet*engine.Hop)/engine.HearingRate < c.silence() {
		return false
	}
	if c.loud < leastHops {
		c.reset()
		c.keep(pad)
		return false
	}
	return true
}

// silence is how long one ends the piece, in seconds.
func (c *cutter) silence() float64 {
	long := float64(len(c.audio)) / engine.HearingRate
	for _, p := range pauses {
		if long >= p.from {
			return min(p.silence, c.pause)
		}
	}
	return c.pause
}

// piece takes a piece that has ended.
func (c *cutter) piece() (audio []float32, at int) {
	at = c.start
	n := len(c.audio)
	if n >= c.longest && c.quiet == 0 {
		n = vad.Quietest(c.audio)
	}
	audio = append([]float32(nil), c.audio[:n]...)
	spoken := n < len(c.audio)                // words go on
	back := min(pad, c.quiet*engine.Hop/2, n) // silence alone is in both
	c.drop(n - back)
	c.reset()
	if c.speaking = spoken; spoken {
		c.loud, c.fresh = leastHops, leastHops
	}
	return audio, at
}

func (c *cutter) reset() { c.speaking, c.loud, c.quiet, c.fresh = false, 0, 0, 0 }

// keep drops all but the last n samples, now and then.
func (c *cutter) keep(n int) {
	if len(c.audio)-n > engine.HearingRate {
		c.drop(len(c.audio) - n)
	}
}

func (c *cutter) drop(n int) {
	c.audio = append(c.audio[:0], c.audio[n:]...)
	c.start += n
	c.heard = max(c.heard-n, 0)
}
