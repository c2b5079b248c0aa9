// Package conformer transcribes speech with NVIDIA's FastConformers as ONNX graphs:
// Parakeet, whose decoder is a transducer (TDT, RNN-T) or CTC, and Canary, whose decoder
// attends.
//
// files.go finds the graphs of a model by their inputs and outputs, in the layouts of
// onnx-asr and sherpa-onnx; inputs and outputs go by position, for their names are
// accidents of exporters. Sound is cut at silence into windows of at most 40 s
// (transcribe.go), whose features (package audio) the encoder reads, several windows in
// one run where the export gives each what it gives it alone (batch.go). What decodes
// them is transducer.go with joint.go and beam.go, ctc.go or attend.go. words.go makes
// words and segments of tokens.
package conformer

import (
	"context"
	"fmt"

	"quern/engine/asr/audio"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
	"quern/formats/weights"
)

// Every error of the content of a model's files wraps one of these.
var (
	ErrFormat      = weights.ErrFormat
	ErrUnsupported = weights.ErrUnsupported
)

// A Graph is a graph that is ready to run.
type Graph interface {
	Run(ctx context.Context, in map[string]*onnx.Tensor) (map[string]*onnx.Tensor, error)
}

// A Compiler makes a Graph of a model, which stays open while it is used.
type Compiler func(ctx context.Context, m *fonnx.Model) (Graph, error)

// OpenOptions say how a model is made ready.
type OpenOptions struct {
	Compile Compiler
	// PerFrame is how many tokens a transducer writes at one frame at most; 0 means what
	// config.json says, else 10, as in NeMo.
	PerFrame int
}

// A Model transcribes speech. It is safe for concurrent use.
type Model struct {
	head
	encoder *encoder
	decoder decoder
	worker  *worker
	batches string // why windows are not run together; "" where they are
}

// mostPerFrame bounds the tokens of one frame: none is left out of a window whose limit they reach.
const mostPerFrame = 16

// A decoder finds the tokens of windows whose sound is encoded: it fills in their
// tokens. ctx ends with the last of their requests.
type decoder interface {
	decode(ctx context.Context, windows []*window) error
	// check refuses requests that are not supported.
	check(r *request) error
	// measure decodes windows for so many tokens, whatever is in them, and returns how many.
	measure(ctx context.Context, windows []*window, tokens int) (int, error)
}

// A window is a piece of sound on its way through a model.
type window struct {
	ctx      context.Context
	features []float32 // (frames, bands)
	frames   int
	beams    int
	prompt   []int64 // of a decoder that attends
	limit    int     // tokens it may write

	request *request // that it is of, or nil
	turn    int      // of the worker: smaller ones are first
	states  *states  // the encoder's result
	tokens  []spoken
	err     error
	done    chan struct{}
}

// spoken is a token with its time in frames of the encoder.
type spoken struct {
	id      int
	at      int
	frames  int // how long it lasts; below 0: not known
	logprob float64
}

// Open loads the model at path: a folder or one of its files. It stops when ctx ends.
func Open(ctx context.Context, path string, o OpenOptions) (*Model, error) {
	h, err := readHead(path)
	if err != nil {
		return nil, err
	}
	m := &Model{head: *h}
	if err := m.compile(ctx, o); err != nil {
		h.Close()
		return nil, err
	}
	m.worker = startWorker(m)
	return m, nil
}

func (m *Model) compile(ctx context.Context, o OpenOptions) (err error) {
	if m.encoder, err = m.newEncoder(ctx, o.Compile); err != nil {
		return err
	}
	perFrame := max(o.PerFrame, 0)
	if perFrame == 0 {
		perFrame = 10
		if said := m.files.config.PerFrame; said > 0 {
			perFrame = min(said, mostPerFrame)
		}
	}
	switch m.Kind {
	case CTC:
		m.decoder = &ctc{m}
		w := m.noise(m.subsampling * 4)[0] // to check that the tokens are the graph's
		if err = m.encoder.run(ctx, []*window{w}); err == nil {
			err = m.decoder.decode(ctx, []*window{w})
		}
	case AED:
		m.decoder, err = m.newAttender(ctx, o.Compile)
	default:
		m.decoder, err = m.newTransducer(ctx, o.Compile, perFrame)
	}
	if err != nil {
		return err
	}
	m.batches, err = m.probe(ctx)
	return err
}

// Close ends the model's goroutine, which must have nothing to do, and closes its files.
func (m *Model) Close() error {
	m.worker.stop()
	return m.head.Close()
}

// CacheBytes is the memory kept between requests beside the weights: none.
func (m *Model) CacheBytes() int64 { return 0 }

// Batches says why windows are not run together, or "" where they are.
func (m *Model) Batches() string { return m.batches }

// A part is a graph that is run by the positions of its inputs and outputs.
type part struct {
	Graph
	in  []fonnx.Value
	out []string
}

func newPart(ctx context.Context, compile Compiler, m *fonnx.Model) (*part, error) {
	p := &part{in: m.Graph.Asked()}
	for _, v := range m.Graph.Outputs {
		p.out = append(p.out, v.Name)
	}
	var err error
	p.Graph, err = compile(ctx, m)
	return p, err
}

// run gives the graph tensors, which become of the types it declares.
func (p *part) run(ctx context.Context, tensors ...*onnx.Tensor) ([]*onnx.Tensor, error) {
	in := make(map[string]*onnx.Tensor, len(tensors))
	for i, t := range tensors {
		t, err := t.Convert(p.in[i].Type.Elem)
		if err != nil {
			return nil, err
		}
		in[p.in[i].Name] = t
	}
	got, err := p.Run(ctx, in)
	if err != nil {
		return nil, err
	}
	out := make([]*onnx.Tensor, len(p.out))
	for i, name := range p.out {
		out[i] = got[name]
	}
	return out, nil
}

// floats checks that a tensor is of float32 (or fewer bits) and of a shape, in which −1
// is any size.
func floats(t *onnx.Tensor, what string, shape ...int) (*onnx.Tensor, error) {
	if t == nil || t.F == nil && t.Len() > 0 || len(t.Shape) != len(shape) {
		return nil, fmt.Errorf("%w: %s has another shape than it has in exports of NeMo's", ErrUnsupported, what)
	}
	for i, d := range shape {
		if d >= 0 && t.Shape[i] != d {
			return nil, fmt.Errorf("%w: %s has shape %d, want %d", ErrUnsupported, what, t.Shape, shape)
		}
	}
	return t, nil
}

// frameSeconds is the time from one feature to the next.
const frameSeconds = float64(audio.FrameStep) / audio.Rate
