package diarize

import (
	"context"
	"fmt"
	"math"
	"strings"

	"quern/engine/asr/audio"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
)

// An interface is how networks of voices of one maker are called.
type iface struct {
	framework string // what sherpa-onnx writes into its metadata
	features  string // they were trained on
	in        string // the name of the first input, where there are no metadata
	lengths   bool   // features are (voices, bands, frames), and their lengths come second
	multiple  int    // of frames there have to be
}

var interfaces = []iface{
	{framework: "wespeaker", features: "kaldi-wespeaker", in: "feats", multiple: 1},
	{framework: "3d-speaker", features: "kaldi-3dspeaker", in: "x", multiple: 1},
	{framework: "nemo", features: "nemo-80", in: "audio_signal", lengths: true, multiple: 16},
}

// An embedding turns a voice into a vector.
type embedding struct {
	iface
	features  *audio.Features
	inputs    []fonnx.Value
	out       string
	width     int
	graph     Graph // of all; nil where the parts are there
	parts     *split
	whyJoined string
}

// leastRows is the shortest voice that is embedded: a tenth of a second.
const leastRows = 10

// readEmbedding finds out whose network a file is. What its metadata say of features is
// what sherpa-onnx gives it; the network's own way is taken, in which samples have a scale
// that the mean over time takes away again.
func readEmbedding(m *fonnx.Model) (*embedding, error) {
	in, out := m.Graph.Asked(), m.Graph.Outputs
	e := &embedding{inputs: in}
	framework := m.Meta["framework"]
	for _, i := range interfaces {
		if framework == i.framework || framework == "" && len(in) > 0 && in[0].Name == i.in {
			e.iface = i
		}
	}
	known := func() string {
		var names []string
		for _, i := range interfaces {
			names = append(names, i.framework)
		}
		return strings.Join(names, ", ")
	}
	if e.framework == "" && framework != "" {
		return nil, fmt.Errorf("%w: its framework is %.40q, quern knows %s", ErrUnsupported, framework, known())
	}
	if e.framework == "" {
		return nil, fmt.Errorf("%w: it is no network of voices that quern knows (%s): %s", ErrUnsupported, known(), spell(m.Graph))
	}
	fits := len(out) > 0 && len(in) == 1 && takes(in[0], -1, -1, 80)
	if e.lengths {
		fits = len(out) > 0 && len(in) == 2 && takes(in[0], -1, 80, -1) && in[1].Type.Elem == fonnx.Int64
	}
	// NeMo's gives logits of its training's speakers before.
	if fits {
		e.out = out[len(out)-1].Name
		fits = takes(out[len(out)-1], -1, -1) && len(out) <= 2
	}
	if !fits {
		return nil, fmt.Errorf("%w: it is not as networks of %s are: %s", ErrUnsupported, e.framework, spell(m.Graph))
	}
	if _, err := number(m, "sample_rate", rate, rate, rate); err != nil {
		return nil, err
	}
	if _, err := number(m, "feat_dim", 80, 80, 80); err != nil {
		return nil, err
	}
	var err error
	e.features, err = audio.NewFeatures(e.iface.features)
	return e, err
}

// newEmbedding makes a file ready, in parts where that can be.
func newEmbedding(ctx context.Context, m *fonnx.Model, compile Compiler) (*embedding, error) {
	e, err := readEmbedding(m)
	if err != nil {
		return nil, err
	}
	if e.lengths {
		e.whyJoined = "it pools over time by attention"
	} else if e.parts, e.whyJoined, err = newSplit(ctx, m, e, compile); err != nil {
		return nil, err
	}
	if e.parts == nil {
		if e.graph, err = compile(ctx, m); err != nil {
			return nil, err
		}
	}
	v, err := e.voice(ctx, noise(rate, 1))
	if err != nil {
		return nil, err
	}
	e.width = len(v)
	// A network that looks at nothing but the mean of features was made for features that
	// have one.
	centred := e.features
	e.features = centred.Plain()
	u, err := e.voice(ctx, noise(rate, 1))
	if err != nil {
		return nil, err
	}
	if length(v) > blind*length(u) {
		e.features = centred
	}
	return e, nil
}

// blind is the share of an embedding that is left, by its length, where a network sees no
// more than rounding.
const blind = 1e-3

func length(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// noise is n samples of sound without meaning, the same for a seed.
func noise(n int, seed uint32) []float32 {
	x := make([]float32, n)
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = (float32(seed>>8)/(1<<24) - 0.5) / 4
	}
	return x
}

// tensors makes the inputs of rows of features.
func (e *embedding) tensors(rows []float32) (map[string]*onnx.Tensor, error) {
	bands := e.features.Bands()
	n := len(rows) / bands
	shape, data := []int{1, n, bands}, rows
	in := make(map[string]*onnx.Tensor)
	if e.lengths {
		long := (n + e.multiple - 1) / e.multiple * e.multiple
		shape, data = []int{1, bands, long}, make([]float32, bands*long)
		for f := range n {
			for b := range bands {
				data[b*long+f] = rows[f*bands+b]
			}
		}
		in[e.inputs[1].Name] = onnx.NewInts([]int{1}, []int64{int64(n)})
	}
	t, err := onnx.NewFloats(shape, data).Convert(e.inputs[0].Type.Elem)
	in[e.inputs[0].Name] = t
	return in, err
}

// rows embeds rows of features as a whole.
func (e *embedding) rows(ctx context.Context, rows []float32) ([]float32, error) {
	if e.parts != nil {
		states, err := e.parts.before(ctx, e, rows)
		if err != nil {
			return nil, err
		}
		return e.parts.after(ctx, e.parts.whole(states))
	}
	in, err := e.tensors(rows)
	if err != nil {
		return nil, err
	}
	got, err := e.graph.Run(ctx, in)
	if err != nil {
		return nil, err
	}
	return vector(got[e.out])
}

// voice embeds a sound with one speaker, of a tenth of a second at least.
func (e *embedding) voice(ctx context.Context, x []float32) ([]float32, error) {
	rows := e.features.Of(x)
	if len(rows) < leastRows*e.features.Bands() {
		return nil, nil
	}
	return e.rows(ctx, rows)
}

// vector checks an embedding.
func vector(t *onnx.Tensor) ([]float32, error) {
	if t == nil || t.F == nil || t.Len() == 0 || t.Shape[0] != 1 && len(t.Shape) > 1 || t.Len() > 1<<14 {
		return nil, fmt.Errorf("%w: the graph's output is no embedding of one voice", ErrFormat)
	}
	for _, v := range t.F {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("%w: the graph gives a number that is none", ErrFormat)
		}
	}
	return t.F, nil
}
