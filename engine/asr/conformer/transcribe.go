package conformer

import (
	"context"
	"errors"
	"io"
	"iter"

	"quern/engine/asr"
	"quern/engine/asr/audio"
	"quern/engine/asr/vad"
)

// errStopped says that the caller wants no more segments.
var errStopped = errors.New("conformer: stopped")

// ahead is how many windows of one request are on their way.
const ahead = 3

// Transcribe yields the segments of src as they become final, in order. It reads no
// further than it must, so audio of any length takes the same memory. Breaking out of the
// loop or ending ctx stops it between two operators of the network. Errors wrap
// asr.ErrOptions or are those of src, ctx and the graphs; after one there is nothing more.
func (m *Model) Transcribe(ctx context.Context, src audio.Source, o asr.Options) iter.Seq2[asr.Segment, error] {
	return func(yield func(asr.Segment, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		r, err := m.resolved(o)
		if err != nil {
			yield(asr.Segment{}, err)
			return
		}
		*r.Info = asr.Info{Language: r.Language}
		if r.Language != "" {
			r.Info.Probability = 1
		}
		count := &audio.Counter{Source: src}
		gate := vad.NewGate(audio.NewReader(count), r.Detector, r.Speech)
		samples := func(seconds float64) int { return int(seconds * audio.Rate) }
		short := m.short()
		if r.Pauses && !m.TimesWords() {
			short = min(short, 1)
		}
		t := &transcription{m: m, r: r, cutter: vad.NewCutter(gate, samples(short), samples(m.window())), seconds: func() float64 { return float64(count.N) / audio.Rate }, yield: yield}
		err = t.run(ctx)
		cancel()
		t.wait()
		r.Info.Duration, r.Info.Speech = t.seconds(), float64(gate.Passed())/audio.Rate
		if err != nil && err != errStopped {
			yield(asr.Segment{}, err)
		}
	}
}

// A transcription is one request under way.
type transcription struct {
	m       *Model
	r       *request
	cutter  *vad.Cutter
	seconds func() float64 // read so far
	yield   func(asr.Segment, error) bool
	pending []piece
	count   int // segments so far
}

// A piece is a window with the chunk it is of.
type piece struct {
	*window
	vad.Chunk
}

func (t *transcription) run(ctx context.Context) error {
	for {
		chunk, err := t.cutter.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		t.submit(ctx, chunk)
		for len(t.pending) > 0 && (len(t.pending) >= ahead || t.pending[0].ready()) {
			if err := t.show(ctx); err != nil {
				return err
			}
		}
	}
	for len(t.pending) > 0 {
		if err := t.show(ctx); err != nil {
			return err
		}
	}
	return nil
}

// leastFrames is the shortest window worth a run: a tenth of a second.
const leastFrames = 10

// submit passes a chunk to the worker.
func (t *transcription) submit(ctx context.Context, chunk vad.Chunk) {
	m := t.m
	w := &window{ctx: ctx, frames: m.features.Frames(len(chunk.Audio)), beams: t.r.Beams, prompt: t.r.prompt, request: t.r}
	if w.frames < leastFrames {
		return
	}
	w.features = m.features.Of(chunk.Audio)
	w.limit = m.limit(w)
	m.worker.submit(w)
	chunk.Audio = nil
	t.pending = append(t.pending, piece{w, chunk})
}

// limit bounds the tokens of a window. A transducer's are bounded for each frame too.
func (m *Model) limit(w *window) int {
	const perSecond, atLeast = 30, 16 // faster than anyone speaks
	n := atLeast + int(float64(w.frames)*frameSeconds*perSecond)
	if m.Kind == AED {
		longest := m.files.config.Longest
		if longest <= 0 {
			longest = 1024
		}
		return max(1, min(n, longest-len(w.prompt)))
	}
	return max(n, m.encoded(w.frames)*mostPerFrame)
}

func (p piece) ready() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// show yields the segments of the oldest window.
func (t *transcription) show(ctx context.Context) error {
	p := t.pending[0]
	select {
	case <-p.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	t.pending = t.pending[1:]
	if p.err != nil {
		return p.err
	}
	for _, s := range t.m.segments(p.window, t.r) {
		s = s.Placed(p.At, p.Pieces)
		s.ID = t.count
		t.count++
		t.r.Info.Duration = t.seconds()
		if !t.yield(s, nil) {
			return errStopped
		}
	}
	return nil
}

// wait waits for cancelled windows that the worker still holds.
func (t *transcription) wait() {
	for _, p := range t.pending {
		<-p.done
	}
}
