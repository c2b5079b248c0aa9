package local

import (
	"context"
	"fmt"
	"time"

	"quern/engine"
	"quern/engine/lm"
	"quern/engine/model"
	"quern/engine/sched"
	"quern/engine/token"
	"quern/formats/weights"
)

// openONNX makes an ONNX model resident.
func (e *Engine) openONNX(ctx context.Context, n *entry) (_ loaded, err error) {
	start := time.Now()
	h, err := readONNX(n.path)
	if err != nil {
		return nil, err
	}
	config := h.modelConfig()
	m := &textModel{File: lm.File{ID: n.id, Raw: &weights.Set{Meta: h.meta}, Config: &config}, embed: n.head.embed, texts: e.texts}
	m.Set = m.Raw
	m.Raw.OnClose(func() error { h.close(); return nil })
	defer func() {
		if err != nil {
			m.free()
		}
	}()
	m.Context = lm.ContextLength(&n.o, &config)
	m.estimate = lm.Estimate{Weights: h.memory(), Context: m.Context}
	if err = e.makeRoom(ctx, n, m.estimate.Total()); err != nil {
		return nil, err
	}
	e.log.InfoContext(ctx, "loading model", "model", n.id, "weight_bytes", m.estimate.Weights, "context", m.Context)
	if err = m.openTokens(); err != nil {
		return nil, err
	}
	if err = m.openTemplate(ctx, e, n); err != nil {
		return nil, err
	}
	main, err := e.newONNXGraph(h.graph)
	if err != nil {
		return nil, ownONNX(err)
	}
	e.progress(n.id, loadFilled)
	switch h.kind {
	case engine.KindEmbedding:
		err = m.openONNXEncoder(ctx, e, n, h, main)
	case engine.KindRerank:
		err = m.openONNXRanker(ctx, e, n, h, main)
	default:
		err = m.openONNXDecoder(ctx, e, n, h, main)
	}
	if err != nil {
		return nil, ownONNX(err)
	}
	m.fingerprint = h.print()
	m.took = time.Since(start)
	e.progress(n.id, 1)
	return m, nil
}

// openTokens reads the tokenizer of a model whose vocabulary has no table of
// embeddings to be held against; the probe of its graph does that.
func (m *textModel) openTokens() error {
	spec, err := token.From(&m.Raw.Meta)
	if err != nil {
		return err
	}
	if m.Vocab, err = token.New(spec); err != nil {
		return err
	}
	c := m.Config
	c.Vocab = max(c.Vocab, m.Vocab.Size())
	return nil
}

func (m *textModel) openONNXEncoder(ctx context.Context, e *Engine, n *entry, h *onnxHead, g *onnxGraph) error {
	x, err := newONNXEncoder(g, h, m, n.o.Defaulted().Batch)
	if err != nil {
		return err
	}
	if x.pooling, err = h.pooling(x.pooled); err != nil {
		return err
	}
	probe, err := x.run(ctx, [][]token.ID{m.Vocab.EncodeSequence(nil, "a", false)})
	if err != nil {
		return err
	}
	m.Config.Hidden = len(probe[0])
	m.encoder = x
	return nil
}

func (m *textModel) openONNXDecoder(ctx context.Context, e *Engine, n *entry, h *onnxHead, g *onnxGraph) error {
	next := g
	if h.second != nil {
		var err error
		if next, err = e.newONNXGraph(h.second); err != nil {
			return err
		}
	}
	d, err := newONNXDecoder(g, next, lm.BlockSize)
	if err != nil {
		return err
	}
	if len(d.past) == 0 {
		e.log.WarnContext(ctx, "the ONNX graph takes no keys and values of the past: every token costs as much as the whole text", "model", n.id)
	}
	if d.crosses() {
		return fmt.Errorf("%w: a decoder that continues what an encoder read, which no endpoint for text does", model.ErrUnsupported)
	}
	c := m.Config
	if c.Vocab, err = d.probe(ctx); err != nil {
		return err
	}
	if m.Vocab.Size() > c.Vocab {
		return fmt.Errorf("%w: a vocabulary of %d tokens with logits of %d", model.ErrFormat, m.Vocab.Size(), c.Vocab)
	}
	if m.Context > c.Context {
		e.log.WarnContext(ctx, "context_length is beyond what the model was made for", "model", n.id, "context_length", m.Context, "model's", c.Context)
	}
	o := n.o.Defaulted()
	blocks, err := d.blocks(m, &o, e.o.MemoryLimit)
	if err != nil {
		return err
	}
	if err = e.makeRoom(ctx, n, m.estimate.Total()); err != nil {
		return err
	}
	m.exec, m.cache = d, newONNXCache(d.perBlock, blocks)
	return m.schedule(e, sched.Options{
		Exec: m.exec, Cache: m.cache, Blocks: blocks, BlockSize: lm.BlockSize,
		Budget: o.Batch, MaxWant: lm.Wanted(&o), Slots: o.Slots, Queue: o.Queue, Context: m.Context,
		Log: e.log.With("model", m.ID),
	})
}
