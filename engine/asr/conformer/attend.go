package conformer

import (
	"context"
	"fmt"
	"slices"

	"quern/engine/onnx"
)

// An attender writes tokens one after the other, looking at the whole window, behind a
// prompt that describes the task: Canary. What it keeps of the tokens before are the inputs
// of its layers.
type attender struct {
	*part
	m      *Model
	pairs  bool // sherpa-onnx's: a token and its place a call; else all of the prompt at once
	layers int
	width  int
	end    int64
}

func (m *Model) newAttender(ctx context.Context, compile Compiler) (*attender, error) {
	p, err := newPart(ctx, compile, m.graphs[attending])
	if err != nil {
		return nil, err
	}
	a := &attender{part: p, m: m}
	mems := p.in[1 : len(p.in)-2]
	a.layers, a.width = len(mems), -1
	if a.pairs = len(p.in) != 4; !a.pairs {
		mems = p.in[3:]
		a.layers = -1
		if d := mems[0].Type.Dims; len(d) == 4 {
			a.layers = int(d[0].Size)
		}
	}
	if d := mems[0].Type.Dims; len(d) > 2 {
		a.width = int(d[len(d)-1].Size)
	}
	if a.layers <= 0 || a.width <= 0 {
		return nil, fmt.Errorf("%w: the decoder does not say how many layers it keeps, and how wide", ErrUnsupported)
	}
	end, ok := m.vocab.ids["<|endoftext|>"]
	if !ok {
		return nil, fmt.Errorf("%w: the tokens have no <|endoftext|>", ErrFormat)
	}
	a.end = int64(end)
	// A prompt without punctuation is asked for too. One run says how many logits there are.
	if _, err := m.prompt("", "", false); err != nil {
		return nil, err
	}
	w := m.noise(m.subsampling * 4)[0]
	w.limit = 1
	if w.prompt, err = m.prompt("", "", true); err != nil {
		return nil, err
	}
	if err := m.encoder.run(ctx, []*window{w}); err != nil {
		return nil, err
	}
	return a, a.decode(ctx, []*window{w})
}

// prompt returns the tokens in front of a text: of a language, in a language, with
// punctuation and capitals or without. Languages "" stand for any one, to check that the
// tokens are there.
func (h *head) prompt(source, target string, punctuation bool) (ids []int64, err error) {
	if source == "" {
		if len(h.languages) == 0 {
			return nil, fmt.Errorf("%w: the tokens name no language", ErrFormat)
		}
		source = h.languages[0]
	}
	if target == "" {
		target = source
	}
	marks := "<|nopnc|>"
	if punctuation {
		marks = "<|pnc|>"
	}
	if len(h.graphs[attending].Graph.Asked()) == 4 { // onnx-asr's begins with a space
		for _, piece := range []string{marker, " "} {
			if id, ok := h.vocab.ids[piece]; ok {
				ids = append(ids, int64(id))
				break
			}
		}
	}
	for _, piece := range []string{"<|startofcontext|>", "<|startoftranscript|>", "<|emo:undefined|>", "<|" + source + "|>", "<|" + target + "|>",
		marks, "<|noitn|>", "<|notimestamp|>", "<|nodiarize|>"} {
		id, ok := h.vocab.ids[piece]
		if !ok {
			return nil, fmt.Errorf("%w: the tokens have no %s, which Canary's prompt holds", ErrUnsupported, piece)
		}
		ids = append(ids, int64(id))
	}
	return ids, nil
}

// check implements decoder.
func (a *attender) check(r *request) error {
	if r.Words {
		return refusef("words", "the model does not time words; leave them out, or use a Parakeet or Whisper model")
	}
	if r.Beams > 1 {
		return refusef("beam_size", "the model keeps one hypothesis; leave beam_size out")
	}
	return nil
}

// decode implements decoder.
func (a *attender) decode(ctx context.Context, windows []*window) error {
	for _, w := range windows {
		if w.states.frames == 0 {
			continue
		}
		if err := a.write(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// write transcribes a window, up to the end of the text.
func (a *attender) write(ctx context.Context, w *window) error {
	return a.each(ctx, w, w.limit, func(logits []float32) (next int64, more bool) {
		id := argmax(logits)
		if int64(id) == a.end {
			return 0, false
		}
		if id < len(a.m.vocab.pieces) {
			w.tokens = append(w.tokens, spoken{id: id, frames: -1, logprob: float64(logits[id]) - logSum(logits)})
		}
		return int64(id), true
	})
}

// force reads so many tokens behind the prompt, whatever the logits are.
func (a *attender) force(ctx context.Context, w *window, tokens int) error {
	return a.each(ctx, w, tokens, func([]float32) (int64, bool) { return w.prompt[0], true })
}

// each reads the prompt of a window and then what choose returns of the logits, until that
// wants no more or there are most tokens.
func (a *attender) each(ctx context.Context, w *window, most int, choose func(logits []float32) (next int64, more bool)) error {
	s := w.states
	seen := onnx.NewFloats([]int{1, s.frames, s.width}, s.x)
	ones := make([]int64, s.frames)
	for i := range ones {
		ones[i] = 1
	}
	mask := onnx.NewInts([]int{1, s.frames}, ones)
	mems := a.empty()
	next := w.prompt
	place := 0
	for range most {
		var logits []float32
		var err error
		for len(next) > 0 {
			now := next
			if a.pairs {
				now = next[:1]
			}
			if logits, mems, err = a.step(ctx, now, place, mems, seen, mask); err != nil {
				return err
			}
			place += len(now)
			next = next[len(now):]
		}
		id, more := choose(logits)
		if !more {
			return nil
		}
		next = []int64{id}
	}
	return nil
}

// empty is the state before the first token.
func (a *attender) empty() []*onnx.Tensor {
	if !a.pairs {
		return []*onnx.Tensor{onnx.NewFloats([]int{a.layers, 1, 0, a.width}, []float32{})}
	}
	list := make([]*onnx.Tensor, a.layers)
	for i := range list {
		list[i] = onnx.NewFloats([]int{1, 0, a.width}, []float32{})
	}
	return list
}

// step reads tokens from a place on and returns the logits behind the last, and what is
// kept then.
func (a *attender) step(ctx context.Context, ids []int64, place int, mems []*onnx.Tensor, seen, mask *onnx.Tensor) ([]float32, []*onnx.Tensor, error) {
	var in []*onnx.Tensor
	if a.pairs {
		in = append(in, onnx.NewInts([]int{1, 2}, []int64{ids[0], int64(place)}))
		in = append(append(in, mems...), seen, mask)
	} else {
		in = append([]*onnx.Tensor{onnx.NewInts([]int{1, len(ids)}, ids), seen, mask}, mems...)
	}
	out, err := a.run(ctx, in...)
	if err != nil {
		return nil, nil, err
	}
	logits, err := floats(out[0], "the decoder's output", 1, -1, -1)
	if err != nil {
		return nil, nil, err
	}
	n := logits.Shape[2]
	if logits.Shape[1] == 0 || n < len(a.m.vocab.pieces) || n > len(a.m.vocab.pieces)+mostDurations {
		return nil, nil, fmt.Errorf("%w: the file of tokens has %d, and the decoder gives %d numbers: they do not belong together", ErrFormat, len(a.m.vocab.pieces), n)
	}
	kept := slices.Clone(out[1:])
	for i, t := range kept {
		if t == nil || t.F == nil || len(t.Shape) != len(mems[i].Shape) || t.Shape[len(t.Shape)-1] != a.width {
			return nil, nil, fmt.Errorf("%w: what the decoder keeps has another shape than it takes", ErrUnsupported)
		}
	}
	return logits.F[len(logits.F)-n:], kept, nil
}
