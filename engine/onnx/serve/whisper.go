package serve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"quern/engine/asr"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
	"quern/formats/safetensors"
	"quern/formats/weights"
)

// findEncoder finds the graph that belongs before a decoder: of the same number
// type, or the plain one.
func (f *folder) findEncoder() (string, error) {
	dir, name := filepath.Split(f.main)
	rest := strings.TrimPrefix(strings.TrimPrefix(name, "decoder_model"), "_merged")
	for _, r := range []string{rest, ".onnx"} {
		if at := filepath.Join(dir, "encoder_model"+r); isFile(at) {
			return at, nil
		}
	}
	return "", fmt.Errorf("%w: no encoder_model%s beside %s", model.ErrUnsupported, rest, name)
}

// IsWhisper reports whether path is Whisper as ONNX graphs, or its decoder.
func IsWhisper(path string) bool {
	f, ok, err := find(path)
	return ok && err == nil && asr.IsModel(f.dir)
}

// Whisper opens Whisper as the encoder and the decoder that exporters make of it.
func Whisper(ctx context.Context, path string, on Host) (_ *asr.Model, err error) {
	f, _, err := find(path)
	if err != nil {
		return nil, err
	}
	encoder, err := f.findEncoder()
	if err != nil {
		return nil, err
	}
	set := new(weights.Set)
	defer func() {
		if err != nil {
			set.Close() // the first error is returned
		}
	}()
	if err = safetensors.Beside(&set.Meta, f.dir); err != nil {
		return nil, err
	}
	var graphs [3]*Graph
	for i, at := range []string{encoder, f.main, f.past} {
		if at == "" {
			continue
		}
		file, err := fonnx.Open(at)
		if err != nil {
			return nil, err
		}
		set.OnClose(file.Close)
		if graphs[i], err = on.Graph(ctx, file); err != nil {
			return nil, err
		}
	}
	if graphs[2] == nil {
		graphs[2] = graphs[1]
	}
	listen, err := newListener(graphs[0])
	if err != nil {
		return nil, err
	}
	var d *Decoder
	return asr.NewNetwork(set, func(spec graph.CacheSpec) (n asr.Network, err error) {
		if d, err = newDecoder(graphs[1], graphs[2], spec.BlockSize); err != nil {
			return n, err
		}
		if !d.crosses() {
			return n, fmt.Errorf("%w: a decoder that takes nothing of an encoder", model.ErrUnsupported)
		}
		return asr.Network{Encoder: listen, Decoder: d, Cache: newCache(d.perBlock, spec.Blocks)}, nil
	}, asr.OpenOptions{})
}

// A listener runs an encoder graph for package asr.
type listener struct {
	*Graph
	in  *fonnx.Value
	out string
}

func newListener(g *Graph) (*listener, error) {
	if len(g.inputs) != 1 || len(g.inputs[0].Type.Dims) != 3 || len(g.outputs) == 0 {
		return nil, fmt.Errorf("%w: an encoder that takes %s; Whisper's takes features of (windows, bands, frames)", model.ErrUnsupported, describeValues(g.inputs))
	}
	return &listener{g, &g.inputs[0], g.outputs[0].Name}, nil
}

// errFeatures would be a mistake of package asr.
var errFeatures = errors.New("serve: features of no whole window")

// Run implements graph.Exec: it keeps the states of a window under the blocks of
// the only table.
func (x *listener) Run(ctx context.Context, in *graph.Batch, kv graph.Cache) ([][]float32, error) {
	frames := 2 * in.Rows()
	if frames == 0 || len(in.Features)%frames != 0 {
		return nil, errFeatures
	}
	bands := len(in.Features) / frames
	t := &onnx.Tensor{Type: x.in.Type.Elem, Shape: []int{1, bands, frames}, F: make([]float32, len(in.Features))}
	for f := range frames {
		for b := range bands {
			t.F[b*frames+f] = in.Features[f*bands+b]
		}
	}
	out, err := x.Graph.Run(ctx, map[string]*onnx.Tensor{x.in.Name: t})
	if err != nil {
		return nil, err
	}
	states, err := rows(out, x.out, 1, in.Rows(), -1)
	if err != nil {
		return nil, err
	}
	kv.(*cache).remember(in.Tables[0], states)
	return [][]float32{states.F}, nil
}

// Close implements graph.Exec.
func (x *listener) Close() error { return nil }
