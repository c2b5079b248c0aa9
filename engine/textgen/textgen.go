// Package textgen makes text with a loaded language model: it renders and shortens
// prompts, submits them to the scheduler and turns tokens into text.
package textgen

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/constrain"
	"quern/engine/lm"
	"quern/engine/sched"
	"quern/engine/token"
)

// A Model is a language model that reads prompts and, once Start has been called,
// answers them.
type Model struct {
	lm.Reader
	log             *slog.Logger
	template        *chat.Template // nil when there is none, or none that can be used
	templateOptions chat.Options
	templateErr     error // why the file's template cannot be used
	templates       Templates
	dialect         func() *dialect // of template
	forms           *constrain.Compiler

	sched  *sched.Scheduler // nil before Start
	cancel context.CancelFunc
	done   chan struct{} // closed when sched.Run has returned
}

// New makes a Model with the chat template that is configured, or else that of the
// model's file. One without answers completions only.
func New(ctx context.Context, r lm.Reader, t Templates, log *slog.Logger) (*Model, error) {
	m := &Model{Reader: r, log: log, templates: t, forms: constrain.New(r.Vocab)}
	source := cmp.Or(t.Configured, t.Own)
	if source == "" {
		return m, nil
	}
	spelling := func(r token.Role) string { return m.Vocab.Text(m.Vocab.Special(r)) }
	m.templateOptions = chat.Options{
		Model: m.ID, Log: log,
		BOS: spelling(token.BOS), EOS: spelling(token.EOS), Unknown: spelling(token.UNK), Pad: spelling(token.PAD),
	}
	var err error
	if m.template, err = chat.New(source, m.templateOptions); err != nil && t.Configured == "" {
		// The file is fine for everything but chat.
		log.WarnContext(ctx, "the model's chat template cannot be used", "model", m.ID, "err", err)
		m.templateErr = err
		return m, nil
	}
	if err != nil {
		return nil, engine.Errorf(engine.CodeEngineFailure, "", "model %q cannot be loaded: %v", m.ID, err).Because(err)
	}
	m.dialect = sync.OnceValue(func() *dialect { return m.dialectOf(m.template, source) })
	return m, nil
}

// Start starts the goroutine that owns the model's sequences. It ends with Close, or ctx.
func (m *Model) Start(ctx context.Context, o sched.Options) (err error) {
	o.Context, o.Log = m.Context, m.log.With("model", m.ID)
	if m.sched, err = sched.New(o); err != nil {
		return err
	}
	ctx, m.cancel = context.WithCancel(ctx)
	m.done = make(chan struct{})
	go func() {
		defer close(m.done)
		if err := m.sched.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			m.log.Error("scheduler stopped", "model", m.ID, "err", err)
		}
	}()
	return nil
}

// Close stops the scheduler and waits for it.
func (m *Model) Close() {
	if m.done != nil {
		m.cancel()
		<-m.done
	}
}

// Stats is a snapshot of the scheduler's.
func (m *Model) Stats() sched.Stats {
	if m.done == nil {
		return sched.Stats{}
	}
	return m.sched.Stats()
}

// Adapters are the scheduler's numbers of each adapter, in their order.
func (m *Model) Adapters() []sched.AdapterStats {
	if m.done == nil {
		return nil
	}
	return m.sched.Adapters()
}
