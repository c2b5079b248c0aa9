package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/terminal"
	"quern/codecs"
	"quern/engine"
	"quern/engine/live"
	"quern/engine/local"
)

// checkLive validates the flags of --live, and refuses those that it excludes.
func (o *transcribeOptions) checkLive(cmd *cobra.Command, files []string) error {
	if !o.live {
		return idle(cmd, "it is for --live", "step")
	}
	if err := idle(cmd, "--live gives out pieces of a text", "words"); err != nil {
		return err
	}
	if err := idle(cmd, "who speaks is known when the sound ends", "speakers", "num-speakers", "min-speakers", "max-speakers", "known-speaker"); err != nil {
		return err
	}
	if err := idle(cmd, "--live cuts at silences anyway", "chunked"); err != nil {
		return err
	}
	if len(files) > 1 {
		return usageError{errors.New("--live listens to one source at a time")}
	}
	if o.format != "text" && o.format != "json" {
		return usageError{fmt.Errorf("--live writes --format text or json, not %s", o.format)}
	}
	if o.step < 0.1 || o.step > 30 {
		return usageError{fmt.Errorf("--step must be from 0.1 to 30 seconds, got %v", o.step)}
	}
	return nil
}

// open opens the sound of a file.
func (o *transcribeOptions) open(in io.Reader) (*codecs.Stream, error) {
	if o.raw == "" {
		return codecs.Open(in, codecs.Options{})
	}
	l, err := codecs.RawByName(o.raw)
	if err != nil {
		return nil, err
	}
	return l.Open(in, codecs.Options{})
}

// A heard is a line of --live --format json.
type heard struct {
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Text    string  `json:"text"` // that no longer changes
	Tail    string  `json:"tail"` // after it, which may
	Final   bool    `json:"final"`
	Seconds float64 `json:"seconds"` // of sound transcribed
}

// aheadSeconds is how much sound is read ahead of the recogniser.
const aheadSeconds = 30

// transcribeLive writes down sound that is still coming. The first interrupt ends the
// sound: speech before it is transcribed.
func (a *app) transcribeLive(ctx context.Context, e *local.Engine, l engine.Lease, file string, o transcribeOptions) error {
	in := a.in
	if file == "-" && terminal.Is(in) {
		return errors.New("standard input is a terminal; send audio there, as in ffmpeg … -f wav - | quern transcribe --live -")
	}
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	recogniser, err := e.Find(l.Info().ID, engine.KindTranscription)
	if err != nil {
		return err
	}
	detector, err := recogniser.Detector()
	if err != nil {
		return err
	}
	feed := live.NewFeed(aheadSeconds * hearingRate)
	// Reading standard input cannot be stopped: it ends with the process.
	go func() { feed.Close(pour(ctx, feed, in, &o)) }()
	defer context.AfterFunc(ctx, func() { feed.Close(nil) })()
	work := context.WithoutCancel(ctx) // a second interrupt ends the process

	out := bufio.NewWriter(a.out)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	begun := false // a line
	for u, err := range live.Transcribe(work, l, feed, live.Options{Detector: detector, Step: o.step, Request: engine.TranscribeRequest{TranscribeOptions: o.request()}}) {
		switch {
		case err != nil:
		case o.format == "json":
			err = lines.Encode(heard{u.Start, u.End, u.Text, u.Tail, u.Final, u.Heard})
		default:
			text := u.Text
			if !begun {
				text = strings.TrimLeft(text, " ")
			}
			begun = begun || text != ""
			out.WriteString(text)
			if u.Final && begun {
				out.WriteByte('\n')
				begun = false
			}
		}
		if flushed := out.Flush(); err == nil {
			err = flushed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pour reads sound into a feed, and returns why it ended, nil at its end.
func pour(ctx context.Context, feed *live.Feed, in io.Reader, o *transcribeOptions) error {
	sound, err := o.open(in)
	if err != nil {
		return err
	}
	mono, err := codecs.NewMono(sound, hearingRate)
	if err != nil {
		return err
	}
	buf := make([]float32, hearingRate/10)
	for {
		n, err := mono.Read(buf)
		if err := feed.Write(ctx, buf[:n]); err != nil {
			return nil // the interrupt ended it
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
