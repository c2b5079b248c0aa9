package openai

import (
	"context"

	"quern/codecs"
	"quern/engine"
	"quern/engine/live"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
	"quern/httpapi/transcript"
)

// early reports whether a transcription begins while its file is being sent: its fields
// stand before the file, it is streamed, and its length is unknown or the client
// says that it is live.
func early(c *server.Call) func(*body.Form, []byte) bool {
	return func(f *body.Form, head []byte) bool {
		return f.Str("model") != "" && f.Boolean("stream") && (c.R.ContentLength < 0 || f.Boolean("live")) &&
			(audio.ReadLayout(f).Rate != 0 || !codecs.NeedsWhole(head))
	}
}

// readLive reads the fields of a file that is still being made.
func readLive(r *transcription, f *body.Form) {
	r.live = f.Boolean("live")
	switch {
	case !r.live:
	case !r.streamed:
		f.Refuse(engine.CodeUnsupportedParam, "live", "live needs stream=true")
	case !f.Coming():
		f.Invalid("live", "needs model, stream and live before the file, and a format that can be read before it ends, which MP4 is not")
	}
}

// collect transcribes with the call's model, and calls each with segments, or, live, with text that
// no longer changes.
func (a api) collect(ctx context.Context, c *server.Call, f *body.Form, r *transcription, each func(engine.Segment) error) (t *transcript.Transcript, err error) {
	if !f.Coming() {
		return audio.Collect(ctx, a.API, c, r.TranscribeRequest, each)
	}
	ctx, v := audio.Arrive(ctx, a.API, c, f, &r.TranscribeRequest)
	defer v.End()
	if !r.live {
		r.Source = v.Source(ctx)
		return audio.Collect(ctx, a.API, c, r.TranscribeRequest, each)
	}
	d, err := a.Detector(c.Lease.Info().ID)
	if err != nil {
		return nil, err
	}
	t, err = audio.Follow(ctx, a.API, c.Lease, v.Feed, live.Options{Request: r.TranscribeRequest, Detector: d}, func(u live.Update) error {
		if u.Text == "" {
			return nil
		}
		return each(u.Segment)
	})
	if err == nil {
		t.Warnings = v.Warnings(t.Text != "")
		c.LogTokens(0, t.Tokens)
	}
	return t, err
}
