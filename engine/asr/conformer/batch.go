package conformer

import (
	"context"
	"fmt"
	"math"
	"slices"

	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
)

// An encoder makes states of features.
type encoder struct {
	*part
	h *head
}

// states are the encoder's result for a window.
type states struct {
	frames int
	x      []float32 // (frames, width), or those of all labels of CTC
	width  int
}

func (h *head) newEncoder(ctx context.Context, compile Compiler) (*encoder, error) {
	p, err := newPart(ctx, compile, h.first())
	return &encoder{p, h}, err
}

// run encodes windows in one run, shorter ones with zeros behind them.
func (e *encoder) run(ctx context.Context, windows []*window) error {
	frames, bands := 0, e.h.bands
	for _, w := range windows {
		frames = max(frames, w.frames)
	}
	if most := e.h.positions; most > 0 && e.h.encoded(frames) > most {
		return fmt.Errorf("%w: a window of %.1f s, and the positions of the encoder end at %.1f s", ErrUnsupported, float64(frames)*frameSeconds, float64(most)*e.h.seconds())
	}
	shape := []int{len(windows), bands, frames}
	if e.h.timeFirst {
		shape = []int{len(windows), frames, bands}
	}
	x, lengths := make([]float32, len(windows)*bands*frames), make([]int64, len(windows))
	for i, w := range windows {
		lengths[i] = int64(w.frames)
		to := x[i*bands*frames:][:bands*frames]
		if e.h.timeFirst {
			copy(to, w.features)
			continue
		}
		for f := range w.frames {
			for b := range bands {
				to[b*frames+f] = w.features[f*bands+b]
			}
		}
	}
	out, err := e.part.run(ctx, onnx.NewFloats(shape, x), onnx.NewInts([]int{len(windows)}, lengths))
	if err != nil {
		return err
	}
	t, err := floats(out[0], "the encoder's output", len(windows), -1, -1)
	if err != nil {
		return err
	}
	// Transducers' encoders give time last.
	time, width := 1, 2
	if e.h.Kind == TDT || e.h.Kind == RNNT {
		time, width = 2, 1
	}
	all, wide := t.Shape[time], t.Shape[width]
	if wide == 0 {
		return fmt.Errorf("%w: the encoder's output has shape %d", ErrUnsupported, t.Shape)
	}
	for i, w := range windows {
		s := &states{frames: min(all, e.h.encoded(w.frames)), width: wide}
		if len(out) > 1 && out[1] != nil && len(out[1].Shape) == 1 && len(out[1].I) == len(windows) {
			s.frames = min(all, max(0, int(out[1].I[i])))
		}
		if s.frames == 0 && w.frames >= e.h.subsampling {
			return fmt.Errorf("%w: the encoder makes nothing of %d frames", ErrUnsupported, w.frames)
		}
		from := t.F[i*all*wide:][:all*wide]
		if time == 1 {
			s.x = slices.Clone(from[:s.frames*wide])
		} else {
			s.x = make([]float32, s.frames*wide)
			for f := range s.frames {
				for k := range wide {
					s.x[f*wide+k] = from[k*all+f]
				}
			}
		}
		w.states = s
	}
	return nil
}

// Limits of one run: windows of like lengths, padding included no more than
// batchFrames of features.
const (
	batchWindows = 8
	batchFrames  = 4000
	likeLength   = 0.7
)

// together reports whether a window may join others in a run.
func (m *Model) together(batch []*window, w *window) bool {
	if m.batches != "" || len(batch) == batchWindows {
		return false
	}
	least, most := w.frames, w.frames
	for _, o := range batch {
		least, most = min(least, o.frames), max(most, o.frames)
	}
	return (len(batch)+1)*most <= batchFrames && float64(least) >= likeLength*float64(most)
}

// dynamic are the operators whose results for a window depend on all that is in the run:
// they find the range of a whole tensor.
var dynamic = []string{"DynamicQuantizeLinear", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul"}

// measures names the operator of a graph that does, or is "".
func measures(m *fonnx.Model) string {
	for _, n := range m.Graph.Nodes {
		if slices.Contains(dynamic, n.Op) {
			return n.Op
		}
	}
	return ""
}

// probe finds out whether windows may share runs: whether two of different lengths get what
// each gets alone. It says why not.
func (m *Model) probe(ctx context.Context) (why string, err error) {
	if m.Kind == AED {
		return "a decoder that attends writes for one window at a time", nil
	}
	for _, g := range m.graphs {
		if op := measures(g); op != "" {
			return "the export quantises sound as it comes (" + op + "), by what all windows of a run hold", nil
		}
	}
	alone, both := m.noise(64, 48), m.noise(64, 48)
	for _, w := range alone {
		if err := m.encoder.run(ctx, []*window{w}); err != nil {
			return "", err
		}
	}
	if err := m.encoder.run(ctx, both); err != nil {
		return "the export takes one window at a time", ctx.Err()
	}
	const differs = "the export gives a window other results when others share its run"
	for i := range alone {
		if !alike(alone[i].states.x, both[i].states.x) {
			return differs, nil
		}
	}
	if t, ok := m.decoder.(*transducer); ok {
		same, err := t.steady(ctx, alone)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil || !same {
			return differs, nil
		}
	}
	return "", nil
}

// noise makes windows of features that are the same every time.
func (m *Model) noise(frames ...int) (list []*window) {
	for _, n := range frames {
		w := &window{features: make([]float32, n*m.bands), frames: n}
		x := uint32(n)
		for i := range w.features {
			x = x*1664525 + 1013904223
			w.features[i] = float32(int32(x)) / (1 << 30)
		}
		list = append(list, w)
	}
	return list
}

// alike reports whether two results are the same but for the order of sums.
func alike(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	most := 0.0
	for _, v := range a {
		most = max(most, math.Abs(float64(v)))
	}
	for i, v := range a {
		if !(math.Abs(float64(v-b[i])) <= 1e-4*max(1, most)) {
			return false
		}
	}
	return true
}
