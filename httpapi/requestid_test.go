package httpapi_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi"
)

// TestLogNamesRequests: lines logged with a request's context have its id, those
// without a request's context have none.
func TestLogNamesRequests(t *testing.T) {
	var text logged
	log := text.logger().With("model", "m")
	s := newServer(t, httpapi.Options{Log: text.logger(), Engine: scripted(func(ctx context.Context, yield func(engine.Event, error) bool) {
		log.WarnContext(ctx, "the engine's")
		log.WarnContext(context.Background(), "without")
		panic("oops")
	})})
	ask(t, s, "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`, "x-request-id", "my.id-1")
	eventually(t, "access log", func() bool { return strings.Contains(text.String(), "msg=request") })
	var got []string
	for line := range strings.Lines(text.String()) {
		_, msg, _ := strings.Cut(line, "msg=")
		msg, id, _ := strings.Cut(strings.TrimSpace(msg), " request=")
		if m, _, ok := strings.Cut(msg, "status=500"); ok {
			msg = m // the time it took follows, and the stack
		}
		got = append(got, msg+"|"+id)
	}
	want := []string{`"the engine's" model=m|my.id-1`, "without model=m|", "request method=POST path=/v1/chat/completions |my.id-1"}
	if !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
}

func TestLogHandlerGroups(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(httpapi.LogHandler(slog.NewTextHandler(&text, nil))).WithGroup("g")
	log.InfoContext(t.Context(), "plain", "a", 1)
	if got := text.String(); !strings.HasSuffix(got, "msg=plain g.a=1\n") {
		t.Errorf("logged %q", got)
	}
}
