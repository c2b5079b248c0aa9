package realtime

import (
	"time"

	"quern/httpapi/internal/metrics"
)

// times are when the legs of a turn ended. Times that did not come are zero.
type times struct {
	ended   time.Time // the speaker's turn, or the client asked
	written time.Time // its text was known; zero without sound
	token   time.Time // the first of the reply
	sound   time.Time // the first of the reply
}

// legs are what clients and metrics hear of.
func (t *times) legs() map[string]time.Duration {
	out := map[string]time.Duration{}
	from := t.ended
	leg := func(name string, to time.Time) {
		if !to.IsZero() {
			out[name] = max(to.Sub(from), 0)
			from = to
		}
	}
	leg("transcription", t.written)
	leg("first_token", t.token)
	leg("first_audio", t.sound)
	if from != t.ended && !t.token.IsZero() {
		out["turn"] = max(from.Sub(t.ended), 0)
	}
	return out
}

func (t *times) spell() object {
	out := object{}
	for name, d := range t.legs() {
		out[name+"_ms"] = whole(float64(d) / float64(time.Millisecond))
	}
	return out
}

// note counts them, but for the transcription, which is counted where it is made.
func (t *times) note(m *metrics.Metrics) {
	for name, d := range t.legs() {
		if name != "transcription" {
			m.Leg(name, d)
		}
	}
}
