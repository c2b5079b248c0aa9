package conformer

import (
	"context"
	"fmt"
	"math"
	"slices"

	"quern/engine/asr/heard"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
)

// A transducer writes tokens frame by frame.
//
// Graves, "Sequence Transduction with Recurrent Neural Networks", 2012; Xu et al.,
// "Efficient Sequence Transduction by Jointly Predicting Tokens and Durations", 2023.
type transducer struct {
	joint
	tokens    int // <blk> included, which is the last
	durations int // 0: the joint gives none, and blank moves on by a frame
	perFrame  int
}

// newTransducer prepares predictor and joint, cut where that is safe.
func (m *Model) newTransducer(ctx context.Context, compile Compiler, perFrame int) (*transducer, error) {
	j, err := m.newJoint(ctx, compile)
	if err != nil {
		return nil, err
	}
	t := &transducer{joint: j, tokens: len(m.vocab.pieces), durations: m.durations, perFrame: perFrame}
	// One step says how wide the joint is.
	w := m.noise(m.subsampling * 2)[0]
	if err := m.encoder.run(ctx, []*window{w}); err != nil {
		return nil, err
	}
	s, err := t.start(ctx, w)
	if err != nil {
		return nil, err
	}
	logits, err := t.logits(ctx, []*stream{s}, nil)
	if err != nil {
		return nil, err
	}
	if n := len(logits) - t.tokens; n < 0 || n > mostDurations {
		return nil, fmt.Errorf("%w: the file of tokens has %d, and the joint gives %d numbers: they do not belong together", ErrFormat, t.tokens, len(logits))
	} else if t.durations = n; n > 0 {
		m.Kind, m.durations = TDT, n
	}
	t.fix(len(logits))
	return t, nil
}

func (m *Model) newJoint(ctx context.Context, compile Compiler) (joint, error) {
	both := m.graphs[combined]
	file := both
	if both == nil {
		file = m.graphs[joiner]
	}
	cut := splitJoint(file)
	if cut == nil && both != nil {
		p, err := newPart(ctx, compile, both)
		if err != nil {
			return nil, err
		}
		size, err := memoryOf(p.in[3:], m.first())
		return &whole{part: p, memory: size, width: -1}, err
	}
	j := &parts{width: -1}
	var err error
	made := func(m *fonnx.Model) (p *part) {
		if err == nil {
			p, err = newPart(ctx, compile, m)
		}
		return p
	}
	if both != nil {
		j.tokens = made(cut.tokens)
	} else {
		j.tokens = made(m.graphs[predictor])
	}
	if cut != nil {
		j.frames, j.single = made(cut.frames), measures(cut.frames) != ""
		if both == nil {
			j.half = made(cut.tokens)
		}
	} else {
		j.rest = made(m.graphs[joiner])
	}
	if err != nil {
		return nil, err
	}
	if j.memory, err = memoryOf(j.tokens.in[2:], m.first()); err != nil {
		return nil, err
	}
	return j, m.learn(ctx, compile, j, cut)
}

// learn runs the sides of a joint to find the shapes and types that they give its rest, which
// is compiled for those.
func (m *Model) learn(ctx context.Context, compile Compiler, j *parts, cut *split) error {
	w := m.noise(m.subsampling * 4)[0]
	if err := m.encoder.run(ctx, []*window{w}); err != nil {
		return err
	}
	width := w.states.width
	j.shapes[0] = []int{1, width, 1}
	s := &stream{last: int32(len(m.vocab.pieces) - 1)}
	if err := j.advance(ctx, []*stream{s}); err != nil || cut == nil {
		return err
	}
	var shapes [2][]int
	for i := range shapes {
		n := 2 + i
		out, err := j.frames.run(ctx, onnx.NewFloats([]int{1, width, n}, make([]float32, width*n)))
		if err != nil {
			return err
		}
		if out[0] == nil || out[0].F == nil {
			return fmt.Errorf("%w: the joint's half for the encoder gives no numbers", ErrUnsupported)
		}
		shapes[i] = out[0].Shape
		cut.rest.Graph.Inputs[0].Type.Elem = out[0].Type
	}
	j.axis = slices.IndexFunc(shapes[0], func(d int) bool { return d == 2 })
	if j.axis < 0 || len(shapes[0]) != len(shapes[1]) || j.axis == 0 || shapes[1][j.axis] != 3 || shapes[0][0] != 1 {
		return fmt.Errorf("%w: the joint's half for the encoder gives shape %d of two frames", ErrUnsupported, shapes[0])
	}
	j.shapes[0] = slices.Clone(shapes[0])
	j.shapes[0][j.axis] = 1
	cut.rest.Graph.Inputs[1].Type.Elem = j.kind
	var err error
	j.rest, err = newPart(ctx, compile, cut.rest)
	return err
}

// start returns a stream at the first frame of a window, which has taken blank.
func (t *transducer) start(ctx context.Context, w *window) (*stream, error) {
	f, err := t.prepare(ctx, w.states)
	if err != nil {
		return nil, err
	}
	s := &stream{frames: f, last: int32(t.tokens - 1)}
	return s, t.advance(ctx, []*stream{s})
}

// steady reports whether windows get the logits together that each gets alone.
func (t *transducer) steady(ctx context.Context, windows []*window) (bool, error) {
	var list []*stream
	var alone []float32
	for i, w := range windows {
		s, err := t.start(ctx, w)
		if err != nil {
			return false, err
		}
		s.last = int32(i)
		list = append(list, s)
	}
	var copies []*stream
	for _, s := range list {
		c := *s
		copies = append(copies, &c)
	}
	var err error
	for _, s := range list {
		if _, err = t.logits(ctx, []*stream{s}, nil); err != nil {
			return false, err
		}
		if err = t.advance(ctx, []*stream{s}); err != nil {
			return false, err
		}
		if alone, err = t.logits(ctx, []*stream{s}, alone); err != nil {
			return false, err
		}
	}
	if _, err = t.logits(ctx, copies, nil); err != nil {
		return false, err
	}
	if err = t.advance(ctx, copies); err != nil {
		return false, err
	}
	both, err := t.logits(ctx, copies, nil)
	return err == nil && alike(alone, both), err
}

// check implements decoder.
func (t *transducer) check(*request) error { return nil }

// decode implements decoder.
func (t *transducer) decode(ctx context.Context, windows []*window) error {
	var greedy []*window
	for _, w := range windows {
		if w.beams <= 1 {
			greedy = append(greedy, w)
		} else if err := t.beam(ctx, w); err != nil {
			return err
		}
	}
	return t.greedy(ctx, greedy)
}

// greedy writes the likeliest token at every step of all windows together.
func (t *transducer) greedy(ctx context.Context, windows []*window) error {
	type run struct {
		*stream
		w    *window
		here int // tokens at this frame
	}
	var live []*run
	for _, w := range windows {
		if w.states.frames == 0 {
			continue
		}
		s, err := t.start(ctx, w)
		if err != nil {
			return err
		}
		live = append(live, &run{stream: s, w: w})
	}
	var logits []float32
	for len(live) > 0 {
		var err error
		list := make([]*stream, len(live))
		for i, r := range live {
			list[i] = r.stream
		}
		if logits, err = t.logits(ctx, list, logits[:0]); err != nil {
			return err
		}
		width := len(logits) / len(live)
		var wrote []*stream
		for i, r := range live {
			x := logits[i*width:][:width]
			id, d := argmax(x[:t.tokens]), 0
			if t.durations > 0 {
				d = argmax(x[t.tokens:])
			}
			if id != t.tokens-1 {
				lasts := d
				if t.durations == 0 {
					lasts = -1
				}
				r.w.tokens = append(r.w.tokens, spoken{id: id, at: r.t, frames: lasts, logprob: float64(x[id]) - logSum(x[:t.tokens])})
				r.last = int32(id)
				wrote = append(wrote, r.stream)
				r.here++
			}
			if d == 0 && (id == t.tokens-1 || r.here >= t.perFrame) {
				d = 1
			}
			if d > 0 {
				r.t += d
				r.here = 0
			}
		}
		if len(wrote) > 0 {
			if err := t.advance(ctx, wrote); err != nil {
				return err
			}
		}
		live = slices.DeleteFunc(live, func(r *run) bool { return r.t >= r.frames.n || len(r.w.tokens) >= r.w.limit || r.w.ctx.Err() != nil })
	}
	return nil
}

// argmax returns the place of the largest number, the first of equals.
func argmax(x []float32) (at int) {
	for i, v := range x {
		if v > x[at] {
			at = i
		}
	}
	return at
}

// logSum is the logarithm of the sum of exponentials.
func logSum(x []float32) float64 {
	most, sum := x[argmax(x)], 0.0
	for _, v := range x {
		sum += math.Exp(float64(v - most))
	}
	return float64(most) + math.Log(sum)
}

// mostBeams bounds hypotheses, as of other recognisers.
const mostBeams = heard.MaxCandidates
