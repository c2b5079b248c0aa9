package diarize

import (
	"context"
	"math/bits"
	"slices"

	"quern/engine/asr/audio"
	"quern/engine/asr/speakers"
	"quern/engine/onnx"
)

// A Listener is given a sound, and in the end returns its speakers and their turns.
type Listener struct {
	m       *Model
	o       speakers.Options
	x       []float32 // from sample from on
	from    int
	at      int // sample of the next window
	windows []window
	waiting int     // the first window that has no embeddings yet
	blocks  []block // of the sound, that windows may lie in
	blocked int     // sample of the next block
}

// A window is the findings of one.
type window struct {
	speakers.Window
	at     int             // sample
	end    int             // of its sound
	masks  [][]bool        // frames that local speakers are embedded from; nil: too short
	spans  []speakers.Span // from the first to the last of them, in frames of the sound
	voices [][]float32     // their embeddings
	alone  []int           // frames in which a local speaker speaks alone
}

// A block is the states of a network of voices for a piece of the sound, as long as a window.
type block struct {
	at, n  int // samples
	states *onnx.Tensor
}

// batch is how many windows are segmented in one run: as many rows as products take at a
// time, since the steps of an LSTM have a row for each window.
const batch = 6

// Listen starts on new sound.
func (m *Model) Listen(o speakers.Options) *Listener { return &Listener{m: m, o: o} }

// Hear takes the next samples. It computes when enough have come, so it may take long.
func (l *Listener) Hear(ctx context.Context, x []float32) error {
	l.x = append(l.x, x...)
	for l.heard() >= l.at+l.m.segmentation.window+(batch-1)*l.m.step {
		if err := l.look(ctx, batch, false); err != nil {
			return err
		}
	}
	return nil
}

// heard is how many samples were read.
func (l *Listener) heard() int { return l.from + len(l.x) }

// sound is n samples from one on, as far as they have come.
func (l *Listener) sound(at, n int) []float32 {
	at -= l.from
	return l.x[min(len(l.x), at):min(len(l.x), at+n)]
}

// look finds who speaks in the next n windows. last says that no more sound comes.
func (l *Listener) look(ctx context.Context, n int, last bool) error {
	s, step := l.m.segmentation, l.m.step
	x := make([]float32, n*s.window) // with silence behind the end
	for i := range n {
		copy(x[i*s.window:], l.sound(l.at+i*step, s.window))
	}
	active, err := s.run(ctx, x, n)
	if err != nil {
		return err
	}
	for i, a := range active {
		at := l.at + i*step
		sound := l.sound(at, s.window)
		for f := range a { // whose middle lies behind the end
			if s.frames.Step*f+s.frames.Field/2 >= len(sound) {
				a = a[:f]
				break
			}
		}
		w := window{Window: speakers.Window{First: s.frames.Nearest(at), Active: a}, at: at, end: at + len(sound)}
		w.mask(s)
		l.windows = append(l.windows, w)
	}
	l.at += n * step
	if err := l.embed(ctx, last); err != nil {
		return err
	}
	gone := min(len(l.x), l.at-l.from, l.blocked-l.from)
	l.x = append(l.x[:0], l.x[gone:]...)
	l.from += gone
	return nil
}

// leastAlone is how many frames a speaker has to be alone in, so that those with others
// are left out of its embedding.
const leastAlone = 10

// mask finds the frames that local speakers are embedded from.
func (w *window) mask(s *segmentation) {
	w.masks, w.voices, w.alone = make([][]bool, s.locals), make([][]float32, s.locals), make([]int, s.locals)
	w.spans = make([]speakers.Span, s.locals)
	for k := range w.masks {
		alone, all := make([]bool, s.count), make([]bool, s.count)
		n := 0
		for f, set := range w.Active {
			if set>>k&1 == 0 {
				continue
			}
			n++
			all[f] = true
			if alone[f] = bits.OnesCount8(set) == 1; alone[f] {
				w.alone[k]++
			}
		}
		switch {
		case w.alone[k] >= leastAlone:
			w.masks[k] = alone
		case n >= leastAlone:
			w.masks[k] = all
		}
		if mask := w.masks[k]; mask != nil {
			end := len(mask)
			for !mask[end-1] {
				end--
			}
			w.spans[k] = speakers.Span{Start: w.First + slices.Index(mask, true), End: w.First + end}
		}
	}
}

// embed finds the embeddings of windows whose sound has been made blocks of, all of it
// where no more comes.
func (l *Listener) embed(ctx context.Context, last bool) error {
	m, e := l.m, l.m.embedding
	width := m.segmentation.window
	for e.parts != nil && (l.blocked+width <= l.heard() || last && l.blocked < l.heard()) {
		b := block{at: l.blocked}
		sound := l.sound(b.at, width)
		b.n = len(sound)
		if rows := e.features.Of(sound); len(rows) >= leastRows*e.features.Bands() {
			var err error
			if b.states, err = e.parts.before(ctx, e, rows); err != nil {
				return err
			}
			l.blocks = append(l.blocks, b)
		}
		l.blocked += b.n
	}
	if e.parts == nil {
		l.blocked = l.at // nothing is kept for blocks
	}
	for ; l.waiting < len(l.windows); l.waiting++ {
		w := &l.windows[l.waiting]
		if e.parts != nil && w.end > l.blocked {
			break
		}
		for k, mask := range w.masks {
			if mask == nil {
				continue
			}
			var err error
			if w.voices[k], err = l.voice(ctx, w, mask); err != nil {
				return err
			}
		}
		w.masks = nil
	}
	next := l.at
	if l.waiting < len(l.windows) {
		next = l.windows[l.waiting].at
	}
	l.blocks = slices.DeleteFunc(l.blocks, func(b block) bool { return b.at+b.n <= next })
	return nil
}

// voice embeds a local speaker of a window.
func (l *Listener) voice(ctx context.Context, w *window, mask []bool) ([]float32, error) {
	m, e := l.m, l.m.embedding
	if e.parts == nil {
		var x []float32
		for _, p := range m.pieces(mask, w.at) {
			x = append(x, l.sound(p[0], p[1]-p[0])...)
		}
		return e.voice(ctx, x)
	}
	var list []stretch
	for _, b := range l.blocks {
		x := stretch{states: b.states}
		frames := b.states.Shape[e.parts.axis]
		for f := range frames {
			// The middle of the frame, in frames of the window.
			at := b.at + (2*f+1)*b.n/(2*frames) - w.at
			if at >= 0 && at < m.segmentation.window && mask[at*len(mask)/m.segmentation.window] {
				x.of = append(x.of, f)
			}
		}
		if len(x.of) > 0 {
			list = append(list, x)
		}
	}
	return e.parts.after(ctx, list...)
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

// Finish ends the sound and returns its speakers.
func (l *Listener) Finish(ctx context.Context) (*speakers.Result, error) {
	m := l.m
	s := m.segmentation
	for end := l.heard(); end > 0 && (l.at == 0 || end > l.at+s.window-m.step); {
		left := 1
		if most := end - l.at - s.window; most > 0 {
			left += (most + m.step - 1) / m.step
		}
		if err := l.look(ctx, min(left, batch), left <= batch); err != nil {
			return nil, err
		}
	}
	if err := l.embed(ctx, true); err != nil {
		return nil, err
	}
	l.x = nil
	centroids, apart, err := l.centroids(ctx)
	if err != nil {
		return nil, err
	}
	single := len(l.windows) == 1
	for i := range l.windows {
		w := &l.windows[i]
		if single && len(centroids) == 0 {
			w.Of = local(w)
		} else {
			w.Of = speakers.Nearest(w.voices, centroids, apart || w.together(2) >= leastAlone)
		}
	}
	var names []string
	if len(l.o.Known) > 0 {
		if single && len(centroids) == 0 {
			centroids = l.windows[0].voices
		}
		var labels []string
		var known [][]float32
		for _, v := range l.o.Known {
			sound := slices.Clone(v.Sound)
			audio.Clean(sound)
			x, err := m.embedding.voice(ctx, sound)
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

// A voiceSpan is an embedding with the span of sound that it is of.
type voiceSpan struct {
	speakers.Span
	voice []float32
}

// centroids makes speakers of the embeddings: of those that were alone for a fifth of their
// window, with the help of those that were for a tenth, or of all where none was. There
// are none where the only window tells its speakers apart itself and as many as there may be.
func (l *Listener) centroids(ctx context.Context) (means [][]float32, apart bool, err error) {
	var clean, short, all []voiceSpan
	for i := range l.windows {
		w := &l.windows[i]
		for k, v := range w.voices {
			if v == nil {
				continue
			}
			x := voiceSpan{w.spans[k], v}
			all = append(all, x)
			switch share := float64(w.alone[k]) / float64(l.m.segmentation.count); {
			case share >= 0.2:
				clean = append(clean, x)
			case share >= 0.1:
				short = append(short, x)
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
			return nil, false, nil
		}
		clean = nil
	}
	if len(clean) < max(2, l.o.Min) {
		clean, short = all, nil
	}
	clean = evenly(clean, mostTrained)
	short = evenly(short, mostTrained-len(clean))
	var of speakers.Heard
	var x [][]float32
	for i, h := range slices.Concat(clean, short) {
		of.Spans = append(of.Spans, h.Span)
		if i < len(clean) {
			x = append(x, h.voice)
		} else {
			of.Short = append(of.Short, h.voice)
		}
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
	return c.Centroids(ctx, x, of, b)
}

// evenly returns a list, or an even choice of so many of it.
func evenly(list []voiceSpan, most int) []voiceSpan {
	if len(list) <= most {
		return list
	}
	some := make([]voiceSpan, most)
	for i := range some {
		some[i] = list[i*len(list)/most]
	}
	return some
}
