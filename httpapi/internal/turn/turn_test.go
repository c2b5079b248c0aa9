package turn

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/metrics"
	"quern/httpapi/internal/stream"
)

// A script is a lease that answers every prompt with the same events.
type script struct {
	engine.Lease
	events []engine.Event
}

func (script) Info() engine.ModelInfo { return engine.ModelInfo{ID: "m"} }

func (s script) Generate(context.Context, engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		for _, e := range s.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// unheard is a type of event that no dialect has words for yet.
const unheard = engine.Done + 1

var answer = script{events: []engine.Event{
	{Type: engine.Admitted, PromptTokens: 3},
	{Type: engine.PromptDone, CachedTokens: 2},
	{Type: engine.Delta, Text: "a", OutputTokens: 1},
	{Type: unheard},
	{Type: engine.Delta, Index: 1, Text: "b", OutputTokens: 2},
	{Type: engine.Delta, Text: "c", OutputTokens: 3},
	{Type: engine.Finish, Reason: engine.ReasonStop, Tokens: 2, OutputTokens: 3},
	{Type: engine.Finish, Index: 1, Reason: engine.ReasonLength, Tokens: 1, OutputTokens: 3},
	{Type: engine.Done, PromptTokens: 3, CachedTokens: 2, OutputTokens: 3},
}}

func ask(n int) Request {
	return Request{Prompts: n, Sequences: 2, At: func(int) engine.GenerateRequest { return engine.GenerateRequest{N: 2} }}
}

// A dialect records its calls.
type dialect struct{ calls []string }

func (d *dialect) note(format string, args ...any) error {
	d.calls = append(d.calls, fmt.Sprintf(format, args...))
	return nil
}

func (d *dialect) Begin() error { return d.note("begin") }
func (d *dialect) End() error   { return d.note("end") }
func (d *dialect) Event(e Event) error {
	switch e.Type {
	case engine.Delta:
		return d.note("%d/%d %s", e.PromptIndex, e.Index, e.Text)
	case engine.Finish:
		return d.note("%d/%d %s", e.PromptIndex, e.Index, e.Reason)
	case unheard:
		return d.note("unheard")
	}
	return nil
}

// A recorder takes a stream.
type recorder struct{ *httptest.ResponseRecorder }

func (recorder) Flush() error { return nil }

// TestOneList: a dialect is called with every event of the list in order, also of types that are
// new, between its beginning and its end.
func TestOneList(t *testing.T) {
	g := Start(t.Context(), &metrics.Metrics{}, answer, ask(1))
	defer g.Close()
	var d dialect
	s := stream.NewWriter(recorder{httptest.NewRecorder()}, stream.ServerEvents, 0, 0)
	if err := g.Stream(t.Context(), s, 0, &d); err != nil {
		t.Fatal(err)
	}
	want := []string{"begin", "0/0 a", "unheard", "0/1 b", "0/0 c", "0/0 stop", "0/1 length", "end"}
	if got := strings.Join(d.calls, ", "); got != strings.Join(want, ", ") {
		t.Errorf("called %s, want %v", got, want)
	}
	if now := g.SoFar(); now.PromptTokens != 3 || now.CachedTokens != 2 || now.OutputTokens != 3 || g.OutputTokens != 3 {
		t.Errorf("counted %+v and %d", now, g.OutputTokens)
	}
}

// TestCollect: an answer in one piece is what a stream's pieces are together.
func TestCollect(t *testing.T) {
	g := Start(t.Context(), &metrics.Metrics{}, answer, ask(20))
	defer g.Close()
	replies, err := g.Collect(t.Context())
	if err != nil || len(replies) != 20 {
		t.Fatal(len(replies), err)
	}
	for i, r := range replies {
		var got []string
		for j := range r.Sequences {
			got = append(got, r.Sequences[j].Text()+" "+r.Sequences[j].End.Reason)
		}
		if want := []string{"ac stop", "b length"}; !slices.Equal(got, want) {
			t.Errorf("prompt %d: %v, want %v", i, got, want)
		}
	}
	if g.PromptTokens != 60 || g.OutputTokens != 60 {
		t.Errorf("counted %d and %d", g.PromptTokens, g.OutputTokens)
	}
}

// TestFailures: a turn that breaks off, and a request that cannot even be made, are
// failures of the turn.
func TestFailures(t *testing.T) {
	panics := ask(3)
	panics.At = func(int) engine.GenerateRequest { panic("no") }
	for _, tt := range []struct {
		name   string
		lease  engine.Lease
		ask    Request
		reason engine.Code
	}{
		{"breaks off", script{events: answer.events[:3]}, ask(2), engine.CodeEngineFailure},
		{"panics", answer, panics, fault.CodeInternal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := Start(t.Context(), &metrics.Metrics{}, tt.lease, tt.ask)
			defer g.Close()
			_, err := g.Collect(t.Context())
			var e *fault.Error
			if !errors.As(err, &e) || e.Code != tt.reason {
				t.Errorf("got %v, want %s", err, tt.reason)
			}
		})
	}
}
