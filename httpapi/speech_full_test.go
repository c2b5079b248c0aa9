package httpapi_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"quern/engine"
	"quern/httpapi"
)

// A fullVoice is a fake whose voice has no place left in its queue.
type fullVoice struct{ *fake }

func (v fullVoice) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return v.lend(ctx, v, name, kinds)
}

func (fullVoice) Speak(context.Context, engine.SpeakRequest) iter.Seq2[engine.Speech, error] {
	return func(yield func(engine.Speech, error) bool) {
		yield(engine.Speech{}, &engine.Error{Code: engine.CodeQueueFull, Message: "8 requests are waiting", RetryAfter: 1500 * time.Millisecond})
	}
}

// TestSpeechQueueFull: the refusal comes before any sound, so it is a status and
// not the end of a stream.
func TestSpeechQueueFull(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: fullVoice{&fake{}}})
	for _, more := range []string{"", `,"response_format":"wav"`, `,"stream_format":"sse"`} {
		r := post(t, s, "/v1/audio/speech", `{"input":"Hi.","voice":"af_bella"`+more+`}`)
		wantFailure(t, r, 503, "queue_full", "")
		if got := r.Header.Get("Retry-After"); got != "2" {
			t.Errorf("%s: Retry-After %q, want 2", more, got)
		}
	}
	for _, path := range []string{"", "/stream", "/stream/sse", "/with-timestamps"} {
		r := post(t, s, "/v1/text-to-speech/af_bella"+path, `{"text":"Hi."}`)
		if got := r.Header.Get("Retry-After"); r.StatusCode != 503 || got != "2" {
			t.Errorf("%s: status %d, Retry-After %q, want 503 and 2", path, r.StatusCode, got)
		}
		r.Body.Close()
	}
}
