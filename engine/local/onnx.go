package local

import (
	"context"
	"fmt"
	"time"

	"quern/engine"
	"quern/engine/catalog"
	"quern/engine/embed"
	"quern/engine/graph"
	"quern/engine/lm"
	"quern/engine/model"
	"quern/engine/onnx/serve"
	"quern/engine/residency"
	"quern/engine/token"
	"quern/formats/weights"
)

// graphs is where ONNX graphs run.
func (e *Engine) graphs() serve.Host { return serve.Host{Processor: e.backend, Limit: e.o.MemoryLimit} }

// describeONNX reads the description of an ONNX model from its files.
func describeONNX(id, path string, o *engine.ModelOptions) (*catalog.About, error) {
	h, err := serve.Read(path)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	c := h.Config()
	a := &catalog.About{ModelInfo: engine.ModelInfo{Kind: h.Kind, Architecture: c.Arch, Format: "onnx", Quantization: h.Quantization(), ContextLength: lm.ContextLength(o, &c), SizeBytes: h.Size()}}
	switch h.Kind {
	case engine.KindEmbedding:
		a.InputTypes = embed.TrainingOf(&h.Meta, id, path, o).Known
	case engine.KindChat, engine.KindCompletion:
		if o.ChatTemplate != "" {
			a.Kind = engine.KindChat
		}
		// The graph gives logits and nothing an embedding could be made of.
		a.Lacks = "embedding"
	}
	return a, nil
}

// openONNX loads a text model whose network is an ONNX graph.
func openONNX(ctx context.Context, p *opening) (_ residency.Model, err error) {
	n, about := p.n, p.n.About()
	if text := about.Kind == engine.KindChat || about.Kind == engine.KindCompletion; text && n.Options.Speculation == engine.SpeculationMTP {
		return nil, engine.Errorf(engine.CodeEngineFailure, "", "model %q cannot have speculation: mtp: it is an ONNX graph, and nothing is drafted for those; take speculation: off", n.ID)
	}
	h, err := serve.Read(about.Path)
	if err != nil {
		return nil, err
	}
	config := h.Config()
	m := &textModel{File: lm.File{ID: n.ID, Raw: &weights.Set{Meta: h.Meta}, Config: &config, Context: about.ContextLength}}
	m.Set = m.Raw
	m.Raw.OnClose(func() error { h.Close(); return nil })
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	m.estimate = lm.Estimate{Weights: h.Memory(), Context: m.Context}
	if err = p.load.Room(ctx, m.estimate.Total()); err != nil {
		return nil, err
	}
	p.log.InfoContext(ctx, "loading model", "model", n.ID, "weight_bytes", m.estimate.Weights, "context", m.Context)
	if err = m.openTokens(); err != nil {
		return nil, err
	}
	o := n.Options.Defaulted()
	switch h.Kind {
	case engine.KindEmbedding, engine.KindRerank, engine.KindClassification:
		err = m.encodes(ctx, p, h, &o)
	default:
		err = m.decodes(ctx, p, h, &o)
	}
	if err != nil {
		return nil, err
	}
	m.fingerprint, m.took = h.Fingerprint(), time.Since(p.start)
	return m, nil
}

// needsONNX is the memory of an ONNX model's weights. The size of a decoder's cache is
// known only when its graph is compiled; it is fitted to the memory that they leave.
func needsONNX(_ context.Context, _ *Engine, n *catalog.Entry) (int64, error) {
	h, err := serve.Read(n.About().Path)
	if err != nil {
		return 0, err
	}
	defer h.Close()
	return h.Memory(), nil
}

// openTokens reads the tokenizer of a model whose vocabulary has no table of
// embeddings to be held against; running its graph does that.
func (m *textModel) openTokens() error {
	spec, err := token.From(&m.Raw.Meta)
	if err != nil {
		return err
	}
	if m.Vocab, err = token.New(spec); err != nil {
		return err
	}
	m.Config.Vocab = max(m.Config.Vocab, m.Vocab.Size())
	return nil
}

// encodes prepares m to make vectors, or to score pairs, with its graph.
func (m *textModel) encodes(ctx context.Context, p *opening, h *serve.Head, o *engine.ModelOptions) error {
	if err := m.reads(ctx, p); err != nil {
		return err
	}
	x, err := h.Encoder(ctx, p.graphs(), m.Vocab, max(o.Batch, m.Context))
	if err != nil {
		return err
	}
	p.progress(p.n, loadFilled)
	switch h.Kind {
	case engine.KindRerank:
		m.vectors, err = embed.NewReranker(ctx, m.Reader(p.texts), x, &h.Meta, "")
		return err
	case engine.KindClassification:
		m.vectors, err = embed.NewClassifier(ctx, m.Reader(p.texts), x, m.Config.Labels, m.Config.Many)
		return err
	}
	m.vectors, err = embed.New(ctx, m.Reader(p.texts), embed.TrainingOf(&h.Meta, m.ID, p.n.About().Path, &p.n.Options), x, 0)
	return err
}

// decodes prepares m to make text with its graph.
func (m *textModel) decodes(ctx context.Context, p *opening, h *serve.Head, o *engine.ModelOptions) error {
	d, err := h.Decoder(ctx, p.graphs(), lm.BlockSize)
	if err != nil {
		return err
	}
	p.progress(p.n, loadFilled)
	if !d.Remembers() {
		p.log.WarnContext(ctx, "the ONNX graph takes no keys and values of the past: every token costs as much as the whole text", "model", m.ID)
	}
	if m.Vocab.Size() > d.Vocab {
		return fmt.Errorf("%w: a vocabulary of %d tokens with logits of %d", model.ErrFormat, m.Vocab.Size(), d.Vocab)
	}
	m.Config.Vocab = d.Vocab
	if err := m.reads(ctx, p); err != nil {
		return err
	}
	pools := []lm.Pool{{Bytes: d.BlockBytes()}}
	if err := m.estimate.FitCache(m.ID, *o, pools, p.o.MemoryLimit); err != nil {
		return err
	}
	blocks := pools[0].Blocks
	if err = p.load.Room(ctx, m.estimate.Total()); err != nil {
		return err
	}
	m.exec, m.cache = d, d.Cache(blocks)
	return m.answers(p, o, &graph.CacheSpec{Blocks: blocks}, o.Batch, lm.Wanted(o))
}
