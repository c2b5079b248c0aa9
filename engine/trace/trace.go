// Package trace records how long the parts of a request took. It does not depend on the
// collector: a context carries the span that is under way, or none, and then nothing is recorded.
package trace

import (
	"context"
	"log/slog"
	"time"
)

// A Span is a part of a request. Its methods may be called from several goroutines.
type Span interface {
	// Child begins a part of the span.
	Child(name string, at time.Time, facts ...slog.Attr) Span
	// Set adds facts, under the names of OpenTelemetry's conventions.
	Set(facts ...slog.Attr)
	// Rename gives the span another name.
	Rename(name string)
	// Fail records a failure by its code.
	Fail(code string)
	// End ends the span, once.
	End(at time.Time)
	// ID is the trace's, in hexadecimal digits.
	ID() string
}

type key struct{}

// With returns a context whose work is part of a span.
func With(ctx context.Context, s Span) context.Context { return context.WithValue(ctx, key{}, s) }

// From returns the span of a context, or one that records nothing.
func From(ctx context.Context) Span {
	if s, ok := ctx.Value(key{}).(Span); ok {
		return s
	}
	return none{}
}

// On reports whether spans of work under ctx are collected.
func On(ctx context.Context) bool {
	_, off := From(ctx).(none)
	return !off
}

// none is the span of work that is not traced.
type none struct{}

func (none) Child(string, time.Time, ...slog.Attr) Span { return none{} }
func (none) Set(...slog.Attr)                           {}
func (none) Rename(string)                              {}
func (none) Fail(string)                                {}
func (none) End(time.Time)                              {}
func (none) ID() string                                 { return "" }
