package httpapi

import (
	"context"
	"errors"
	"io"
	"strings"

	"quern/codecs"
	"quern/engine"
)

// A transcription is what a request asks for.
type transcription struct {
	engine.TranscribeRequest
	lease    engine.Lease // of the model
	format   string
	words    bool
	segments bool
	stream   bool
	each     func(engine.Segment) error // hears of segments as they come; may be nil
}

// startTranscription makes the model ready and finds out what the upload is.
func startTranscription(a *API, c *call, model string, r *transcription, file io.Reader) error {
	if _, err := a.prepare(c, model, engine.KindTranscription); err != nil {
		return err
	}
	r.lease = c.lease
	var err error
	r.Source, err = openSound(file)
	return err
}

// hearingRate is what recognisers listen at, in Hz.
const hearingRate = 16000

// openSound finds out what an upload is.
func openSound(r io.Reader) (engine.Source, error) {
	s, err := codecs.Open(r, codecs.Options{})
	if err != nil {
		return nil, soundError(err)
	}
	m, err := codecs.NewMono(s, hearingRate)
	if err != nil {
		return nil, soundError(err)
	}
	return m, nil
}

// soundError says what was found where audio should be.
func soundError(err error) error {
	var e *codecs.Error
	if !errors.As(err, &e) {
		return err
	}
	return fail(codeUnsupportedAudio, "file", "the file cannot be decoded: %v", e)
}

// A transcript is a finished transcription.
type transcript struct {
	text     string
	segments []engine.Segment
	tokens   int
	info     engine.TranscribeInfo
}

// collect transcribes.
func collect(ctx context.Context, a *API, r *transcription) (*transcript, error) {
	t := &transcript{}
	r.Info = &t.info
	defer func() { a.metrics.heard(audioIn, t.info.Duration) }() // also what was heard before it failed
	var text strings.Builder
	for s, err := range r.lease.Transcribe(ctx, r.TranscribeRequest) {
		if err != nil {
			return nil, classify(ctx, soundError(err))
		}
		text.WriteString(s.Text)
		t.segments = append(t.segments, s)
		t.tokens += len(s.Tokens)
		if r.each != nil {
			if err := r.each(s); err != nil {
				return nil, err
			}
		}
	}
	t.text = strings.TrimSpace(text.String())
	return t, nil
}

// collectInTime is collect in the time there is for a request answered in one piece.
func collectInTime(a *API, c *call, r *transcription) (*transcript, error) {
	return inTime(a, c, func(ctx context.Context, r *transcription) (*transcript, error) { return collect(ctx, a, r) }, r)
}
