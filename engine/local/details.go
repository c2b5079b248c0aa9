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
