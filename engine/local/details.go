package local

import (
	"cmp"
	"context"
	"log/slog"

	"quern/engine"
	"quern/engine/catalog"
	"quern/engine/lm"
	"quern/engine/onnx/serve"
	"quern/engine/textgen"
	"quern/engine/token"
	"quern/formats/weights"
)

// A detailer adds the details in a model's files.
type detailer func(ctx context.Context, n *catalog.Entry, d *engine.Details) error

// Describe returns the details in a model's files and options, whether or not it is loaded.
// Like Needs it reads one model at a time.
func (e *Engine) Describe(ctx context.Context, name string) (engine.Details, error) {
	n, err := e.catalog.Lookup(name)
	if err != nil {
		return engine.Details{}, err
	}
	d := engine.Details{Sampling: n.Options.Sampling}
	a := n.About()
	if a.Remote {
		return d, nil
	}
	if !a.Sound() {
		d.Slots = n.Options.Defaulted().Slots
	}
	details := kindOf(a.Path).details
	if details == nil {
		return d, nil
	}
	leave, err := e.plan(ctx)
	if err != nil {
		return d, err
	}
	defer leave()
	if err := details(ctx, n.Entry, &d); err != nil {
		return d, engine.Errorf(engine.CodeEngineFailure, "", "the files of model %q cannot be read", n.ID).Because(err)
	}
	return d, nil
}

// plan waits until no other model's files are read just to describe it. leave ends that.
func (e *Engine) plan(ctx context.Context) (leave func(), err error) {
	select {
	case e.planning <- struct{}{}:
		return func() { <-e.planning }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// textDetails adds those of a recorded model.
func textDetails(ctx context.Context, n *catalog.Entry, d *engine.Details) error {
	set, err := lm.Open(n.About().Path)
	if err != nil {
		return err
	}
	defer set.Close()
	for w := range set.All() {
		d.Parameters += int64(w.Elems())
	}
	return tokenDetails(ctx, &set.Meta, n, d)
}

// onnxDetails adds those of a model whose network is a graph.
func onnxDetails(ctx context.Context, n *catalog.Entry, d *engine.Details) error {
	h, err := serve.Read(n.About().Path)
	if err != nil {
		return err
	}
	defer h.Close()
	return tokenDetails(ctx, &h.Meta, n, d)
}

// tokenDetails adds what a tokenizer's file says, and the chat template that comes with it.
func tokenDetails(ctx context.Context, meta *weights.Meta, n *catalog.Entry, d *engine.Details) error {
	templates := textgen.Templates{Configured: n.Options.ChatTemplate, Own: meta.String("tokenizer.chat_template"), Format: n.Options.ToolFormat}
	d.Template = cmp.Or(templates.Configured, templates.Own)
	spec, err := token.From(meta)
	if err != nil {
		return err
	}
	v, err := token.New(spec)
	if err != nil {
		return err
	}
	d.BOS, d.EOS = v.Text(v.Special(token.BOS)), v.Text(v.Special(token.EOS))
	d.Infill = v.Special(token.FIMPrefix) != token.None && v.Special(token.FIMSuffix) != token.None && v.Special(token.FIMMiddle) != token.None
	m, err := textgen.New(ctx, lm.Reader{ID: n.ID, Vocab: v}, templates, slog.New(slog.DiscardHandler))
	if err == nil {
		d.Thinks = m.Thinks()
	}
	return nil // requests report a template that cannot be used
}
