package local

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"quern/engine"
	"quern/engine/draft"
	"quern/engine/graph"
	"quern/engine/lm"
	"quern/engine/sched"
)

// drafters are those of m's sequences, by its options. Where the bits of a row
// may depend on its batch there are none, since replies would change with them: that is
// promised of models that are recorded, on CPUs.
func (m *textModel) drafters(p *opening, o *engine.ModelOptions) []sched.Drafter {
	if p.device != "cpu" || m.LM == nil || o.Speculation == engine.SpeculationOff {
		return nil
	}
	list := []sched.Drafter{draft.NewLookup(o.Slots, m.Context)}
	switch d := m.drafts.plan; {
	case m.drafts.exec == nil:
	case m.MTP != nil:
		list = append(list, draft.NewMTP(draft.MTPOptions{
			Exec: m.drafts.exec, Cache: m.drafts.cache, Blocks: d.KV.Blocks, BlockSize: lm.BlockSize,
			Rows: d.Program.Rows, Places: d.Program.Want, Context: m.Context, Width: m.Config.Hidden, Aside: lm.RowsAside,
		}))
	default:
		list = append(list, draft.NewModel(draft.ModelOptions{
			Exec: m.drafts.exec, Cache: m.drafts.cache, Blocks: d.KV.Blocks, BlockSize: lm.BlockSize,
			Rows: d.Program.Rows, Places: d.Program.Want, Context: m.Context, Vocab: m.Draft.Config.Vocab,
		}))
	}
	return list
}

// A smaller is the model or the layer that drafts for a model, loaded.
type smaller struct {
	plan  *lm.DraftPlan
	exec  graph.Exec
	cache graph.Cache
}

// weights and bytes are the memory of its weights, and of its keys and values.
func (s *smaller) weights() int64 {
	if s.plan == nil {
		return 0
	}
	return s.plan.Weights
}

func (s *smaller) bytes() int64 {
	if s.cache == nil {
		return 0
	}
	return s.cache.Bytes()
}

func (s *smaller) close() {
	if s.exec != nil {
		s.exec.Close()
	}
	if s.cache != nil {
		s.cache.Close()
	}
}

// openDrafts loads the model or the layer that drafts for m, if there is one.
func (m *textModel) openDrafts(ctx context.Context, p *opening, plan *lm.DraftPlan) (err error) {
	if p.device != "cpu" && (plan != nil || p.n.Options.Speculation == engine.SpeculationMTP) {
		p.log.WarnContext(ctx, "nothing is drafted on this device", "model", m.ID, "device", p.device)
		return nil
	}
	if plan == nil {
		return nil
	}
	m.drafts.plan = plan
	if m.Draft != nil {
		if err = m.Draft.Set.FillContext(ctx, nil); err != nil {
			return err
		}
	}
	if m.drafts.cache, err = p.backend.NewCache(plan.KV); err != nil {
		return err
	}
	m.drafts.exec, err = p.compile(plan.Program)
	return err
}

// CheckDrafts refuses models of o that name as their draft neither a model, of e or of o, nor a file.
func (e *Engine) CheckDrafts(o engine.Options) error {
	for _, m := range append([]engine.ModelOptions{o.Defaulted}, o.Models...) {
		if m.Draft == "" || e.catalog.Find(m.Draft) != nil || slices.ContainsFunc(o.Models, func(other engine.ModelOptions) bool { return other.Name == m.Draft }) {
			continue
		}
		if _, err := os.Stat(m.Draft); err != nil {
			return fmt.Errorf("model %q: draft %q is neither a model nor a file; name one with the same vocabulary, or leave draft out", cmp.Or(m.Name, m.Path, "of model_defaults"), m.Draft)
		}
	}
	return nil
}

// withDraft puts the file of the model that is named in place of its name. Layers that draft are
// left out where nothing is drafted.
func (e *Engine) withDraft(o engine.ModelOptions) engine.ModelOptions {
	if e.device != "cpu" && o.Speculation == engine.SpeculationMTP {
		o.Speculation = engine.SpeculationOff
	}
	if n := e.catalog.Find(o.Draft); n != nil && o.Draft != "" && n.About() != nil {
		o.Draft = n.About().Path
	}
	return o
}

// spares are how many of so many snapshots of states drafts take: those of a quarter of the
// sequences.
func spares(snapshots int) int { return (snapshots + 3) / 4 }
