package trace_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"quern/engine/trace"
)

// printed is a span that prints its calls.
type printed struct{ name string }

func (p printed) Child(name string, _ time.Time, facts ...slog.Attr) trace.Span {
	return printed{p.name + "/" + name}
}
func (p printed) Set(facts ...slog.Attr) { fmt.Println(p.name, facts) }
func (p printed) Rename(string)          {}
func (p printed) Fail(code string)       { fmt.Println(p.name, "failed:", code) }
func (p printed) End(time.Time)          { fmt.Println(p.name, "ended") }
func (p printed) ID() string             { return "1" }

func work(ctx context.Context) {
	s := trace.From(ctx).Child("prefill", time.Unix(0, 0))
	s.Set(slog.Int("tokens", 12))
	s.End(time.Unix(0, 0))
}

func Example() {
	work(context.Background()) // no collector: prints nothing
	work(trace.With(context.Background(), printed{"chat"}))
	// Output:
	// chat/prefill [tokens=12]
	// chat/prefill ended
}
