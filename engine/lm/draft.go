package lm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"quern/engine"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/token"
)

// A DraftPlan is the memory of the model or layer that drafts for a model. Its cache has as
// many blocks as the model's.
type DraftPlan struct {
	Weights int64
	Compute int64
	KV      graph.CacheSpec
	Program *graph.Program
}

// Bytes is everything but the cache.
func (p *DraftPlan) Bytes() int64 { return p.Weights + p.Compute }

// openDraft opens the model that drafts for m, or m's own layer that does.
func (m *File) openDraft(ctx context.Context, o engine.ModelOptions, threads int) (err error) {
	if err = engine.CheckDraft(o.Speculation, o.Draft); err != nil {
		return engine.Errorf(engine.CodeEngineFailure, "", "model %q: %v", m.ID, err)
	}
	if o.Speculation == engine.SpeculationMTP {
		if m.MTP, err = model.OpenMTP(m.LM); err != nil {
			err = engine.Errorf(engine.CodeEngineFailure, "", "model %q cannot have speculation: mtp: %v; take speculation: lookup", m.ID, err).Because(err)
		}
		return err
	}
	if o.Speculation != engine.SpeculationDraft && (o.Speculation != "" || o.Draft == "") {
		return nil
	}
	if o.Draft == "" {
		return engine.Errorf(engine.CodeEngineFailure, "", "model %q: speculation: draft needs draft, the name or file of a smaller model with the same vocabulary", m.ID)
	}
	d := &File{ID: o.Draft}
	if d.Raw, err = Open(o.Draft); errors.Is(err, fs.ErrNotExist) {
		return engine.Errorf(engine.CodeEngineFailure, "", "model %q: draft %q is neither a model nor a file", m.ID, o.Draft) // it is not the model's file that is missing
	}
	if err != nil {
		return m.undraftable(o.Draft, err)
	}
	m.Draft = d // closed with m
	if err = d.Open(ctx, engine.ModelOptions{ContextLength: m.Context, Quantize: o.Quantize}, threads); err != nil {
		return m.undraftable(o.Draft, err)
	}
	switch c := d.Config; {
	case Embeds(c) || c.Pairs:
		err = errors.New("it makes no text")
	case c.State > 0:
		err = errors.New("its sequences carry states, which cannot go back over what was drafted in vain; take one with attention only")
	default:
		err = d.OpenVocab(c)
	}
	if err == nil {
		err = m.sameVocab(d)
	}
	if err != nil {
		return m.undraftable(o.Draft, err)
	}
	return nil
}

func (m *File) undraftable(draft string, err error) error {
	return engine.Errorf(engine.CodeEngineFailure, "", "model %q cannot have drafts of %q: %v", m.ID, draft, err).Because(err)
}

// padding bounds the tokens at the end that one vocabulary has and the other has not.
const padding = 1024

// sameVocab compares the vocabularies of m and its draft model, token for token.
func (m *File) sameVocab(d *File) error {
	own := m.Vocab
	if own == nil {
		spec, err := token.From(&m.Raw.Meta)
		if err != nil {
			return err
		}
		if err = spec.Cut(m.Config.Vocab); err != nil {
			return err
		}
		if own, err = token.New(spec); err != nil {
			return err
		}
	}
	a, b := own.Size(), d.Vocab.Size()
	if a > b+padding || b > a+padding {
		return fmt.Errorf("it has a vocabulary of %d tokens, and the model one of %d", b, a)
	}
	for id := range token.ID(min(a, b)) {
		if own.Text(id) != d.Vocab.Text(id) || own.Kind(id) != d.Vocab.Kind(id) {
			return fmt.Errorf("its vocabulary is another: token %d is %q, and %q of the model", id, d.Vocab.Text(id), own.Text(id))
		}
	}
	return nil
}

// RowsAside are how many rows of a text a drafting layer puts aside.
const RowsAside = 8

// planMTP sizes m's own layer that drafts, as planDraft does.
func (m *File) planMTP(o engine.ModelOptions, running int) (*DraftPlan, error) {
	places := min(o.Batch, max(1, running))
	b := graph.NewBuilder(o.Batch, places)
	made, logits := m.MTP.Next(b)
	p, err := planProgram(m.ID, b, o, logits, made)
	if err != nil {
		return nil, err
	}
	p.Weights = m.Set.Bytes() - model.WithoutMTP(m.Set).Bytes()
	p.Compute += 4 * int64(m.Config.Hidden) * int64(o.Batch+RowsAside*places)
	return p, nil
}

// planDraft sizes m as the draft model for sequences of p, whose cache is still without blocks.
func (m *File) planDraft(o engine.ModelOptions, running int) (*DraftPlan, error) {
	b := graph.NewBuilder(o.Batch, min(o.Batch, max(1, running)))
	p, err := planProgram(m.ID, b, o, m.LM.Logits(b, m.LM.Hidden(b)))
	if err != nil {
		return nil, err
	}
	p.Weights = m.Set.Bytes()
	return p, nil
}

// planProgram plans but for the weights.
func planProgram(id string, b *graph.Builder, o engine.ModelOptions, results ...graph.Value) (p *DraftPlan, err error) {
	p = new(DraftPlan)
	if p.Program, err = b.Compile(results...); err != nil {
		return nil, err
	}
	p.Compute = buffers(p.Program)
	p.KV = p.Program.CacheSpec(0, BlockSize, 0, o.CacheType)
	for l := range p.KV.Layers {
		if _, ok := p.KV.LayerBytes(l); !ok {
			return nil, engine.Errorf(engine.CodeEngineFailure, "", "draft %q: heads of %d do not fit a KV cache of %v; use F16", id, p.KV.Layers[l].HeadDim, o.CacheType)
		}
	}
	return p, nil
}
