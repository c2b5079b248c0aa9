// Package model holds the architectures quern runs, one file each. A model
// records its forward pass into a graph.Builder; it never computes and never
// mentions a device.
package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"quern/engine/graph"
	"quern/formats/weights"
)

// The two ways a file can be of no use.
var (
	// ErrFormat: the file contradicts itself or misses something.
	ErrFormat = weights.Malformed("model")
	// ErrUnsupported: the file is sound but asks for what quern does not have.
	ErrUnsupported = weights.Unsupported("model")
)

// An LM is a language model of one architecture with its weights.
type LM interface {
	Config() *Config
	// Hidden records the pass up to the last norm. The result has one row per
	// wanted row, shape (want, Config.Hidden).
	Hidden(b *graph.Builder) graph.Value
	// Logits records the projection of Hidden's result to the vocabulary,
	// shape (want, Config.Vocab). An encoder has none: it fails the Builder.
	Logits(b *graph.Builder, hidden graph.Value) graph.Value
}

// archs is every architecture that is none of decoders, by GGUF's general.architecture.
var archs = map[string]func(*file) (LM, error){
	"bert":            newBert,
	"deepseek2":       newDeepseek,
	"minicpm3":        newDeepseek,
	"mistral4":        newDeepseek,
	"falcon-h1":       newHybrid,
	"granitehybrid":   newHybrid,
	"granitemoe":      newHybrid,
	"jamba":           newHybrid,
	"lfm2":            newHybrid,
	"lfm2moe":         newHybrid,
	"mamba":           newHybrid,
	"mamba2":          newHybrid,
	"nemotron_h":      newHybrid,
	"nemotron_h_moe":  newHybrid,
	"qwen35":          newHybrid,
	"qwen35moe":       newHybrid,
	"qwen3next":       newHybrid,
	"gemma2":          newGemma,
	"gemma3":          newGemma,
	"gemma3n":         newGemma3n,
	"gemma4":          newGemma4,
	"rwkv7":           newRWKV7,
	"gemma-embedding": newGemma,
	"jina-bert-v2":    newBert,
	"gpt-oss":         newGPTOSS,
	"llama4":          newLlama4,
	"modern-bert":     newModernBert,
	"nomic-bert":      newBert,
	"phi3":            newPhi3,
	"phimoe":          newPhi3,
}

// opener is what opens files of an architecture, nil for one that is not known.
func opener(arch string) func(*file) (LM, error) {
	if _, ok := decoders[arch]; ok {
		return newDecoder
	}
	return archs[arch]
}

// Known lists the architectures in alphabetical order.
func Known() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(archs)), maps.Keys(decoders))
	slices.Sort(names)
	return names
}

// Open finds the architecture of a file and checks that every weight it needs
// is there with the right shape, and that the file has no key or tensor beside
// those that the architecture reads. Before the model runs, set.Fill gives Data to
// the weights that a SafeTensors file stores in another order.
func Open(set *weights.Set) (LM, error) {
	set, err := Translate(set)
	if err != nil {
		return nil, err
	}
	arch := set.Meta.String("general.architecture")
	if arch == "" {
		return nil, fmt.Errorf("%w: it names no architecture", ErrFormat)
	}
	open := opener(arch)
	if open == nil {
		return nil, fmt.Errorf("%w: architecture %q is not known; quern knows %s", ErrUnsupported, arch, strings.Join(Known(), ", "))
	}
	f := newFile(set, arch)
	lm, err := open(f)
	if err == nil {
		lm, err = withHead(f, lm)
	}
	if err == nil {
		err = f.unread()
	}
	if err != nil {
		return nil, err
	}
	return lm, nil
}

// Graphviz draws the recorded pass of a model over one row.
func Graphviz(set *weights.Set) ([]byte, error) {
	m, err := Open(set)
	if err != nil {
		return nil, err
	}
	b := graph.NewBuilder(1, 1)
	h := m.Hidden(b)
	if !m.Config().Encoder {
		m.Logits(b, h)
	}
	return b.Dot()
}

// A tensors finds the weights of a model. Its first error sticks.
type tensors struct {
	set   *file
	err   error
	parts map[*weights.Tensor]part // what was cut
}

// A part is rows of a tensor of the file, from one on.
type part struct {
	of   string
	from int
}

// need returns the tensor called name, which must have the given shape.
func (t *tensors) need(name string, shape ...int) *weights.Tensor {
	w := t.maybe(name, shape...)
	if w == nil && t.err == nil {
		t.err = fmt.Errorf("%w: tensor %s is missing", ErrFormat, name)
	}
	return w
}

// fail is for errors other than of a tensor that is missing or has another shape.
func (t *tensors) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// maybe is need for a tensor that may be absent.
func (t *tensors) maybe(name string, shape ...int) *weights.Tensor {
	w, ok := t.set.Tensor(name)
	if !ok {
		return nil
	}
	if !slices.Equal(w.Shape, shape) && t.err == nil {
		t.err = fmt.Errorf("%w: tensor %s has shape %v, want %v", ErrFormat, name, w.Shape, shape)
	}
	return w
}
