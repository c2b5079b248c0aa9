// Package diarize finds out who speaks in a sound with two networks: one that says who of
// a few local speakers speaks in a window (segment.go), and one that turns a voice into an
// embedding (embed.go), by which package speakers joins the local speakers of all windows.
//
// A Listener is given the sound piece by piece and keeps, beside the windows at hand, a
// byte for every frame and an embedding for every local speaker. Where a network of
// voices has a pooling over time that can be told apart from the rest (split.go), what lies
// before it runs once over the sound, whatever its speakers and however windows overlap.
package diarize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"quern/engine/asr/speakers"
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

// Files are the files of the networks.
type Files struct {
	Segmentation string // pyannote's, as sherpa-onnx or onnx-community export it
	Embedding    string // of WeSpeaker, 3D-Speaker or NeMo
	PLDA         string // a folder with pyannote's xvec_transform.npz and plda.npz; "" clusters without
}

// A Model finds out who speaks. It is safe for concurrent use.
type Model struct {
	segmentation *segmentation
	embedding    *embedding
	clustering   speakers.Clustering
	step         int     // samples from one window to the next
	gap, least   float64 // of Timeline
	files        []*fonnx.Model
	memory       int64
}

// stepSamples is from one window to the next: a third of a window, so that three
// say of each frame who speaks and most of them are one more than the rest. Published
// pipelines take 1 s, which segments the sound ten times.
const (
	stepSamples = 10 * rate / 3
	stepSeconds = float64(stepSamples) / rate
)

// Open loads the networks. It stops when ctx ends.
func Open(ctx context.Context, f Files, compile Compiler) (_ *Model, err error) {
	m := &Model{step: stepSamples}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	for _, x := range []struct {
		what, path string
		ready      func(*fonnx.Model) error
	}{
		{"segmentation", f.Segmentation, func(g *fonnx.Model) (err error) {
			m.segmentation, err = newSegmentation(ctx, g, compile)
			return err
		}},
		{"embedding", f.Embedding, func(g *fonnx.Model) (err error) {
			m.embedding, err = newEmbedding(ctx, g, compile)
			return err
		}},
	} {
		if x.path == "" {
			return nil, fmt.Errorf("%w: diarize needs a file for %s", ErrUnsupported, x.what)
		}
		g, err := fonnx.Open(x.path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.what, err)
		}
		m.files = append(m.files, g)
		for _, t := range g.Graph.Initializers {
			m.memory += int64(len(t.Data))
		}
		if err := x.ready(g); err != nil {
			return nil, fmt.Errorf("%s: %w", x.what, err)
		}
	}
	var plda *speakers.PLDA
	if f.PLDA != "" {
		if plda, err = readPLDA(os.DirFS(f.PLDA)); err == nil {
			err = plda.Ready(m.embedding.width)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: the folder has no %s and %s", ErrUnsupported, transformFile, pldaFile)
		}
		if err != nil {
			return nil, fmt.Errorf("plda: %w", err)
		}
	}
	m.clustering = speakers.NewClustering(plda, stepSeconds)
	return m, nil
}

// Check reads the files without computing anything, and refuses networks that do not fit.
func Check(f Files) error {
	for _, x := range []struct {
		what, path string
		check      func(*fonnx.Model) error
	}{
		{"segmentation", f.Segmentation, func(g *fonnx.Model) error { _, err := readSegmentation(g); return err }},
		{"embedding", f.Embedding, func(g *fonnx.Model) error { _, err := readEmbedding(g); return err }},
	} {
		if x.path == "" {
			continue
		}
		g, err := fonnx.Open(x.path)
		if err == nil {
			err = x.check(g)
			g.Close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", x.what, err)
		}
	}
	if f.PLDA != "" {
		if _, err := readPLDA(os.DirFS(f.PLDA)); err != nil {
			return fmt.Errorf("plda: %w", err)
		}
	}
	return nil
}

// Close closes the files.
func (m *Model) Close() error {
	var errs []error
	for _, f := range m.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Bytes is the memory the networks take, about.
func (m *Model) Bytes() int64 { return 2 * m.memory }

// Joined says why the network of voices runs once for every speaker of a window, over what
// that one says joined together; "" where it runs once over the sound.
func (m *Model) Joined() string { return m.embedding.whyJoined }

// takes reports whether a value is a tensor of floats of that shape, in which −1 is any
// size. A file may leave sizes open, or the whole shape.
func takes(v fonnx.Value, dims ...int64) bool {
	t := &v.Type
	if t.Kind != fonnx.KindTensor || t.Elem != fonnx.Float && t.Elem != fonnx.Float16 {
		return false
	}
	if t.Dims == nil {
		return true
	}
	if len(t.Dims) != len(dims) {
		return false
	}
	for i, d := range dims {
		if got := t.Dims[i].Size; d >= 0 && got >= 0 && got != d {
			return false
		}
	}
	return true
}

// spell describes the inputs and outputs of a graph for errors.
func spell(g *fonnx.Graph) string {
	names := func(list []fonnx.Value) (s string) {
		for i, v := range list {
			if i > 0 {
				s += ", "
			}
			s += fmt.Sprintf("%.40q of %d dimensions", v.Name, len(v.Type.Dims))
		}
		return s
	}
	return "its inputs are " + names(g.Asked()) + ", its outputs " + names(g.Outputs)
}
