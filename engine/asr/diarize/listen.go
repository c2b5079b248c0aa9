package diarize

import (
	"context"
	"math/bits"

	"quern/engine/asr/speakers"
)

// A Listener is given a sound and says in the end who spoke when.
type Listener struct {
	m       *Model
	o       speakers.Options
	x       []float32 // from sample at on
	at      int
	windows []window
}

// A window is what was found in one.
type window struct {
	speakers.Window
	voices [][]float32 // embeddings of local speakers; nil: too short
	alone  []int       // frames in which a local speaker speaks alone
}

// batch is how many windows are segmented in one run.
const batch = 4

// Listen starts on new sound.
func (m *Model) Listen(o speakers.Options) *Listener { return &Listener{m: m, o: o} }

// Hear takes the next samples. It computes when enough have come, so it may take long.
func (l *Listener) Hear(ctx context.Context, x []float32) error {
	l.x = append(l.x, x...)
	width, step := l.m.segmentation.window, l.m.step
	for len(l.x) >= width+(batch-1)*step {
		if err := l.look(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// look finds who speaks in the next n windows.
func (l *Listener) look(ctx context.Context, n int) error {
	s, step := l.m.segmentation, l.m.step
	x := make([]float32, n*s.window) // with silence behind the end
	for i := range n {
		copy(x[i*s.window:(i+1)*s.window], l.x[min(len(l.x), i*step):])
	}
	active, err := s.run(ctx, x, n)
	if err != nil {
		return err
	}
	for i, a := range active {
		sound := l.x[min(len(l.x), i*step):min(len(l.x), i*step+s.window)]
		for f := range a { // whose middle lies behind the end
			if s.frames.Step*f+s.frames.Field/2 >= len(sound) {
				a = a[:f]
				break
			}
		}
		w := window{Window: speakers.Window{First: s.frames.Nearest(l.at + i*step), Active: a}}
		if err := l.m.embed(ctx, &w, sound, l.at+i*step); err != nil {
			return err
		}
		l.windows = append(l.windows, w)
	}
	gone := min(len(l.x), n*step)
	l.x = append(l.x[:0], l.x[gone:]...)
	l.at += n * step
	return nil
}

// leastAlone is how many frames a speaker has to be alone in, so that those with others
// are left out of its embedding.
const leastAlone = 10

// embed finds the embeddings of the local speakers of the window at sample begin.
func (m *Model) embed(ctx context.Context, w *window, sound []float32, begin int) error {
	s, e := m.segmentation, m.embedding
	w.voices, w.alone = make([][]float32, s.locals), make([]int, s.locals)
	any := uint8(0)
	masks := make([][]bool, s.locals)
	for k := range masks {
		alone, all := make([]bool, s.count), make([]bool, s.count)
		n := 0
		for f, set := range w.Active {
			if set>>k&1 == 1 {
				n++
				all[f] = true
				if alone[f] = bits.OnesCount8(set) == 1; alone[f] {
					w.alone[k]++
				}
			}
			any |= set
		}
		switch {
		case w.alone[k] >= leastAlone:
			masks[k] = alone
		case n >= leastAlone:
			masks[k] = all
		}
	}
	if any == 0 {
		return nil
	}
	if e.parts == nil {
		for k, mask := range masks {
			if mask == nil {
				continue
			}
			var x []float32
			for _, p := range m.pieces(mask, begin) {
				x = append(x, sound[min(len(sound), p[0]-begin):min(len(sound), p[1]-begin)]...)
			}
			var err error
			if w.voices[k], err = e.voice(ctx, x); err != nil {
				return err
			}
		}
		return nil
	}
	rows := e.features.Of(sound)
	if len(rows) < leastRows*e.features.Bands() {
		return nil
	}
	states, err := e.parts.before(ctx, e, rows)
	if err != nil {
		return err
	}
	for k, mask := range masks {
		if mask == nil {
			continue
		}
		// Of the frames that are sound.
		if w.voices[k], err = e.parts.after(ctx, states, mask[:max(1, len(w.Active))]); err != nil {
			return err
		}
	}
	return nil
}

// pieces are the samples in which a mask of the window at sample begin is on, as sherpa-onnx
// divides a window among frames: in float32, so that they are the same to the sample.
func (m *Model) pieces(mask []bool, begin int) (list [][2]int) {
	at := func(frame int) int {
		share := float32(frame) / float32(m.segmentation.count)
		return int(float32(share*float32(m.segmentation.window)) + float32(begin)) // no fused product
	}
	from := -1
	for f, on := range mask {
		switch last := f == len(mask)-1; {
		case on && from < 0:
			from = f
		case from >= 0 && (!on || last):
			list = append(list, [2]int{at(from), at(f)})
			from = -1
		}
	}
	return list
}

// mostTrained bounds the embeddings that clusters are made of, the work and memory of which
// grow with their square: an hour has fewer. Of more an even choice is taken; all get their
// speaker by the clusters' means.
const mostTrained = 4096

// Finish ends the sound and says who spoke.
func (l *Listener) Finish(ctx context.Context) (*speakers.Result, error) {
	m := l.m
	s := m.segmentation
	for len(l.x) > 0 && (l.at == 0 || len(l.x) > s.window-m.step) {
		left := 1
		if len(l.x) > s.window {
			left += (len(l.x) - s.window + m.step - 1) / m.step
		}
		if err := l.look(ctx, min(left, batch)); err != nil {
			return nil, err
		}
	}
	l.x = nil
	centroids, apart := l.centroids()
	single := len(l.windows) == 1
	for i := range l.windows {
		w := &l.windows[i]
		switch {
		case single && len(centroids) == 0:
			w.Of = local(w)
		default:
			w.Of = speakers.Nearest(w.voices, centroids, apart || w.together(2) >= leastAlone)
		}
	}
	names := make([]string, len(centroids))
	if len(l.o.Known) > 0 {
		if single && len(centroids) == 0 {
			centroids = l.windows[0].voices
			names = make([]string, len(centroids))
		}
		var labels []string
		var known [][]float32
		for _, v := range l.o.Known {
			x, err := m.embedding.voice(ctx, v.Sound)
			if err != nil {
				return nil, err
			}
			labels, known = append(labels, v.Name), append(known, x)
		}
		names = speakers.Known(centroids, labels, known)
	}
	t := speakers.Timeline{Frames: s.frames, Gap: m.gap, Least: m.least}
	for _, w := range l.windows {
		t.Windows = append(t.Windows, w.Window)
	}
	r := &speakers.Result{Turns: t.Turns(), Names: names}
	t.Most = 1
	r.Sole = t.Turns()
	r.Number()
	return r, nil
}

// together is how many frames have so many speakers at least. They are different persons,
// whatever their embeddings say, which may be of the same frames.
func (w *window) together(n int) (frames int) {
	for _, set := range w.Active {
		if bits.OnesCount8(set) >= n {
			frames++
		}
	}
	return frames
}

// local takes the local speakers of the only window for speakers.
func local(w *window) []int {
	of := make([]int, len(w.voices))
	for k := range of {
		of[k] = k
	}
	return of
}

// centroids makes speakers of the embeddings: of those that were alone for a fifth of their
// window, or of all where nobody was. There are none where the only window tells its
// speakers apart itself and as many as there may be.
func (l *Listener) centroids() (means [][]float32, apart bool) {
	var clean, all [][]float32
	for i := range l.windows {
		w := &l.windows[i]
		for k, v := range w.voices {
			if v == nil {
				continue
			}
			all = append(all, v)
			if 5*w.alone[k] >= l.m.segmentation.count {
				clean = append(clean, v)
			}
		}
	}
	if len(l.windows) == 1 {
		n := 0
		seen := uint8(0)
		for _, set := range l.windows[0].Active {
			seen |= set
		}
		n = bits.OnesCount8(seen)
		if l.o.Max == 0 || n <= l.o.Max {
			return nil, false
		}
		clean = nil
	}
	if len(clean) < max(2, l.o.Min) {
		clean = all
	}
	if n := len(clean); n > mostTrained {
		var some [][]float32
		for i := range mostTrained {
			some = append(some, clean[i*n/mostTrained])
		}
		clean = some
	}
	b := l.o.Bounds
	for n := 2; n <= l.m.segmentation.locals; n++ {
		frames := 0
		for i := range l.windows {
			frames += l.windows[i].together(n)
		}
		// A second of it, of which as many windows tell.
		if s := l.m.segmentation; frames*s.frames.Step*l.m.step >= rate*s.window && (b.Max == 0 || n <= b.Max) {
			b.Min = max(b.Min, n)
		}
	}
	c := l.m.clustering
	if l.o.Threshold > 0 {
		c.Threshold *= l.o.Threshold
	}
	return c.Centroids(clean, b)
}
