package speakers

import (
	"math"
	"slices"
)

// An ErrorRate says how far turns are from those of a reference, in seconds of speakers'
// time.
type ErrorRate struct {
	Total                         float64 // of the reference, as far as it is scored
	Missed, FalseAlarm, Confusion float64
	Mapping                       map[int]int // the speaker of each of the reference, where one is
}

// DER is the diarisation error rate: the errors as a share of the reference's speech.
func (e *ErrorRate) DER() float64 {
	if wrong := e.Missed + e.FalseAlarm + e.Confusion; e.Total > 0 || wrong > 0 {
		return wrong / e.Total
	}
	return 0
}

// Scoring says which time is scored. Collar is the seconds on each side of every
// boundary of the reference that are not, as NIST counts them; pyannote.metrics calls
// twice that its collar.
type Scoring struct {
	Collar      float64
	SkipOverlap bool // leave out where several speakers of the reference speak
}

// Rate scores turns by a reference, under the one-to-one mapping of speakers with the most
// time in common. A speaker who overlaps itself counts once.
//
// NIST, "The 2009 (RT-09) Rich Transcription Meeting Recognition Evaluation Plan".
func (s Scoring) Rate(reference, turns []Turn) ErrorRate {
	var edges []float64
	for _, u := range reference {
		for _, at := range []float64{u.Start, u.End} {
			edges = append(edges, at-s.Collar, at, at+s.Collar)
		}
	}
	for _, u := range turns {
		edges = append(edges, u.Start, u.End)
	}
	slices.Sort(edges)
	type cell struct {
		seconds  float64
		ref, hyp []int
	}
	var cells []cell
	refs, hyps := 0, 0
	for i := 1; i < len(edges); i++ {
		middle := (edges[i-1] + edges[i]) / 2
		c := cell{edges[i] - edges[i-1], at(reference, middle), at(turns, middle)}
		if c.seconds <= 0 || s.SkipOverlap && len(c.ref) > 1 || slices.ContainsFunc(reference, func(u Turn) bool {
			return math.Abs(u.Start-middle) < s.Collar || math.Abs(u.End-middle) < s.Collar
		}) {
			continue
		}
		cells = append(cells, c)
		for _, r := range c.ref {
			refs = max(refs, r+1)
		}
		for _, h := range c.hyp {
			hyps = max(hyps, h+1)
		}
	}
	common := make([][]float64, refs)
	for r := range common {
		common[r] = make([]float64, hyps)
	}
	for _, c := range cells {
		for _, r := range c.ref {
			for _, h := range c.hyp {
				common[r][h] += c.seconds
			}
		}
	}
	e := ErrorRate{Mapping: make(map[int]int)}
	for r, h := range Assign(common) {
		if h >= 0 && common[r][h] > 0 {
			e.Mapping[r] = h
		}
	}
	for _, c := range cells {
		r, h, correct := len(c.ref), len(c.hyp), 0
		for _, x := range c.ref {
			if y, ok := e.Mapping[x]; ok && slices.Contains(c.hyp, y) {
				correct++
			}
		}
		e.Total += c.seconds * float64(r)
		e.Missed += c.seconds * float64(max(0, r-h))
		e.FalseAlarm += c.seconds * float64(max(0, h-r))
		e.Confusion += c.seconds * float64(min(r, h)-correct)
	}
	return e
}

// at lists who speaks at a time.
func at(turns []Turn, time float64) (list []int) {
	for _, u := range turns {
		if u.Start <= time && time < u.End && !slices.Contains(list, u.Speaker) {
			list = append(list, u.Speaker)
		}
	}
	return list
}
