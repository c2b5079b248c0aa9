// Package lm opens the files of language models: their weights in GGUF's terms,
// quantised where asked for, their network and vocabulary, and an estimate of their
// memory before anything is loaded.
package lm

import (
	"context"

	"quern/engine"
	"quern/engine/model"
	"quern/engine/quantize"
	"quern/engine/token"
	"quern/engine/tts/kokoro"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// A File is the file of a language model, opened: weights, network, vocabulary.
type File struct {
	ID      string
	Raw     *weights.Set // as it was opened
	Set     *weights.Set // the weights that run: in GGUF's terms, quantised where asked for
	LM      model.LM     // records the network; nil of an ONNX graph, which comes recorded
	Config  *model.Config
	Vocab   *token.Vocab
	Context int // tokens one request gets

	Adapters []*model.Adapter // of the options, in their order
	Low      *weights.Set     // their weights; it may be empty

	Draft *File      // its draft model; nil without
	MTP   *model.MTP // its own layer that drafts for it; nil without
}

// Close closes the file, if it was opened.
func (m *File) Close() {
	if m.Raw != nil {
		m.Raw.Close()
	}
	if m.Low != nil {
		m.Low.Close()
	}
	if m.Draft != nil {
		m.Draft.Close()
	}
}

// CanRun returns an error with what quern lacks to run the model of a file, which stays the
// caller's; nil when nothing. It recognises Kokoro by a tensor, and reads no further.
func CanRun(file *weights.Set) error {
	if _, ok := file.Tensor(kokoro.Signature); ok {
		return nil // a speech model, whose file has no configuration
	}
	m := &File{Raw: file}
	if err := m.Open(context.Background(), engine.ModelOptions{}, 0); err != nil {
		return err
	}
	return m.OpenVocab(m.Config)
}

// Open reads the model of m.Raw: its weights in GGUF's terms, still
// without their data where that has to be made, and its architecture.
func (m *File) Open(ctx context.Context, o engine.ModelOptions, threads int) (err error) {
	if m.Set, err = model.Translate(m.Raw); err != nil {
		return err
	}
	if o.Speculation != engine.SpeculationMTP {
		m.Set = model.WithoutMTP(m.Set)
	}
	if pairsTexts(m.Raw, m.Set) {
		if m.Set, err = withSecond(m.Set); err != nil {
			return err
		}
	}
	if o.Quantize != "" && !Quantised(m.Set) {
		if m.Set, err = quantize.Set(ctx, m.Set, o.Quantize, threads); err != nil {
			return err
		}
	}
	if m.LM, err = model.Open(m.Set); err != nil {
		return err
	}
	m.Config = m.LM.Config()
	c := m.Config
	m.Context = ContextLength(&o, c)
	c.Served = m.Context
	if err := m.openAdapters(o.Adapters); err != nil || Embeds(c) || c.Pairs {
		return err
	}
	return m.openDraft(ctx, o, threads)
}

// OpenVocab makes the vocabulary, cut to the tokens that c has embeddings for.
func (m *File) OpenVocab(c *model.Config) error {
	spec, err := token.From(&m.Raw.Meta)
	if err != nil {
		return err
	}
	if err := spec.Cut(c.Vocab); err != nil {
		return err
	}
	m.Vocab, err = token.New(spec)
	return err
}

// ContextLength is the tokens that one request of a model may have.
func ContextLength(o *engine.ModelOptions, c *model.Config) int {
	if o.ContextLength > 0 {
		if c.Encoder { // there are no positions beyond
			return min(o.ContextLength, c.Context)
		}
		return o.ContextLength
	}
	return min(c.Context, engine.DefaultContext)
}

// Quantised reports whether matrices of set have blocks already, other than
// those a model was trained with.
func Quantised(set *weights.Set) bool {
	for t := range set.All() {
		if len(t.Shape) >= 2 && t.Type.Layout().Block > 1 && t.Type != quant.MXFP4 {
			return true
		}
	}
	return false
}

// Embeds reports whether a model makes embeddings and nothing else.
func Embeds(c *model.Config) bool { return c.Encoder || c.Pooling != model.PoolNone }

// Quantization names a file's mixture of number types, or the type most of its
// bytes have.
func Quantization(set *weights.Set) string {
	if n, ok := set.Meta.Int("general.file_type"); ok {
		for _, m := range quant.Mixtures() {
			if m.FileType != quant.NoFileType && int64(m.FileType) == n {
				return m.Name
			}
		}
	}
	bytes := map[string]int{}
	best := ""
	for t := range set.All() {
		name := t.Type.String()
		bytes[name] += t.Size()
		if best == "" || bytes[name] > bytes[best] {
			best = name
		}
	}
	return best
}
