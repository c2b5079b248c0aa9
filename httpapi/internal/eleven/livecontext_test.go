package eleven

import (
	"context"
	"io"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi/internal/server"
)

// newContext is one without a goroutine that speaks its text.
func newContext() *voiceContext {
	l := &live{api: api{API: &server.API{Options: server.Options{SpeechChars: 1000}}}}
	return &voiceContext{live: l, schedule: liveSchedule, wake: make(chan struct{}, 1), cancel: func() {}}
}

// TestSchedule: text is passed on when so much of it is there, or when it is hurried.
func TestSchedule(t *testing.T) {
	word := func(n int) string { return strings.Repeat("a", n-1) + " " }
	for _, tt := range []struct {
		name string
		auto bool
		say  []liveMessage
		want []engine.More
	}{
		{"too little", false, []liveMessage{{text: word(60)}, {text: word(59)}}, nil},
		{"the vendor's schedule", false, []liveMessage{{text: word(60)}, {text: word(60)}, {text: word(159)}, {text: word(1)}},
			[]engine.More{{Text: word(60) + word(60)}, {Text: word(159) + word(1)}}},
		{"one's own, the last for ever", false, []liveMessage{{text: word(50), schedule: []int{50, 60}}, {text: word(59)}, {text: word(2)}, {text: word(60)}},
			[]engine.More{{Text: word(50)}, {Text: word(59) + word(2)}, {Text: word(60)}}},
		{"characters, not bytes", false, []liveMessage{{text: strings.Repeat("é", 119)}}, nil},
		{"a flush begins anew", false, []liveMessage{{text: word(120)}, {text: word(5), flush: true}, {text: word(120)}},
			[]engine.More{{Text: word(120)}, {Text: word(5), Haste: engine.Flush}, {Text: word(120)}}},
		{"a trigger with too little, and each one after", false, []liveMessage{{text: word(49), trigger: true}, {text: word(1), trigger: true}, {text: word(3), trigger: true}},
			[]engine.More{{Text: word(49) + word(1), Haste: engine.Sentences}, {Text: word(3), Haste: engine.Sentences}}},
		{"auto_mode", true, []liveMessage{{text: word(3)}}, []engine.More{{Text: word(3), Haste: engine.Clauses}}},
		{"flushes of nothing are one", false, []liveMessage{{text: word(3)}, {flush: true}, {flush: true}, {flush: true}}, []engine.More{{Text: word(3), Haste: engine.Flush}}},
	} {
		v := newContext()
		for _, m := range tt.say {
			if err := v.take(&m, tt.auto); err != nil {
				t.Fatal(err)
			}
		}
		same := len(v.queue) == len(tt.want)
		for i := range v.queue {
			same = same && v.queue[i] == tt.want[i]
		}
		if !same {
			t.Errorf("%s: %v; want %v", tt.name, v.queue, tt.want)
		}
	}
}

// TestNext: what has come is given at once, up to a flush; the end comes behind it.
func TestNext(t *testing.T) {
	v := newContext()
	for _, m := range []liveMessage{{text: strings.Repeat("a", 120)}, {text: "b", flush: true}, {text: "c"}} {
		if err := v.take(&m, false); err != nil {
			t.Fatal(err)
		}
	}
	v.end()
	for _, want := range []engine.More{{Text: strings.Repeat("a", 120) + "b", Haste: engine.Flush}, {Text: "c"}} {
		if got, err := v.next(t.Context()); got != want || err != nil {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	if got, err := v.next(t.Context()); err != io.EOF {
		t.Errorf("%v, %v; want the end", got, err)
	}
	v = newContext()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.next(ctx); err != context.Canceled {
		t.Errorf("%v; want that it was cancelled", err)
	}
	if err := v.take(&liveMessage{text: strings.Repeat("a", 1001)}, false); err == nil {
		t.Error("more text waits than may")
	}
}

// TestDrop: of what was not flushed nothing is spoken.
func TestDrop(t *testing.T) {
	v, stopped := newContext(), false
	v.cancel = func() { stopped = true }
	for _, m := range []liveMessage{{text: "kept", flush: true}, {text: strings.Repeat("a", 200)}, {text: "b"}} {
		if err := v.take(&m, false); err != nil {
			t.Fatal(err)
		}
	}
	v.drop()
	if got, err := v.next(t.Context()); stopped || got.Text != "kept" || err != nil {
		t.Errorf("%v, %v, stopped: %v; what was flushed is spoken", got, err, stopped)
	}
	if _, err := v.next(t.Context()); err != io.EOF {
		t.Errorf("%v; want the end", err)
	}
	v = newContext()
	v.cancel = func() { stopped = true }
	if err := v.take(&liveMessage{text: strings.Repeat("a", 200)}, false); err != nil {
		t.Fatal(err)
	}
	if v.drop(); !stopped {
		t.Error("the work goes on")
	}
}
