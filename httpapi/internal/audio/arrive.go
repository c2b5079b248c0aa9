package audio

import (
	"context"
	"errors"
	"io"

	"quern/codecs"
	"quern/engine"
	"quern/engine/live"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/transcript"
)

// aheadSeconds is how much sound of a request is decoded ahead of the recogniser.
const aheadSeconds = 30

// An Arrival is the sound of a request while it is being sent. It is read in a
// goroutine beside the recogniser.
type Arrival struct {
	Feed *live.Feed
	u    *transcript.Sound
	c    *server.Call
	stop context.CancelCauseFunc
}

// Arrive begins to read sound that StartTranscription found. When the client leaves, or
// sends an invalid field, the context that is returned ends. The caller
// calls End.
func Arrive(ctx context.Context, a *server.API, c *server.Call, f *body.Form, r *engine.TranscribeRequest) (context.Context, *Arrival) {
	ctx, cancel := context.WithCancelCause(ctx)
	v := &Arrival{live.NewFeed(aheadSeconds * engine.HearingRate), r.Source.(*transcript.Sound), c, cancel}
	c.ReadBeside(func() {
		err := v.read(ctx, f)
		if e := (*codecs.Error)(nil); err != nil && !errors.As(err, &e) {
			if err = a.ComingError(c, err); errors.Is(err, fault.ErrGone) {
				cancel(err)
			}
		}
		v.Feed.Close(err)
	})
	return ctx, v
}

// read reads the sound and the fields after it.
func (v *Arrival) read(ctx context.Context, f *body.Form) (err error) {
	defer fault.Recovered(&err)
	buf := make([]float32, engine.HearingRate/10)
	for {
		n, err := v.u.Read(buf)
		if err := v.Feed.Write(ctx, buf[:n]); err != nil {
			return err
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if err = f.Rest(); err == nil {
		v.c.BodyEnded()
	}
	return err
}

// Source is the sound for recognisers that take it as it comes.
func (v *Arrival) Source(ctx context.Context) engine.Source { return arriving{v.Feed.Source(ctx), v.u} }

// Warnings are those of the sound, after it was read.
func (v *Arrival) Warnings(heard bool) []string { return v.u.Warnings(heard) }

// End ends the reading; the sound is not needed any more.
func (v *Arrival) End() { v.stop(context.Canceled) }

// arriving is the source of an arrival.
type arriving struct {
	engine.Source
	u *transcript.Sound
}

func (s arriving) Warnings(heard bool) []string { return s.u.Warnings(heard) }
