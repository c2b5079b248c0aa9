package speech_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"quern/engine"
	"quern/engine/speech"
	"quern/engine/tts"
)

// A request that waits for more text takes no place in the queue, and none is kept when the
// text fails.
func TestQueueWhileWriting(t *testing.T) {
	m := speech.New("formant", tts.Formant(), func() (*tts.Pronouncer, error) { return tts.NewPronouncer(nil) }, nil, 1, 0)
	speak := func(r engine.SpeakRequest) (n int, err error) {
		r.Voice = "af_bella"
		for s, err := range m.Speak(t.Context(), r) {
			if err != nil {
				return n, err
			}
			n += len(s.Samples)
		}
		return n, nil
	}
	alone, err := speak(engine.SpeakRequest{Text: "Hello there, my friend."})
	if err != nil || alone == 0 {
		t.Fatal(alone, err)
	}
	calls := 0
	n, err := speak(engine.SpeakRequest{More: func(context.Context) (engine.More, error) {
		if calls++; calls > 1 {
			return engine.More{}, io.EOF
		}
		if m.Stats().Running != 0 {
			t.Error("a place is taken while nothing is there to be spoken")
		}
		if other, err := speak(engine.SpeakRequest{Text: "Hello there, my friend."}); err != nil || other != alone {
			t.Errorf("meanwhile another makes %d samples, %v", other, err)
		}
		return engine.More{Text: "Hello there, my friend."}, nil
	}})
	if err != nil || n != alone {
		t.Errorf("%d samples in pieces, %v; want %d", n, err, alone)
	}
	left := errors.New("left")
	if _, err := speak(engine.SpeakRequest{More: func(context.Context) (engine.More, error) { return engine.More{}, left }}); !errors.Is(err, left) {
		t.Errorf("%v; want what the writer failed with", err)
	}
	if got := m.Stats().Running; got != 0 {
		t.Errorf("%d requests are still there", got)
	}
}
