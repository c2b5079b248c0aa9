package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"quern/engine"
	"quern/engine/trace"
	"quern/httpapi/internal/fault"
)

// operations are the kinds of work by what OpenTelemetry's conventions for generative
// models call them; others are called as they are here.
var operations = map[engine.Kind]string{
	engine.KindChat: "chat", engine.KindCompletion: "text_completion", engine.KindEmbedding: "embeddings",
}

// Tokenizing is the operation of endpoints that only make or count tokens, or the text of a prompt.
const Tokenizing = "tokenize"

// traced begins the span of a request if the server has a Tracer.
func (a *API) traced(w *response, r *http.Request, ctx context.Context, begin time.Time) context.Context {
	w.span = trace.From(ctx)
	if a.Options.Tracer == nil {
		return ctx
	}
	w.span = a.Options.Tracer.Request(r.Header, r.Method, begin, slog.String("http.request.method", r.Method))
	return trace.With(ctx, w.span)
}

// endSpan ends it.
func (w *response) endSpan(r *http.Request) {
	status := w.status
	if w.gone || status == 0 {
		status = fault.StatusGone
	}
	if w.path != pathUnmatched {
		w.span.Rename(r.Method + " " + w.path)
		w.span.Set(slog.String("http.route", w.path))
	}
	w.span.Set(slog.Int("http.response.status_code", status))
	switch {
	case w.failure != nil && w.failure.Status >= 500:
		w.span.Fail(string(w.failure.Code))
	case status == fault.StatusGone:
		w.span.Fail("client_left")
	}
	w.span.End(time.Now())
}

// beginWork begins the span of what a model does for a call, and of its load first.
func (c *Call) beginWork(model string, at time.Time, kinds []engine.Kind) {
	c.endWork()
	if !trace.On(c.R.Context()) {
		return
	}
	op := c.Route.Operation
	if op == "" && len(kinds) > 0 {
		op = cmp.Or(operations[kinds[0]], string(kinds[0]))
	}
	op = cmp.Or(op, "work")
	c.op = op
	c.span = c.W.span.Child(op, at, slog.String("gen_ai.operation.name", op), slog.String("gen_ai.provider.name", "quern"), slog.String("gen_ai.request.model", model))
	c.R = c.R.WithContext(trace.With(c.R.Context(), c.span))
}

// loaded notes that the model of a name is ready for the call.
func (c *Call) loaded(model string, since time.Time) {
	if c.span == nil {
		return
	}
	c.span.Child("load", since).End(time.Now())
	c.span.Rename(c.op + " " + model)
	c.span.Set(slog.String("gen_ai.response.model", model))
}

// endWork ends that span, with what was read and made.
func (c *Call) endWork() {
	if c.span == nil {
		return
	}
	if u := c.W.used; u.model != "" {
		c.span.Set(slog.Int("gen_ai.usage.input_tokens", u.prompt), slog.Int("gen_ai.usage.output_tokens", u.output))
	}
	if e := c.W.failure; e != nil {
		c.span.Fail(string(e.Code))
	} else if c.W.gone {
		c.span.Fail("client_left")
	}
	c.span.End(time.Now())
	c.span = nil
}
