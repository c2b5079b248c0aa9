package local

import (
	"cmp"
	"context"
	"strings"
	"time"

	"quern/engine"
	"quern/engine/catalog"
	"quern/engine/embed"
	"quern/engine/graph"
	"quern/engine/lm"
	"quern/engine/model"
	"quern/engine/residency"
	"quern/engine/sched"
	"quern/engine/textgen"
)

// A textModel is a language model that is loaded: its file and memory, and the generators of
// text and of vectors on them.
type textModel struct {
	lm.File
	estimate    lm.Estimate
	fingerprint string
	took        time.Duration // of loading
	slots       int           // sequences decoded together; 0 in models that make no text
	adapted     []string      // ids in requests of the model with each adapter

	drafts  smaller
	drafted int // most tokens of a draft, 0 without

	text    *textgen.Model
	exec    graph.Exec // of text; nil in models that make none
	disk    *sched.Disk
	cache   graph.Cache
	vectors *embed.Model    // nil in models that make none
	encoder *embed.Recorded // of recorded models
}

// describeText reads the header of a text model's file.
func describeText(id, path string, o *engine.ModelOptions) (*catalog.About, error) {
	file, err := lm.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	m := &lm.File{ID: id, Raw: file}
	plain := *o
	plain.Speculation = engine.SpeculationOff // a draft model is checked when the model is loaded
	err = m.Open(context.Background(), plain, 0)
	if m.Low != nil {
		defer m.Low.Close()
	}
	if err != nil {
		return nil, err
	}
	c := m.Config
	a := &catalog.About{ModelInfo: engine.ModelInfo{
		Kind: engine.KindCompletion, Architecture: c.Arch, Format: strings.ToLower(file.Source.String()), Quantization: lm.Quantization(m.Set),
		ContextLength: m.Context, SizeBytes: m.Set.Bytes(), InputTypes: embed.TrainingOf(&file.Meta, id, path, o).Known,
	}}
	switch {
	case c.Pairs:
		a.Kind = engine.KindRerank
	case c.Labels != nil:
		a.Kind = engine.KindClassification
	case lm.Embeds(c):
		a.Kind = engine.KindEmbedding
	case file.Meta.String("tokenizer.chat_template") != "" || o.ChatTemplate != "":
		a.Kind = engine.KindChat
	}
	return a, nil
}

// openText loads a recorded model.
func openText(ctx context.Context, p *opening) (_ residency.Model, err error) {
	n, about := p.n, p.n.About()
	m := &textModel{File: lm.File{ID: n.ID}}
	for _, r := range n.Adapted() {
		m.adapted = append(m.adapted, r.Called())
	}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	stamp := lm.StampFiles(about.Path)
	if m.Raw, err = lm.Open(about.Path); err != nil {
		return nil, err
	}
	if err = m.Open(ctx, p.withDraft(n.Options), p.o.Threads); err != nil {
		return nil, err
	}
	if err = m.OpenVocab(m.Config); err != nil {
		return nil, err
	}
	if err = m.reads(ctx, p); err != nil {
		return nil, err
	}
	if n.Options.Quantize != "" && lm.Quantised(m.Raw) {
		p.log.WarnContext(ctx, "quantize has no effect on a model that is quantised already", "model", n.ID, "quantization", about.Quantization)
	}
	o := n.Options.Defaulted()
	plan, err := m.Plan(o, p.o.MemoryLimit)
	if err != nil {
		return nil, err
	}
	m.estimate = plan.Estimate
	p.log.InfoContext(ctx, "loading model", "model", n.ID, "weight_bytes", plan.Weights, "adapter_bytes", plan.Adapters, "made_bytes", plan.Made, "kv_bytes", plan.Cache, "kv_tokens", plan.Tokens, "compute_bytes", plan.Compute, "context", m.Context)
	if err = m.Fits(&plan.Estimate, n.Options, p.o.MemoryLimit); err != nil {
		return nil, err
	}
	if err = p.load.Room(ctx, plan.Total()); err != nil {
		return nil, err
	}
	p.progress(n, loadStart)
	p.file = m.Raw
	err = m.Set.FillContext(ctx, func(done, total int64) {
		p.progress(n, loadStart+(loadFilled-loadStart)*float64(done)/float64(max(1, total)))
	})
	if err != nil {
		return nil, err
	}
	if err = m.Low.FillContext(ctx, nil); err != nil {
		return nil, err
	}
	sum, err := m.hash(ctx, p, stamp)
	if err != nil {
		return nil, err
	}
	m.fingerprint = lm.Fingerprint(about.Quantization, model.WithoutMTP(m.Set), m.Low) // drafting changes no reply
	m.encoder = embed.NewRecorded(embed.Device{Compile: p.compile, NewCache: p.backend.NewCache}, m.LM, plan.Encode)
	if err = m.embeds(ctx, p); err != nil {
		return nil, err
	}
	if !lm.Embeds(m.Config) {
		if m.cache, err = p.backend.NewCache(plan.KV); err != nil {
			return nil, err
		}
		if m.exec, err = p.compile(plan.Program); err != nil {
			return nil, err
		}
		if err = m.openDrafts(ctx, p, plan.Drafts); err != nil {
			return nil, err
		}
		p.progress(n, loadCompiled)
		if err = m.keeps(ctx, p, &plan.KV, sum); err != nil {
			return nil, err
		}
		o.Slots = plan.Running
		if err = m.answers(p, &o, &plan.KV, plan.Program.Rows, plan.Program.Want); err != nil {
			return nil, err
		}
	}
	m.took = time.Since(p.start)
	return m, nil
}

// hash is that of m's weights, nil where no blocks are kept on disk. stamp is of m's files before
// they were opened. Backends may release the files' memory once they have copied it, so
// weights are hashed before that.
func (m *textModel) hash(ctx context.Context, p *opening, stamp string) ([]byte, error) {
	if p.disk == nil || lm.Embeds(m.Config) {
		return nil, nil
	}
	program, err := lm.Program()
	if err != nil {
		p.log.WarnContext(ctx, "prefix cache: the program cannot be read, so nothing is kept", "err", err)
		return nil, nil
	}
	if stamp != lm.StampFiles(p.n.About().Path) {
		stamp = "" // they are being changed
	}
	return m.Hash(ctx, p.disk, stamp, program)
}

// keeps prepares m to keep blocks of its cache on disk. weights is their hash; nil: on no disk.
func (m *textModel) keeps(ctx context.Context, p *opening, kv *graph.CacheSpec, weights []byte) error {
	if weights == nil {
		return nil
	}
	if x, ok := m.exec.(graph.Placer); ok {
		if err := x.Place(m.cache); err != nil {
			return err
		}
	}
	program, _ := lm.Program()
	roots, err := m.Roots(ctx, weights, program, m.cache.(graph.Portable).Numerics(), kv)
	if err != nil {
		return err
	}
	m.disk = &sched.Disk{Store: p.disk, Roots: roots, Spec: kv}
	return nil
}

// needsText is the memory of a text model, with an error if it does not fit.
func needsText(ctx context.Context, e *Engine, n *catalog.Entry) (int64, error) {
	return planText(ctx, e, n, func(m *lm.File, p *lm.Plan) (int64, error) {
		return p.Total(), m.Fits(&p.Estimate, n.Options, e.o.MemoryLimit)
	})
}

// cacheText is the KV cache that a text model will have; without blocks it has none.
func cacheText(ctx context.Context, e *Engine, n *catalog.Entry) (engine.CachePlan, error) {
	return planText(ctx, e, n, func(_ *lm.File, p *lm.Plan) (engine.CachePlan, error) {
		return engine.CachePlan{Model: n.ID, BlockSize: lm.BlockSize, Blocks: p.KV.Blocks}, nil
	})
}

// planText plans a text model from its headers, as openText does, and returns what's result.
func planText[T any](ctx context.Context, e *Engine, n *catalog.Entry, what func(*lm.File, *lm.Plan) (T, error)) (none T, err error) {
	m := lm.File{ID: n.ID}
	if m.Raw, err = lm.Open(n.About().Path); err != nil {
		return none, err
	}
	defer m.Close()
	if err = m.Open(ctx, e.withDraft(n.Options), e.o.Threads); err != nil {
		return none, err
	}
	plan, err := m.Plan(n.Options.Defaulted(), e.o.MemoryLimit)
	if err != nil {
		return none, err
	}
	return what(&m, &plan)
}

// reads prepares m to read prompts.
func (m *textModel) reads(ctx context.Context, p *opening) (err error) {
	m.text, err = textgen.New(ctx, m.Reader(p.texts), textgen.Templates{
		Configured: p.n.Options.ChatTemplate, Own: m.Raw.Meta.String("tokenizer.chat_template"),
		Format: p.n.Options.ToolFormat, NoFallback: p.o.NoToolFallback,
	}, p.log)
	if c := m.Config; err == nil && m.Context > c.Context {
		p.log.WarnContext(ctx, "context_length is beyond what the model was made for", "model", p.n.ID, "context_length", m.Context, "model's", c.Context)
	}
	return err
}

// prompt is the template of a reranker's pairs, "" for none.
func (m *textModel) prompt() string {
	prompt := m.Set.Meta.String(model.RerankTemplate)
	if prompt == "" && m.Config.Arch == "qwen3" {
		return model.QwenRerank
	}
	return prompt
}

// embeds prepares a recorded m to make vectors, classify texts, or score pairs of them.
func (m *textModel) embeds(ctx context.Context, p *opening) (err error) {
	if lm.Embeds(m.Config) { // others compile it at the first request for a vector
		if err = m.encoder.Open(); err != nil {
			return err
		}
	}
	reader := m.Reader(p.texts)
	if m.Config.Labels != nil {
		m.vectors, err = embed.NewClassifier(ctx, reader, m.encoder, m.Config.Labels, m.Config.Many)
		return err
	}
	if m.Config.Pairs {
		m.vectors, err = embed.NewReranker(ctx, reader, m.encoder, &m.Raw.Meta, m.prompt())
		return err
	}
	m.vectors, err = embed.New(ctx, reader, embed.TrainingOf(&m.Raw.Meta, m.ID, p.n.About().Path, &p.n.Options), m.encoder, cmp.Or(m.Config.Vector, m.Config.Hidden))
	return err
}

// answers starts the scheduler of m over its cache, which is as kv says.
func (m *textModel) answers(p *opening, o *engine.ModelOptions, kv *graph.CacheSpec, rows, want int) error {
	m.slots = o.Slots
	so := sched.Options{
		Exec: m.exec, Cache: m.cache, Blocks: kv.Blocks, BlockSize: lm.BlockSize, Near: kv.Near,
		Budget: rows, MaxWant: want, Slots: o.Slots, Queue: o.Queue, States: m.Config != nil && m.Config.State > 0, Snapshots: o.Slots, Adapters: len(m.Adapters),
		Drafters: m.drafters(p, o), MaxDraft: o.DraftTokens,
		Disk: m.disk,
	}
	if len(so.Drafters) > 0 {
		m.drafted = so.MaxDraft
	}
	if m.drafted > 0 && so.States {
		so.Spares = spares(so.Snapshots)
		so.Snapshots -= so.Spares
	}
	return m.text.Start(p.ctx, so)
}

// Bytes implements residency.Model.
func (m *textModel) Bytes() int64 { return m.estimate.Total() }

// cacheBytes is the memory of keys and values.
func (m *textModel) cacheBytes() int64 {
	switch {
	case m.cache != nil:
		return m.cache.Bytes() + m.drafts.bytes()
	case m.encoder != nil:
		return m.encoder.Bytes()
	}
	return 0
}

// Close stops the scheduler, waits for it and releases everything.
func (m *textModel) Close() {
	if m.text != nil {
		m.text.Close()
	}
	if m.encoder != nil {
		m.encoder.Close()
	}
	m.drafts.close()
	if m.exec != nil {
		m.exec.Close()
	}
	if m.cache != nil {
		m.cache.Close()
	}
	m.File.Close()
}

// Stats implements residency.Model.
func (m *textModel) Stats() engine.ModelStats {
	s := m.text.Stats()
	var adapters []engine.AdapterStats
	for i, a := range m.text.Adapters() {
		adapters = append(adapters, engine.AdapterStats{Model: m.adapted[i], Waiting: a.Waiting, Running: a.Running})
	}
	if m.vectors != nil {
		waiting, running := m.vectors.Load()
		s.Waiting, s.Running = s.Waiting+waiting, s.Running+running
	}
	return engine.ModelStats{
		Adapters: adapters,
		Model:    m.ID, Waiting: s.Waiting, Background: s.Background, Running: s.Running, Slots: m.slots,
		Blocks: s.Blocks, BlocksUsed: s.BlocksUsed, BlockSize: s.BlockSize,
		PromptTokens: s.PromptTokens, GeneratedTokens: s.GeneratedTokens, ForcedTokens: s.ForcedTokens, Steps: s.Steps,
		PrefixQueries: s.PrefixQueries, PrefixHits: s.PrefixHits, DiskHits: s.DiskHits, Preemptions: s.Preemptions,
		Drafts: s.Drafts, DraftTokens: s.DraftTokens, AcceptedTokens: s.AcceptedTokens, AcceptedAt: s.AcceptedAt[:m.drafted],
		LoadSeconds: m.took.Seconds(), WeightBytes: m.estimate.Weights + m.drafts.weights(), CacheBytes: m.cacheBytes(), Fingerprint: m.fingerprint,
	}
}
