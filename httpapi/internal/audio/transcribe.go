package audio

import (
	"context"
	"errors"
	"io"
	"math"

	"quern/codecs"
	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/metrics"
	"quern/httpapi/internal/server"
	"quern/httpapi/transcript"
)

// StartTranscription loads the model and detects the format of the upload.
func StartTranscription(a *server.API, c *server.Call, model string, r *engine.TranscribeRequest, file io.Reader, layout codecs.Raw) (err error) {
	if _, err = a.Prepare(c, model, engine.KindTranscription); err == nil {
		if r.Seed != 0 && c.Lease.Info().Undrawn {
			c.Warn("seed has no effect: the model draws no tokens")
		}
		var u *transcript.Sound
		if u, err = openUpload(file, layout); err == nil {
			r.Source = u
		}
	}
	return err
}

// Seed reads what a recogniser's draws depend on.
func Seed(f *body.Form) uint64 {
	x, ok := f.Number("seed", -1<<53, 1<<53)
	if ok && x != math.Trunc(x) {
		f.Invalid("seed", "must be a whole number, got %v", x)
	}
	return uint64(int64(x))
}

// soundError is the error of an upload that is not audio.
func soundError(err error) error {
	var e *codecs.Error
	if !errors.As(err, &e) {
		return err
	}
	return fault.New(fault.CodeUnsupportedAudio, "file", "the file cannot be decoded: %v", e)
}

// AskedBy is an error whose parameter is the client's field for times of words, where these
// are what a model does not have.
func AskedBy(field string, err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Param != "words" || e.Code != engine.CodeUnsupportedParam {
		return err
	}
	named := *e
	named.Param = field
	return &named
}

// Collect transcribes with the call's model. each is called with segments as they come; it may
// be nil.
func Collect(ctx context.Context, a *server.API, c *server.Call, r engine.TranscribeRequest, each func(engine.Segment) error) (*transcript.Transcript, error) {
	t, err := Hear(ctx, a, c.Lease, r, each)
	if err == nil {
		c.LogTokens(0, t.Tokens)
	}
	return t, err
}

// Hear is Collect with the model of a lease.
func Hear(ctx context.Context, a *server.API, l engine.Lease, r engine.TranscribeRequest, each func(engine.Segment) error) (*transcript.Transcript, error) {
	var info engine.TranscribeInfo
	r.Info = &info
	defer func() { a.Metrics.Heard(metrics.AudioIn, info.Duration) }() // also sound transcribed before an error
	var segments []engine.Segment
	for s, err := range l.Transcribe(ctx, r) {
		if err != nil {
			return nil, fault.Classify(ctx, soundError(err))
		}
		segments = append(segments, s)
		if each != nil {
			if err := each(s); err != nil {
				return nil, err
			}
		}
	}
	var who *engine.Speakers
	if r.Diarize != nil {
		who = &r.Diarize.Speakers
	}
	t := transcript.New(segments, info, who)
	if u, ok := r.Source.(interface{ Warnings(bool) []string }); ok {
		t.Warnings = u.Warnings(t.Text != "")
	}
	return t, nil
}

// CollectInTime is Collect in the time there is for a request answered in one piece,
// whose header has the warnings about the sound.
func CollectInTime(a *server.API, c *server.Call, r engine.TranscribeRequest) (*transcript.Transcript, error) {
	ctx, cancel := a.WithRequestTimeout(c.R.Context(), c)
	defer cancel()
	t, err := Collect(ctx, a, c, r, nil)
	if err == nil {
		for _, w := range t.Warnings {
			c.Warn(w)
		}
	}
	return t, err
}
