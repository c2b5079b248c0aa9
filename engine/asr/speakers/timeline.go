package speakers

import (
	"cmp"
	"math/bits"
	"slices"
)

// A Turn is a time in which a speaker speaks. Those of different speakers may overlap.
type Turn struct {
	Start, End float64 // seconds
	Speaker    int     // from 0
}

// Frames are how times are counted in windows: frame f is about sample Step·f + Field/2.
type Frames struct{ Step, Field, Rate int }

// Seconds is the time of the middle of a frame.
func (f Frames) Seconds(frame int) float64 {
	return (float64(f.Step*frame) + float64(f.Field)/2) / float64(f.Rate)
}

// Nearest is the frame that is nearest to one that begins at a sample, half up.
func (f Frames) Nearest(sample int) int { return (2*sample + f.Step) / (2 * f.Step) }

// MaxLocal bounds the speakers of a window.
const MaxLocal = 8

// A Window is a piece of sound with a few local speakers, which other windows number
// otherwise.
type Window struct {
	First  int     // frame
	Active []uint8 // of each frame: bit s is set where local speaker s speaks
	Of     []int   // the speaker that a local one is; −1: none
}

// A Timeline is the windows of a sound in their order. Windows may overlap.
type Timeline struct {
	Frames
	Windows []Window
	// Most bounds how many speak at a time; 0 is no bound, 1 makes turns that do not overlap.
	Most int
	// Gap joins turns of a speaker with less silence between, in seconds; turns up to Least
	// are then left out.
	Gap, Least float64
}

// Counts is how many speak in each frame: the mean of the windows over it, half up.
//
// Bredin & Laurent, "End-to-end speaker segmentation for overlap-aware
// resegmentation", 2021.
func (t *Timeline) Counts() []int {
	out := []int{}
	t.each(func(_ int, over []Window, at []int) {
		sum := 0
		for i, w := range over {
			sum += bits.OnesCount8(w.Active[at[i]])
		}
		n := 0
		if len(over) > 0 {
			n = (2*sum + len(over)) / (2 * len(over))
		}
		out = append(out, n)
	})
	return out
}

// each calls do for every frame with the windows over it and where in them it lies.
func (t *Timeline) each(do func(frame int, over []Window, at []int)) {
	end, next, from := 0, 0, 0
	for _, w := range t.Windows {
		end = max(end, w.First+len(w.Active))
	}
	var over []Window
	var at []int
	for f := range end {
		for next < len(t.Windows) && t.Windows[next].First <= f {
			next++
		}
		for from < next && t.Windows[from].First+len(t.Windows[from].Active) <= f {
			from++
		}
		over, at = over[:0], at[:0]
		for _, w := range t.Windows[from:next] {
			if f < w.First+len(w.Active) {
				over, at = append(over, w), append(at, f-w.First)
			}
		}
		do(f, over, at)
	}
}

// Turns returns who speaks when, by the start of turns: in every frame the speakers that
// most windows have, as many as speak, and none that no window has.
func (t *Timeline) Turns() []Turn {
	n := 0
	for _, w := range t.Windows {
		for _, s := range w.Of {
			n = max(n, s+1)
		}
	}
	counts := t.Counts()
	votes, order, counted := make([]int, n), make([]int, n), make([]int, n) // counted: with which window, from 1
	since := make([]int, n)                                                 // first frame of an open turn, from 1; 0: none is open
	var turns []Turn
	end := func(s, frame int) {
		if since[s] > 0 {
			turns = append(turns, Turn{t.Seconds(since[s] - 1), t.Seconds(frame), s})
			since[s] = 0
		}
	}
	t.each(func(frame int, over []Window, at []int) {
		clear(votes)
		clear(counted)
		for i, w := range over {
			for s, of := range w.Of {
				// Two local speakers that are one count once.
				if w.Active[at[i]]>>s&1 == 1 && of >= 0 && counted[of] != i+1 {
					votes[of]++
					counted[of] = i + 1
				}
			}
		}
		for s := range order {
			order[s] = s
		}
		slices.SortStableFunc(order, func(a, b int) int { return votes[b] - votes[a] })
		count := counts[frame]
		if t.Most > 0 {
			count = min(count, t.Most)
		}
		for i, s := range order {
			switch speaks := i < count && votes[s] > 0; {
			case !speaks:
				end(s, frame)
			case since[s] == 0:
				since[s] = frame + 1
			}
		}
	})
	for s := range since {
		end(s, len(counts))
	}
	return t.joined(turns)
}

// joined closes gaps, leaves out short turns, and sorts.
func (t *Timeline) joined(turns []Turn) []Turn {
	slices.SortStableFunc(turns, func(a, b Turn) int {
		return cmp.Or(cmp.Compare(a.Speaker, b.Speaker), cmp.Compare(a.Start, b.Start))
	})
	var out []Turn
	for _, u := range turns {
		if k := len(out) - 1; k >= 0 && out[k].Speaker == u.Speaker && u.Start-out[k].End < t.Gap {
			out[k].End = u.End
		} else {
			out = append(out, u)
		}
	}
	out = slices.DeleteFunc(out, func(u Turn) bool { return u.End-u.Start <= t.Least })
	slices.SortStableFunc(out, func(a, b Turn) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Speaker, b.Speaker))
	})
	return out
}
