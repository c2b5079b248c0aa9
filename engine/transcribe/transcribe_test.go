package transcribe

import (
	"context"
	"iter"
	"testing"

	"quern/engine"
	"quern/engine/asr"
	"quern/engine/asr/audio"
)

// A recorder is a recogniser that hears nothing, and keeps what it was asked.
type recorder struct {
	timed bool
	asked asr.Options
}

func (r *recorder) Transcribe(_ context.Context, _ audio.Source, o asr.Options) iter.Seq2[asr.Segment, error] {
	r.asked = o
	return func(func(asr.Segment, error) bool) {}
}

func (r *recorder) Translates() bool  { return false }
func (r *recorder) TimesWords() bool  { return r.timed }
func (r *recorder) CacheBytes() int64 { return 0 }
func (r *recorder) Close() error      { return nil }

// Words that may be there are asked of models which time them; words that have to be, of all.
func TestMayWords(t *testing.T) {
	for _, timed := range []bool{false, true} {
		for _, must := range []bool{false, true} {
			rec := &recorder{timed: timed}
			m := New("m", rec, Aids{}, 0, 1, 0)
			r := engine.TranscribeRequest{Source: new(audio.Samples), MayWords: true}
			r.Words = must
			for range m.Transcribe(t.Context(), r) {
			}
			if want := timed || must; rec.asked.Words != want {
				t.Errorf("times words %v, has to %v: asked %v", timed, must, rec.asked.Words)
			}
		}
	}
}
