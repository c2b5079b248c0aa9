package diarize

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"quern/engine/asr/audio"
	"quern/engine/asr/speakers"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
)

const rate = audio.Rate

// A segmentation says of each frame of a window which of its local speakers speak.
//
// Bredin, "pyannote.audio 2.1 speaker diarization pipeline", 2023; Plaquet & Bredin,
// "Powerset multi-class cross entropy loss for neural speaker diarization", 2023.
type segmentation struct {
	graph   Graph
	in, out string
	elem    fonnx.DType
	window  int     // samples
	classes []uint8 // sets of local speakers
	locals  int
	frames  speakers.Frames
	count   int // frames of a window
}

// number reads a whole number of a file's metadata, or returns the default.
func number(m *fonnx.Model, key string, standard, least, most int) (int, error) {
	text, ok := m.Meta[key]
	if !ok || text == "" {
		return standard, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%w: its %s is %.40q, must be a number from %d to %d", ErrUnsupported, key, text, least, most)
	}
	return n, nil
}

// readSegmentation reads the parameters in a file's metadata, as sherpa-onnx writes it. Missing
// ones are pyannote's own.
func readSegmentation(m *fonnx.Model) (*segmentation, error) {
	in, out := m.Graph.Asked(), m.Graph.Outputs
	if len(in) != 1 || len(out) != 1 || !takes(in[0], -1, 1, -1) || !takes(out[0], -1, -1, -1) {
		return nil, fmt.Errorf("%w: it is no segmentation of pyannote's, which takes sound (windows, 1, samples) and gives classes (windows, frames, classes): %s", ErrUnsupported, spell(m.Graph))
	}
	s := &segmentation{in: in[0].Name, out: out[0].Name, elem: in[0].Type.Elem, frames: speakers.Frames{Rate: rate}}
	most, classes := 0, 0
	for _, x := range []struct {
		to                     *int
		key                    string
		standard, least, limit int
	}{
		{&s.frames.Rate, "sample_rate", rate, rate, rate},
		{&s.window, "window_size", 10 * rate, rate, 60 * rate},
		{&s.locals, "num_speakers", 3, 1, speakers.MaxLocal},
		{&most, "powerset_max_classes", 2, 1, speakers.MaxLocal},
		{&classes, "num_classes", 7, 2, 1 << speakers.MaxLocal},
		{&s.frames.Step, "receptive_field_shift", 270, 16, rate},
		{&s.frames.Field, "receptive_field_size", 991, 1, rate},
	} {
		var err error
		if *x.to, err = number(m, x.key, x.standard, x.least, x.limit); err != nil {
			return nil, err
		}
	}
	s.classes = powerset(s.locals, most)
	if len(s.classes) != classes {
		return nil, fmt.Errorf("%w: it has %d classes, and %d speakers with at most %d at a time make %d", ErrUnsupported, classes, s.locals, most, len(s.classes))
	}
	if d := out[0].Type.Dims; d != nil && d[2].Size >= 0 && int(d[2].Size) != classes {
		return nil, fmt.Errorf("%w: it gives %d classes, and its metadata say %d", ErrUnsupported, d[2].Size, classes)
	}
	return s, nil
}

// powerset lists the sets of up to most of n speakers, as classes are numbered: by size,
// then by their speakers.
func powerset(n, most int) (list []uint8) {
	for size := range most + 1 {
		var sets []uint8
		for set := range 1 << n {
			if bits.OnesCount(uint(set)) == size {
				sets = append(sets, uint8(set))
			}
		}
		// {0,1}, {0,2}, {1,2}: as words of an alphabet, which numbers reversed are.
		for i := range sets {
			for j := i + 1; j < len(sets); j++ {
				if bits.Reverse8(sets[j]) > bits.Reverse8(sets[i]) {
					sets[i], sets[j] = sets[j], sets[i]
				}
			}
		}
		list = append(list, sets...)
	}
	return list
}

// newSegmentation compiles a file and runs it over silence, to count the frames of a window.
func newSegmentation(ctx context.Context, m *fonnx.Model, compile Compiler) (*segmentation, error) {
	s, err := readSegmentation(m)
	if err != nil {
		return nil, err
	}
	if s.graph, err = compile(ctx, m); err != nil {
		return nil, err
	}
	windows, err := s.run(ctx, make([]float32, s.window), 1)
	if err != nil {
		return nil, err
	}
	s.count = len(windows[0])
	// Every frame sees sound within the window.
	if most := s.window/s.frames.Step + 1; s.count < 1 || s.count > most {
		return nil, fmt.Errorf("%w: a window of %d samples has %d frames, want 1 to %d", ErrFormat, s.window, s.count, most)
	}
	return s, nil
}

// run says for n windows, one behind the other, which local speakers speak in each frame.
func (s *segmentation) run(ctx context.Context, x []float32, n int) ([][]uint8, error) {
	in, err := onnx.NewFloats([]int{n, 1, len(x) / n}, x).Convert(s.elem)
	if err != nil {
		return nil, err
	}
	got, err := s.graph.Run(ctx, map[string]*onnx.Tensor{s.in: in})
	if err != nil {
		return nil, err
	}
	t := got[s.out]
	if t == nil || t.F == nil || len(t.Shape) != 3 || t.Shape[0] != n || t.Shape[2] != len(s.classes) || t.Shape[1] < 1 {
		return nil, fmt.Errorf("%w: the graph's output is not of %d windows and %d classes", ErrFormat, n, len(s.classes))
	}
	out := make([][]uint8, n)
	for w := range out {
		out[w] = make([]uint8, t.Shape[1])
		for f := range out[w] {
			row := t.F[(w*t.Shape[1]+f)*len(s.classes):][:len(s.classes)]
			best := 0
			for c, v := range row {
				if math.IsNaN(float64(v)) {
					return nil, fmt.Errorf("%w: the graph gives a number that is none", ErrFormat)
				}
				if v > row[best] {
					best = c
				}
			}
			out[w][f] = s.classes[best]
		}
	}
	return out, nil
}
