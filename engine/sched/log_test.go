package sched

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"quern/engine/graph"
	"quern/engine/sample"
)

type whoKey struct{}

// A naming handler says in whose context a line was logged.
type naming struct{ slog.Handler }

func (h naming) Handle(ctx context.Context, r slog.Record) error {
	if who, ok := ctx.Value(whoKey{}).(string); ok {
		r = r.Clone()
		r.AddAttrs(slog.String("who", who))
	}
	return h.Handler.Handle(ctx, r)
}

// TestLogNamesRequests: what concerns one request is logged with its context.
func TestLogNamesRequests(t *testing.T) {
	for _, tt := range []struct {
		name string
		fail bool // of a step
		mask func() sample.Mask
		want []string
	}{
		{"step failed", true, nil, []string{`"step failed" who=first`, `"step failed" who=second`}},
		{"engine panicked", true, nil, []string{`"engine panicked"`, `"step failed" who=first`, `"step failed" who=second`}},
		{"sampler panicked", false, func() sample.Mask { return new(badMask) }, []string{`"sampler panicked" who=first`}},
		{"nothing", false, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var text bytes.Buffer // written by the loop, read when it has ended
				o := small
				o.Log = slog.New(naming{slog.NewTextHandler(&text, &slog.HandlerOptions{
					ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
						if a.Key != slog.MessageKey && a.Key != "who" {
							return slog.Attr{}
						}
						return a
					},
				})})
				s, e := newFake(t, o)
				e.fail = func(*graph.Batch) error {
					switch {
					case e.steps != 2 || !tt.fail:
						return nil
					case tt.name == "engine panicked":
						panic("out of smoke")
					}
					return errors.New("out of smoke")
				}
				var streams []*Stream
				for i, who := range []string{"first", "second"} {
					r := Request{Prompt: prompt(9), N: 2, Max: 5}
					if i == 0 {
						r.Mask = tt.mask
					}
					st, err := s.Submit(context.WithValue(t.Context(), whoKey{}, who), r)
					if err != nil {
						t.Fatal(err)
					}
					streams = append(streams, st)
				}
				stop := start(t, s)
				for _, st := range streams {
					collect(st) // with an error or without
				}
				stop()
				var got []string
				for line := range strings.Lines(text.String()) {
					got = append(got, strings.TrimPrefix(strings.TrimSpace(line), "msg="))
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("logged %q, want %q", got, tt.want)
				}
			})
		})
	}
}
