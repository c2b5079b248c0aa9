package formant

import "math"

// A point is a pitch target: semitones relative to the voice's own pitch.
type point struct{ ms, st float64 }

// contour lays pitch targets over the segments: a line that declines over each
// phrase, a hump on each stressed vowel, and an ending that the punctuation
// after the phrase decides.
//
// The shape is the hat pattern of 't Hart, Collier & Cohen, "A perceptual study
// of intonation", 1990, with numbers for a plain reading voice.
func contour(segs []segment, symbols []rune, spread float64) []point {
	var points []point
	at := 0.0
	for i := 0; i < len(segs); {
		if segs[i].part.manner == silence {
			at += segs[i].ms
			i++
			continue
		}
		j, length := i, 0.0
		for j < len(segs) && segs[j].part.manner != silence {
			length += segs[j].ms
			j++
		}
		mark := '.'
		if s := segs[j].symbol; s >= 0 {
			mark = symbols[s]
		}
		points = append(points, phrase(segs[i:j], at, length, mark, spread)...)
		at += length
		i = j
	}
	return points
}

// phrase returns the points of one phrase that starts at ms and ends with mark.
func phrase(segs []segment, ms, length float64, mark rune, spread float64) []point {
	line := func(t float64) float64 { return 2 - 4*(t-ms)/max(length, 400) }
	if mark == '!' {
		spread *= 1.35
	}
	nucleus := -1
	for i := range segs {
		if segs[i].pitch == primary {
			nucleus = i
		}
	}
	if nucleus < 0 {
		for i := range segs {
			if segs[i].part.manner == vowel {
				nucleus = i
			}
		}
	}
	points := []point{{ms, line(ms)}}
	end := ms + length
	t, first := ms, true
	for i := range segs {
		g := &segs[i]
		mid := t + 0.4*g.ms
		switch {
		case i == nucleus && mark == '?':
			points = append(points, point{t, line(t) - 1.5*spread}, point{mid, line(mid) - 1.5*spread})
		case i == nucleus:
			points = append(points, point{t - 40, line(t) + 0.5*spread}, point{mid, line(mid) + 3*spread})
			if after := t + 1.3*g.ms; after < end {
				points = append(points, point{after, line(after) - 1*spread})
			}
		case g.pitch == primary:
			h := 2.2
			if first {
				h = 3.2
			}
			points = append(points, point{t - 50, line(t)}, point{mid, line(mid) + h*spread}, point{t + 1.6*g.ms + 40, line(t)})
			first = false
		case g.pitch == secondary:
			points = append(points, point{mid, line(mid) + 0.8*spread})
		}
		t += g.ms
	}
	switch mark {
	case '?':
		points = append(points, point{end, 6 * spread})
	case ',', ';', ':', '—', '(', ')':
		points = append(points, point{end - 60, line(end) - 0.5}, point{end, line(end) + 1.8*spread})
	default:
		points = append(points, point{end, -4 * spread})
	}
	return inOrder(points)
}

// inOrder drops points that would go back in time.
func inOrder(points []point) []point {
	out := points[:1]
	for _, p := range points[1:] {
		if p.ms > out[len(out)-1].ms {
			out = append(out, p)
		}
	}
	return out
}

// A melody reads a contour from left to right.
type melody struct {
	points []point
	next   int
	st     float64 // smoothed value
	begun  bool
}

// at returns the pitch in semitones at ms, which must not decrease between
// calls. Points are joined by lines and rounded by one pole of about 25 ms.
func (m *melody) at(ms float64) float64 {
	if len(m.points) == 0 {
		return 0
	}
	for m.next < len(m.points) && m.points[m.next].ms <= ms {
		m.next++
	}
	var want float64
	switch {
	case m.next == 0:
		want = m.points[0].st
	case m.next == len(m.points):
		want = m.points[m.next-1].st
	default:
		a, b := m.points[m.next-1], m.points[m.next]
		want = a.st + (b.st-a.st)*(ms-a.ms)/(b.ms-a.ms)
	}
	if !m.begun {
		m.st, m.begun = want, true
	}
	const stepMS = 1000.0 * step / Rate
	m.st += (want - m.st) * (1 - math.Exp(-stepMS/25))
	return m.st
}
