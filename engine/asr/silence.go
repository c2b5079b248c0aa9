package asr

import (
	"math"
	"strings"

	"quern/engine/asr/audio"
)

// A word is odd when it is unlikely, too short or too long.
func oddity(w *Word) float64 {
	d, sum := w.End-w.Start, 0.0
	if w.Probability < 0.15 {
		sum++
	}
	if d < 0.133 {
		sum += (0.133 - d) * 15
	}
	if d > 2 {
		sum += d - 2
	}
	return sum
}

// odd reports whether the first words of a segment look made up.
func odd(s *Segment) bool {
	if s == nil || len(s.Words) == 0 {
		return false
	}
	sum, n := 0.0, 0
	for i := range s.Words {
		if w := &s.Words[i]; n < 8 && !strings.Contains(closing+opening, strings.TrimSpace(w.Text)) {
			sum += oddity(w)
			n++
		}
	}
	return sum >= 3 || sum+0.01 >= float64(n)
}

// withWords returns the first segment that has words.
func withWords(list []Segment) *Segment {
	for i := range list {
		if len(list[i].Words) > 0 {
			return &list[i]
		}
	}
	return nil
}

// skip applies Options.SkipSilence to the segments of n frames from seek on. It
// returns those that stay, and moves the window to where decoding should go on;
// drop says that the whole window is to be decoded again from there.
//
// OpenAI, whisper, transcribe.py, hallucination_silence_threshold.
func (c *clip) skip(list []Segment, seek, n int, single bool) (left []Segment, drop bool) {
	most := c.t.o.SkipSilence
	if most <= 0 {
		return list, false
	}
	before := c.lastSpeech
	defer func() { c.lastSpeech = max(c.lastSpeech, lastEnd(list)) }()
	offset := float64(seek) / audio.FrameRate
	window := offset + float64(c.window)/audio.FrameRate
	if end := lastEnd(list); !single && end > offset {
		c.seek = seek + n
		if window-end > most {
			c.seek = int(math.RoundToEven(end * audio.FrameRate))
		}
	}
	if first := withWords(list); odd(first) {
		if gap := first.Start - offset; gap > most {
			c.seek = seek + int(math.RoundToEven(gap*audio.FrameRate))
			return nil, true
		}
	}
	for i := range list {
		s := &list[i]
		if len(s.Words) == 0 {
			continue
		}
		if odd(s) {
			next := withWords(list[i+1:])
			then := offset + float64(n)/audio.FrameRate
			if next != nil {
				then = next.Words[0].Start
			}
			quietBefore := s.Start-before > most || s.Start < most || s.Start-offset < 2
			quietAfter := then-s.End > most || odd(next) || window-s.End < 2
			if quietBefore && quietAfter {
				c.seek = int(math.RoundToEven(max(offset+1, s.Start) * audio.FrameRate))
				if n < c.window && offset+float64(n)/audio.FrameRate-s.End < most { // the audio ends
					c.seek = seek + n
				}
				return list[:i], false
			}
		}
		before = s.End
	}
	return list, false
}
