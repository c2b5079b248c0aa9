package conformer

import (
	"context"
	"fmt"
	"slices"

	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
)

// A stream is one hypothesis of a window's text. Its slices are not written to
// once they are made, so a copy is a hypothesis of its own.
type stream struct {
	frames *frames
	t      int   // frame it is at
	last   int32 // token that was written last
	state  [2][]float32
	pred   []float32    // the predictor's result for the tokens, for the rest of the joint
	next   [2][]float32 // state after last, of a joint that is not split
}

// frames are those of a window, as the joint takes them.
type frames struct {
	n, width int
	x        []float32 // (n, width)
}

func (f *frames) at(t int) []float32 { return f.x[t*f.width:][:f.width] }

// A joint is the predictor and the joint of a transducer.
type joint interface {
	// prepare makes the input of logits of all frames of a window.
	prepare(ctx context.Context, s *states) (*frames, error)
	// advance takes the last token of each stream into its state.
	advance(ctx context.Context, list []*stream) error
	// logits appends those at the frame of each stream to dst.
	logits(ctx context.Context, list []*stream, dst []float32) ([]float32, error)
	// fix says how many logits there are from now on.
	fix(width int)
}

// memory is the shape of the predictor's state: (layers, streams, width), twice.
type memory struct{ layers, width int }

func memoryOf(in []fonnx.Value, m *fonnx.Model) (s memory, err error) {
	for _, v := range in {
		d := v.Type.Dims
		if len(d) == 3 {
			s.layers, s.width = max(s.layers, int(d[0].Size)), max(s.width, int(d[2].Size))
		}
	}
	if s.layers <= 0 {
		s.layers = number(m, "pred_rnn_layers")
	}
	if s.width <= 0 {
		s.width = number(m, "pred_hidden")
	}
	if s.layers <= 0 || s.width <= 0 || s.layers*s.width > 1<<20 {
		return s, fmt.Errorf("%w: the graph does not say what size the predictor's state has, nor does the encoder's metadata (pred_rnn_layers, pred_hidden)", ErrUnsupported)
	}
	return s, nil
}

func (s memory) zeros() [2][]float32 {
	return [2][]float32{make([]float32, s.layers*s.width), make([]float32, s.layers*s.width)}
}

// gather puts half k of the states of streams side by side.
func (s memory) gather(list []*stream, k int) *onnx.Tensor {
	x := make([]float32, 0, s.layers*len(list)*s.width)
	for l := range s.layers {
		for _, st := range list {
			x = append(x, st.state[k][l*s.width:][:s.width]...)
		}
	}
	return onnx.NewFloats([]int{s.layers, len(list), s.width}, x)
}

// scatter returns what a graph made of half k for stream i of n.
func (s memory) scatter(t *onnx.Tensor, i, n int) []float32 {
	x := make([]float32, 0, s.layers*s.width)
	for l := range s.layers {
		x = append(x, t.F[(l*n+i)*s.width:][:s.width]...)
	}
	return x
}

// tokensOf are the inputs targets and target_length.
func tokensOf(list []*stream) (targets, lengths *onnx.Tensor) {
	ids, ones := make([]int64, len(list)), make([]int64, len(list))
	for i, s := range list {
		ids[i], ones[i] = int64(s.last), 1
	}
	return onnx.NewInts([]int{len(list), 1}, ids), onnx.NewInts([]int{len(list)}, ones)
}

// column is one frame of every stream, (streams, width, 1).
func column(list []*stream) *onnx.Tensor {
	width := list[0].frames.width
	x := make([]float32, 0, len(list)*width)
	for _, s := range list {
		x = append(x, s.frames.at(s.t)...)
	}
	return onnx.NewFloats([]int{len(list), width, 1}, x)
}

// A whole joint runs predictor and joint as one graph: a token that is not written leaves
// what its run made of the state unused.
type whole struct {
	*part
	memory
	width int
}

func (j *whole) prepare(_ context.Context, s *states) (*frames, error) {
	return &frames{s.frames, s.width, s.x}, nil
}

func (j *whole) fix(width int) { j.width = width }

func (j *whole) advance(_ context.Context, list []*stream) error {
	for _, s := range list {
		if s.next[0] == nil {
			s.state = j.zeros()
			continue
		}
		s.state = s.next
	}
	return nil
}

func (j *whole) logits(ctx context.Context, list []*stream, dst []float32) ([]float32, error) {
	targets, lengths := tokensOf(list)
	out, err := j.run(ctx, column(list), targets, lengths, j.gather(list, 0), j.gather(list, 1))
	if err != nil {
		return nil, err
	}
	for k := range 2 {
		t, err := floats(out[2+k], "the predictor's state", j.layers, len(list), j.memory.width)
		if err != nil {
			return nil, err
		}
		for i, s := range list {
			s.next[k] = j.scatter(t, i, len(list))
		}
	}
	return logitsOf(out[0], len(list), j.width, dst)
}

// logitsOf appends a joint's logits to dst; width below 0 is any.
func logitsOf(t *onnx.Tensor, n, width int, dst []float32) ([]float32, error) {
	t, err := floats(t, "the joint's output", n, 1, 1, width)
	if err != nil {
		return nil, err
	}
	return append(dst, t.F...), nil
}

// Parts are a joint whose predictor runs apart: encoder's half, predictor, what joins them.
type parts struct {
	memory
	frames *part       // the encoder's half; nil: the rest takes the encoder's frames
	tokens *part       // the predictor
	half   *part       // its half of the joint; nil: part of tokens, or of the rest
	rest   *part       // both to logits
	axis   int         // of the time in what frames makes
	single bool        // frames takes one at a time, since it looks at the range of all it is given
	shapes [2][]int    // of one stream in what rest takes
	kind   fonnx.DType // of what the predictor gives it
	width  int
}

// fix implements joint.
func (j *parts) fix(width int) { j.width = width }

// prepare implements joint: one product for all frames of a window.
func (j *parts) prepare(ctx context.Context, s *states) (*frames, error) {
	if j.frames == nil {
		return &frames{s.frames, s.width, s.x}, nil
	}
	f := &frames{n: s.frames}
	step := s.frames
	if j.single {
		step = 1
	}
	for from := 0; from < s.frames; from += step {
		x := make([]float32, step*s.width) // time goes last
		for t := range step {
			for k := range s.width {
				x[k*step+t] = s.x[(from+t)*s.width+k]
			}
		}
		out, err := j.frames.run(ctx, onnx.NewFloats([]int{1, s.width, step}, x))
		if err != nil {
			return nil, err
		}
		if err := f.add(out[0], j.axis, step); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// add appends frames of a tensor whose axis is time.
func (f *frames) add(t *onnx.Tensor, axis, n int) error {
	if t == nil || axis >= len(t.Shape) || t.Shape[axis] != n || n == 0 {
		return fmt.Errorf("%w: the joint's half for the encoder makes no row of a frame", ErrUnsupported)
	}
	outer := 1
	for _, d := range t.Shape[:axis] {
		outer *= d
	}
	inner := len(t.F) / max(1, outer) / n
	if f.width != 0 && f.width != outer*inner || len(t.F) != outer*n*inner {
		return fmt.Errorf("%w: the joint's half for the encoder makes rows of different lengths", ErrUnsupported)
	}
	f.width = outer * inner
	for i := range n {
		for o := range outer {
			f.x = append(f.x, t.F[(o*n+i)*inner:][:inner]...)
		}
	}
	return nil
}

// advance implements joint.
func (j *parts) advance(ctx context.Context, list []*stream) error {
	for _, s := range list {
		if s.state[0] == nil {
			s.state = j.zeros()
		}
	}
	targets, lengths := tokensOf(list)
	out, err := j.tokens.run(ctx, targets, lengths, j.gather(list, 0), j.gather(list, 1))
	if err != nil {
		return err
	}
	if len(out) != 4 {
		return fmt.Errorf("%w: the predictor gives %d values, want its output, lengths and two states", ErrUnsupported, len(out))
	}
	for k := range 2 {
		t, err := floats(out[2+k], "the predictor's state", j.layers, len(list), j.memory.width)
		if err != nil {
			return err
		}
		for i, s := range list {
			s.state[k] = j.scatter(t, i, len(list))
		}
	}
	pred := out[0]
	if j.half != nil {
		if out, err = j.half.run(ctx, pred); err != nil {
			return err
		}
		pred = out[0]
	}
	if pred == nil || len(pred.Shape) == 0 || pred.Shape[0] != len(list) {
		return fmt.Errorf("%w: the predictor's output has no row of a stream", ErrUnsupported)
	}
	j.shapes[1], j.kind = pred.Shape, pred.Type
	size := len(pred.F) / len(list)
	for i, s := range list {
		s.pred = slices.Clone(pred.F[i*size:][:size])
	}
	return nil
}

// logits implements joint.
func (j *parts) logits(ctx context.Context, list []*stream, dst []float32) ([]float32, error) {
	var sides [2]*onnx.Tensor
	for k := range sides {
		var x []float32
		for _, s := range list {
			if k == 0 {
				x = append(x, s.frames.at(s.t)...)
			} else {
				x = append(x, s.pred...)
			}
		}
		shape, n := slices.Clone(j.shapes[k]), 1
		shape[0] = len(list)
		for _, d := range shape {
			n *= d
		}
		if n != len(x) { // a graph whose shapes depend on what it is given
			return nil, fmt.Errorf("%w: a side of the joint has %d numbers, want shape %d", ErrUnsupported, len(x), shape)
		}
		sides[k] = onnx.NewFloats(shape, x)
	}
	out, err := j.rest.run(ctx, sides[0], sides[1])
	if err != nil {
		return nil, err
	}
	return logitsOf(out[0], len(list), j.width, dst)
}
