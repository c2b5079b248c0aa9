package local

import (
	"context"
	"fmt"
	"time"

	"quern/engine"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/sched"
	"quern/engine/token"
	"quern/formats/weights"
)

// An onnxLM stands for a graph that comes ready: there is nothing to record.
type onnxLM struct{ c model.Config }

func (m *onnxLM) Config() *model.Config { return &m.c }

func (m *onnxLM) Hidden(b *graph.Builder) graph.Value {
	b.Fail(fmt.Errorf("%w: an ONNX graph is run as it is", model.ErrUnsupported))
	return graph.Value{}
}

func (m *onnxLM) Logits(b *graph.Builder, _ graph.Value) graph.Value { return m.Hidden(b) }

// openONNX makes an ONNX model resident.
func (e *Engine) openONNX(ctx context.Context, n *entry) (_ loaded, err error) {
	start := time.Now()
	backend := e.host()
	h, err := readONNX(n.path)
	if err != nil {
		return nil, err
	}
	lm := &onnxLM{h.modelConfig()}
	m := &textModel{id: n.id, embed: n.head.embed, texts: e.texts, file: &weights.Set{Meta: h.meta}, lm: lm}
	m.set = m.file
	m.file.OnClose(func() error { h.close(); return nil })
	defer func() {
		if err != nil {
			m.free()
		}
	}()
	m.context = contextLength(&n.o, &lm.c)
	m.estimate = Estimate{Weights: h.memory(), Context: m.context}
	if err = e.makeRoom(ctx, n, m.estimate.Total()); err != nil {
		return nil, err
	}
	e.log.InfoContext(ctx, "loading model", "model", n.id, "weight_bytes", m.estimate.Weights, "context", m.context)
	if err = m.openTokens(); err != nil {
		return nil, err
	}
	if err = m.openTemplate(ctx, e, n); err != nil {
		return nil, err
	}
	main, err := e.newONNXGraph(h.graph, backend)
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
	spec, err := token.From(&m.file.Meta)
	if err != nil {
		return err
	}
	if m.vocab, err = token.New(spec); err != nil {
		return err
	}
	c := m.lm.Config()
	c.Vocab = max(c.Vocab, m.vocab.Size())
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
	probe, err := x.run(ctx, [][]token.ID{m.vocab.EncodeSequence(nil, "a", false)})
	if err != nil {
		return err
	}
	m.lm.Config().Hidden = len(probe[0])
	m.encoder = x
	return nil
}

func (m *textModel) openONNXDecoder(ctx context.Context, e *Engine, n *entry, h *onnxHead, g *onnxGraph) error {
	next := g
	if h.second != nil {
		var err error
		if next, err = e.newONNXGraph(h.second, g.backend); err != nil {
			return err
		}
	}
	d, err := newONNXDecoder(g, next, blockSize)
	if err != nil {
		return err
	}
	if len(d.past) == 0 {
		e.log.WarnContext(ctx, "the ONNX graph takes no keys and values of the past: every token costs as much as the whole text", "model", n.id)
	}
	if d.crosses() {
		return fmt.Errorf("%w: a decoder that continues what an encoder read, which no endpoint for text does", model.ErrUnsupported)
	}
	c := m.lm.Config()
	if c.Vocab, err = d.probe(ctx); err != nil {
		return err
	}
	if m.vocab.Size() > c.Vocab {
		return fmt.Errorf("%w: a vocabulary of %d tokens with logits of %d", model.ErrFormat, m.vocab.Size(), c.Vocab)
	}
	if m.context > c.Context {
		e.log.WarnContext(ctx, "context_length is beyond what the model was made for", "model", n.id, "context_length", m.context, "model's", c.Context)
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
		Exec: m.exec, Cache: m.cache, Blocks: blocks, BlockSize: blockSize,
		Budget: o.Batch, MaxWant: wanted(&o), Slots: o.Slots, Queue: o.Queue, Context: m.context,
		Log: e.log.With("model", m.id),
	})
}
