// Package telemetry sends spans of requests to a collector of OpenTelemetry.
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"

	"quern/engine/trace"
)

// Options are the collector's address, and the spans' attributes of this server.
type Options struct {
	Endpoint                   string // where OTLP over HTTP is taken
	Service, Version, Instance string
	Sample                     float64 // share of requests, of those without a parent that says it
	Log                        *slog.Logger
}

// A Tracer sends spans in the background, and drops them when the collector does not keep up.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   api.Tracer
}

// closing is how long Close waits for the collector.
const closing = 5 * time.Second

// Open prepares a Tracer. It does not ask whether there is a collector. Headers of its
// requests are in OTEL_EXPORTER_OTLP_HEADERS, as everywhere.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	out, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.Endpoint))
	if err != nil {
		return nil, fmt.Errorf("traces.endpoint: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Log.Warn("traces are not sent", "err", err) }))
	about := []attribute.KeyValue{attribute.String("service.name", o.Service), attribute.String("service.version", o.Version)}
	if o.Instance != "" {
		about = append(about, attribute.String("service.instance.id", o.Instance))
	}
	p := sdk.NewTracerProvider(
		sdk.WithBatcher(out), sdk.WithResource(resource.NewSchemaless(about...)),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(o.Sample))))
	return &Tracer{p, p.Tracer("quern")}, nil
}

// Close sends the spans that are left.
func (t *Tracer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// Request begins the span of a request, as part of the trace that its traceparent names.
func (t *Tracer) Request(h http.Header, name string, at time.Time, facts ...slog.Attr) trace.Span {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(h))
	return start(ctx, t.tracer, name, api.SpanKindServer, at, facts)
}

// A span is one of OpenTelemetry's.
type span struct {
	ctx    context.Context // that has it
	tracer api.Tracer
	api.Span
}

func start(ctx context.Context, t api.Tracer, name string, kind api.SpanKind, at time.Time, facts []slog.Attr) *span {
	ctx, s := t.Start(ctx, name, api.WithTimestamp(at), api.WithSpanKind(kind), api.WithAttributes(attributes(facts)...))
	return &span{ctx, t, s}
}

// Child implements trace.Span.
func (s *span) Child(name string, at time.Time, facts ...slog.Attr) trace.Span {
	return start(s.ctx, s.tracer, name, api.SpanKindInternal, at, facts)
}

// Set implements trace.Span.
func (s *span) Set(facts ...slog.Attr) { s.SetAttributes(attributes(facts)...) }

// Rename implements trace.Span.
func (s *span) Rename(name string) { s.SetName(name) }

// Fail implements trace.Span.
func (s *span) Fail(code string) {
	s.SetStatus(codes.Error, code)
	s.SetAttributes(attribute.String("error.type", code))
}

// End implements trace.Span.
func (s *span) End(at time.Time) { s.Span.End(api.WithTimestamp(at)) }

// ID implements trace.Span.
func (s *span) ID() string { return s.SpanContext().TraceID().String() }

func attributes(facts []slog.Attr) []attribute.KeyValue {
	list := make([]attribute.KeyValue, len(facts))
	for i, f := range facts {
		switch f.Value.Kind() {
		case slog.KindInt64:
			list[i] = attribute.Int64(f.Key, f.Value.Int64())
		case slog.KindFloat64:
			list[i] = attribute.Float64(f.Key, f.Value.Float64())
		case slog.KindBool:
			list[i] = attribute.Bool(f.Key, f.Value.Bool())
		default:
			list[i] = attribute.String(f.Key, f.Value.String())
		}
	}
	return list
}
