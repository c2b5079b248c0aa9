package audio

import (
	"context"
	"errors"
	"io"

	"quern/codecs"
	"quern/engine"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/metrics"
	"quern/httpapi/internal/server"
	"quern/httpapi/transcript"
)

// A Transcription is what a request asks for.
type Transcription struct {
	engine.TranscribeRequest
	lease        engine.Lease // of the model
	Format       string
	ShowWords    bool
	ShowSegments bool
	Streamed     bool
	Each         func(engine.Segment) error // hears of segments as they come; may be nil
}

// StartTranscription makes the model ready and finds out what the upload is.
func StartTranscription(a *server.API, c *server.Call, model string, r *Transcription, file io.Reader) error {
	if _, err := a.Prepare(c, model, engine.KindTranscription); err != nil {
		return err
	}
	r.lease = c.Lease
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
	return fault.New(fault.CodeUnsupportedAudio, "file", "the file cannot be decoded: %v", e)
}

// Collect transcribes.
func Collect(ctx context.Context, a *server.API, r *Transcription) (*transcript.Transcript, error) {
	var info engine.TranscribeInfo
	r.Info = &info
	defer func() { a.Metrics.Heard(metrics.AudioIn, info.Duration) }() // also what was heard before it failed
	var segments []engine.Segment
	for s, err := range r.lease.Transcribe(ctx, r.TranscribeRequest) {
		if err != nil {
			return nil, fault.Classify(ctx, soundError(err))
		}
		segments = append(segments, s)
		if r.Each != nil {
			if err := r.Each(s); err != nil {
				return nil, err
			}
		}
	}
	return transcript.New(segments, info), nil
}

// CollectInTime is collect in the time there is for a request answered in one piece.
func CollectInTime(a *server.API, c *server.Call, r *Transcription) (*transcript.Transcript, error) {
	return server.InTime(a, c, func(ctx context.Context, r *Transcription) (*transcript.Transcript, error) { return Collect(ctx, a, r) }, r)
}
