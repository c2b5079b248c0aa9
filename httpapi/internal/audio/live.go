package audio

import (
	"context"
	"iter"
	"strings"

	"quern/engine"
	"quern/engine/live"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/metrics"
	"quern/httpapi/internal/server"
	"quern/httpapi/transcript"
)

// OnDemand is a recogniser that opens its model for each transcription, so that a session that
// waits for sound holds none.
type OnDemand struct {
	API   *server.API
	Model string
}

// Transcribe implements live.Recogniser.
func (d OnDemand) Transcribe(ctx context.Context, r engine.TranscribeRequest) iter.Seq2[engine.Segment, error] {
	return func(yield func(engine.Segment, error) bool) {
		l, err := d.API.Open(ctx, d.Model, engine.KindTranscription)
		if err != nil {
			yield(engine.Segment{}, err)
			return
		}
		defer l.Release()
		for s, err := range l.Transcribe(ctx, r) {
			if !yield(s, err) {
				return
			}
		}
	}
}

// Follow transcribes sound as it comes. each is called with every update.
// The text of the transcript is that of all updates, joined.
func Follow(ctx context.Context, a *server.API, rec live.Recogniser, f *live.Feed, o live.Options, each func(live.Update) error) (*transcript.Transcript, error) {
	var info engine.TranscribeInfo
	o.Request.Info = &info
	defer func() { a.Metrics.Heard(metrics.AudioIn, info.Duration) }()
	var segments []engine.Segment // of pieces
	var text strings.Builder
	ended := true // the latest of them
	for u, err := range live.Transcribe(ctx, rec, f, o) {
		if err != nil {
			return nil, fault.Classify(ctx, soundError(err))
		}
		if u.Text != "" {
			if ended {
				segments = append(segments, engine.Segment{ID: len(segments), Start: u.Start, Language: u.Language})
			}
			last := &segments[len(segments)-1]
			last.Text, last.End = last.Text+u.Text, max(last.End, u.End)
			last.Words, last.Logprobs, last.Tokens = append(last.Words, u.Words...), append(last.Logprobs, u.Logprobs...), append(last.Tokens, u.Tokens...)
			text.WriteString(u.Text)
			ended = false
		}
		ended = ended || u.Final
		if err := each(u); err != nil {
			return nil, err
		}
	}
	t := transcript.New(segments, info, nil)
	t.Text = text.String()
	return t, nil
}
