package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"quern/bench/internal/must"
	"quern/engine"
	"quern/engine/device"
	"quern/engine/draft"
	"quern/engine/graph"
	"quern/engine/lm"
	"quern/engine/sample"
	"quern/engine/sched"
	"quern/engine/token"
)

// A loaded is a model that schedulers run one at a time.
type loaded struct {
	o       options
	file    lm.File
	backend graph.Backend
	plain   machine    // what decodes where nothing is drafted
	watched machine    // what decodes beside a layer that drafts, which sees what it makes; plain without
	drafts  graph.Exec // nil without
	read    graph.Cache
	vocab   int
	context int
}

// A machine is a model's pass, compiled.
type machine struct {
	exec graph.Exec
	plan lm.Plan
}

func open(ctx context.Context, o options) (m *loaded, err error) {
	defer must.Catch(&err)
	m = &loaded{o: o}
	m.file.ID = o.file
	m.file.Raw = must.Get(lm.Open(o.file))
	mo := engine.ModelOptions{Slots: o.streams, ContextLength: 4096}.Defaulted()
	if o.draft != "" {
		mo.Speculation, mo.Draft = engine.SpeculationDraft, o.draft
	}
	if o.mtp {
		mo.Speculation = engine.SpeculationMTP
	}
	must.Do(m.file.Open(ctx, mo, o.threads))
	m.backend, _, err = device.Open("cpu", device.Options{Threads: o.threads})
	must.Do(err)
	must.Do(m.file.Set.FillContext(ctx, nil))
	compile := func(f lm.File) machine {
		plan := must.Get(f.Plan(mo, m.backend.Memory()))
		return machine{must.Get(m.backend.Compile(ctx, plan.Program, graph.Watch{})), plan}
	}
	m.watched = compile(m.file)
	if m.plain = m.watched; o.mtp {
		plain := m.file
		plain.MTP = nil
		m.plain = compile(plain)
	}
	if p := m.watched.plan.Drafts; p != nil {
		if m.file.Draft != nil {
			must.Do(m.file.Draft.Set.FillContext(ctx, nil))
		}
		m.drafts = must.Get(m.backend.Compile(ctx, p.Program, graph.Watch{}))
		m.read = must.Get(m.backend.NewCache(p.KV))
	}
	m.vocab, m.context = m.file.Config.Vocab, m.file.Context
	if m.vocab < leastVocab {
		return nil, fmt.Errorf("a vocabulary of %d tokens; want %d", m.vocab, leastVocab)
	}
	return m, nil
}

// leastVocab is what the adversary needs.
const leastVocab = 24

// layer is the model's own layer that drafts, with nothing read.
func (m *loaded) layer() *draft.MTP {
	p := m.watched.plan.Drafts
	return draft.NewMTP(draft.MTPOptions{Exec: m.drafts, Cache: m.read, Blocks: p.KV.Blocks, BlockSize: lm.BlockSize,
		Rows: p.Program.Rows, Places: p.Program.Want, Context: m.context, Width: m.file.Config.Hidden, Aside: lm.RowsAside})
}

// drafter is the model that drafts, with nothing read.
func (m *loaded) drafter() sched.Drafter {
	p := m.watched.plan.Drafts
	return draft.NewModel(draft.ModelOptions{Exec: m.drafts, Cache: m.read, Blocks: p.KV.Blocks, BlockSize: lm.BlockSize,
		Rows: p.Program.Rows, Places: p.Program.Want, Context: m.context, Vocab: m.file.Draft.Config.Vocab})
}

func (m *loaded) close() {
	if m.drafts != nil {
		m.drafts.Close()
		m.read.Close()
	}
	m.watched.exec.Close()
	if m.o.mtp {
		m.plain.exec.Close()
	}
	m.backend.Close()
	m.file.Close()
}

// compare runs a task with and without what made makes for each run with drafts, by turns.
func (m *loaded) compare(ctx context.Context, t task, made func(all []token.ID) sched.Drafter) (r result, err error) {
	defer must.Catch(&err)
	without := must.Get(m.start(ctx, m.plain))
	defer without.close()
	want, _ := must.Get2(without.answer(ctx, t, m.o))
	all := slices.Concat(t.prompt, want)
	d := made(all)
	decoder := m.plain
	if _, ok := d.(sched.Watcher); ok {
		decoder = m.watched
	}
	with := must.Get(m.start(ctx, decoder, d))
	defer with.close()
	must.Get2(with.answer(ctx, t, m.o)) // learns what rows cost
	before := with.s.Stats()
	for i := range m.o.by {
		turns := []*running{without, with}
		if i%2 == 1 {
			slices.Reverse(turns)
		}
		for _, x := range turns {
			got, speed := must.Get2(x.answer(ctx, t, m.o))
			if !slices.Equal(got, want) {
				return r, fmt.Errorf("%s: %w", t.name, errChanged)
			}
			if x == with {
				r.with = append(r.with, speed)
			} else {
				r.without = append(r.without, speed)
			}
		}
	}
	after := with.s.Stats()
	r.tokens = int(after.GeneratedTokens - before.GeneratedTokens)
	r.stats = sched.Stats{DraftTokens: after.DraftTokens - before.DraftTokens, AcceptedTokens: after.AcceptedTokens - before.AcceptedTokens}
	return r, nil
}

// A running is a scheduler at work.
type running struct {
	s     *sched.Scheduler
	vocab int
	cache graph.Cache
	stop  context.CancelFunc
	ended chan struct{}
}

func (m *loaded) start(ctx context.Context, of machine, drafters ...sched.Drafter) (_ *running, err error) {
	defer must.Catch(&err)
	x := &running{vocab: m.vocab, ended: make(chan struct{})}
	x.cache = must.Get(m.backend.NewCache(of.plan.KV))
	states := m.file.Config.State > 0
	so := sched.Options{
		Exec: of.exec, Cache: x.cache, Blocks: of.plan.KV.Blocks, BlockSize: lm.BlockSize, Near: of.plan.KV.Near,
		Budget: of.plan.Program.Rows, MaxWant: of.plan.Program.Want, Slots: of.plan.Running, Queue: m.o.streams,
		States: states, Context: m.context, Drafters: drafters, MaxDraft: m.o.most,
	}
	if states {
		so.Spares = of.plan.Running
	}
	x.s = must.Get(sched.New(so))
	ctx, x.stop = context.WithCancel(ctx)
	go func() {
		defer close(x.ended)
		x.s.Run(ctx) // ends with ctx, whose error that is
	}()
	return x, nil
}

func (x *running) close() {
	x.stop()
	<-x.ended
	x.cache.Close()
}

// answer returns the reply to a task, the same to all streams, and the tokens a second of all
// together, from each one's first token on.
func (x *running) answer(ctx context.Context, t task, o options) (reply []token.ID, speed float64, err error) {
	replies := make([][]token.ID, o.streams)
	speeds := make([]float64, o.streams)
	errs := make([]error, o.streams)
	var readers sync.WaitGroup
	for i := range o.streams {
		r := sched.Request{Prompt: t.prompt, Max: o.tokens}
		if len(t.reply) > 0 {
			r.Mask = func() sample.Mask {
				return &script{ids: t.reply, words: make([]uint32, (x.vocab+31)/32)}
			}
		}
		st, err := x.s.Submit(ctx, r)
		if err != nil {
			return nil, 0, err
		}
		readers.Go(func() {
			for ev, err := range st.Events() {
				if errs[i] = err; err == nil && ev.Type == sched.Token {
					replies[i] = append(replies[i], ev.Token.ID)
				}
			}
			speeds[i] = float64(len(replies[i])-1) / st.Timings().Predict.Seconds()
		})
	}
	readers.Wait()
	for i := range o.streams {
		if errs[i] != nil {
			return nil, 0, errs[i]
		}
		if !slices.Equal(replies[i], replies[0]) {
			return nil, 0, fmt.Errorf("%s: replies to equal requests differ", t.name)
		}
		speed += speeds[i]
	}
	return replies[0], speed, nil
}
