package speakers

import (
	"math"

	"quern/engine/asr/heard"
)

// Overlaps is how long a turn and a time have in common.
func (u Turn) Overlaps(start, end float64) float64 {
	return max(0, min(u.End, end)-max(u.Start, start))
}

// Speaking returns the speaker with the most of a time, or −1 where it has no speech.
func Speaking(turns []Turn, start, end float64) int {
	common := make(map[int]float64)
	best := -1
	for _, u := range turns {
		if n := u.Overlaps(start, end); n > 0 {
			common[u.Speaker] += n
			if best < 0 || common[u.Speaker] > common[best] || common[u.Speaker] == common[best] && u.Speaker < best {
				best = u.Speaker
			}
		}
	}
	return best
}

// Closest returns the speaker of the turn with the least time between it and a time, of equal
// ones that whose middle is nearest, or −1 where there are no turns.
func Closest(turns []Turn, start, end float64) int {
	best, least, middle := -1, math.Inf(1), math.Inf(1)
	for _, u := range turns {
		apart, d := max(0, u.Start-end, start-u.End), math.Abs(u.Start+u.End-start-end)
		if apart < least || apart == least && d < middle {
			best, least, middle = u.Speaker, apart, d
		}
	}
	return best
}

// A Result is who spoke when in a sound.
type Result struct {
	Turns []Turn // with overlaps
	Sole  []Turn // without: the likeliest speaker of each time
	// Names are those of the speakers, by number; "" of one that is not known by name.
	Names []string
}

// Label gives segments and words their speakers, and cuts segments where the speaker
// changes from one word to the next. Words outside of all turns have the speaker of the
// closest one. Segments are renumbered.
func (r *Result) Label(segments []heard.Segment) []heard.Segment {
	var out []heard.Segment
	for _, s := range segments {
		s.Words = append([]heard.Word(nil), s.Words...)
		for i := range s.Words {
			w := &s.Words[i]
			w.Speaker = r.who(w.Start, w.End)
			w.Overlap = r.overlap(w.Speaker, w.Start, w.End)
		}
		for k := 1; k > 0; {
			part := s
			if k = change(s.Words); k > 0 {
				part, s = s.Cut(k)
			}
			if len(part.Words) > 0 {
				part.Speaker = part.Words[0].Speaker
			} else {
				part.Speaker = r.who(part.Start, part.End)
			}
			part.Overlap = r.overlap(part.Speaker, part.Start, part.End)
			part.ID = len(out)
			out = append(out, part)
		}
	}
	return out
}

// change is the first word with another speaker than the one before it, or 0.
func change(words []heard.Word) int {
	for i := 1; i < len(words); i++ {
		if words[i].Speaker != words[i-1].Speaker {
			return i
		}
	}
	return 0
}

// who returns the speaker of a time, from 1, or 0 if r.Sole is empty.
func (r *Result) who(start, end float64) int {
	by := Speaking(r.Sole, start, end)
	if by < 0 {
		by = Closest(r.Sole, start, end)
	}
	return by + 1
}

// overlap reports whether others speak together with a speaker for half of a time.
func (r *Result) overlap(speaker int, start, end float64) bool {
	both := 0.0
	for _, own := range r.Turns {
		if own.Speaker != speaker-1 {
			continue
		}
		from, to := max(start, own.Start), min(end, own.End)
		if from >= to {
			continue
		}
		for _, u := range r.Turns { // by their starts: what is counted lies before from
			if n := u.Overlaps(from, to); u.Speaker != own.Speaker && n > 0 {
				both += n
				from = min(to, u.End)
			}
		}
	}
	return both > 0 && both >= (end-start)/2
}

// Number numbers speakers from 0 on by their first turns, and forgets those without any.
func (r *Result) Number() {
	number := make(map[int]int)
	var names []string
	for i := range r.Turns {
		u := &r.Turns[i]
		if _, ok := number[u.Speaker]; !ok {
			number[u.Speaker] = len(names)
			name := ""
			if u.Speaker < len(r.Names) {
				name = r.Names[u.Speaker]
			}
			names = append(names, name)
		}
		u.Speaker = number[u.Speaker]
	}
	for i := range r.Sole {
		r.Sole[i].Speaker = number[r.Sole[i].Speaker] // each speaker of Sole has a turn too
	}
	r.Names = names
}
