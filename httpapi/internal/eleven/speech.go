package eleven

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
	"quern/httpapi/spool"
)

// start opens the model and checks the voice of a request.
func (a api) start(c *server.Call, r *vendorSpeech) error {
	return audio.StartSpeech(a.API, c, a.Ours(r.model, engine.KindSpeech), &r.SpeakRequest)
}

// startVendorSpeech reads a request, opens the model and checks the voice.
func (a api) startVendorSpeech(c *server.Call, o *body.Object) (*vendorSpeech, error) {
	r, err := a.readVendorSpeech(c, o)
	if err != nil {
		return nil, err
	}
	return r, a.start(c, r)
}

// textToSpeech answers POST /v1/text-to-speech/{voice_id}.
func (a api) textToSpeech(c *server.Call, o *body.Object) error {
	r, err := a.startVendorSpeech(c, o)
	if err != nil {
		return err
	}
	return audio.SpeakSound(a.API, c, r.SpeakRequest, r.format, false)
}

// streamSpeech answers …/stream and …/stream/sse: with events or raw sound, as
// the client asks, or else as clients of its kind need.
func (a api) streamSpeech(c *server.Call, o *body.Object) error {
	c.W.Header().Add("Vary", "Accept, xi-api-key, User-Agent")
	r, err := a.readVendorSpeech(c, o)
	if err != nil {
		return err
	}
	events := wantsEvents(c, r.streamFormat)
	if events && r.format.Name != "mp3" {
		return fault.New(fault.CodeOutputFormat, "output_format", "events carry mp3; ask for an mp3 output_format")
	}
	if err := a.start(c, r); err != nil {
		return err
	}
	if events {
		return audio.SpeakEvents(a.API, c, r.SpeakRequest, r.format, true)
	}
	return audio.SpeakSound(a.API, c, r.SpeakRequest, r.format, true)
}

// wantsEvents chooses between the two answers of …/stream; see API.md 8.2.
func wantsEvents(c *server.Call, streamFormat string) bool {
	accept := c.R.Header.Get("Accept")
	switch {
	case strings.HasSuffix(c.Route.Path, "/sse"), strings.Contains(accept, "text/event-stream"), streamFormat == "sse":
		return true
	case c.Route.Prefixed, strings.Contains(accept, "audio/"), strings.Contains(accept, "application/octet-stream"), streamFormat == "audio":
		return false
	}
	return !IsClient(c.R)
}

// An alignment has the times of each character of a text.
type alignment struct {
	Characters []string  `json:"characters"`
	Starts     []float64 `json:"character_start_times_seconds"`
	Ends       []float64 `json:"character_end_times_seconds"`
}

// newAlignment is one of no characters, whose lists are empty in JSON too.
func newAlignment() *alignment { return &alignment{[]string{}, []float64{}, []float64{}} }

func (al *alignment) add(char string, from, to float64) {
	al.Characters = append(al.Characters, char)
	al.Starts, al.Ends = append(al.Starts, from), append(al.Ends, to)
}

// join appends a later alignment.
func (al *alignment) join(more *alignment) {
	al.Characters = append(al.Characters, more.Characters...)
	al.Starts, al.Ends = append(al.Starts, more.Starts...), append(al.Ends, more.Ends...)
}

// spread adds the characters of text evenly over the time between from and to.
func (al *alignment) spread(text string, from, to float64) {
	chars := []rune(text)
	for i, r := range chars {
		n := float64(len(chars))
		al.add(string(r), from+(to-from)*float64(i)/n, from+(to-from)*float64(i+1)/n)
	}
}

// A timed is one answer with timestamps.
type timed struct {
	Audio      string     `json:"audio_base64"`
	Alignment  *alignment `json:"alignment"`
	Normalized *alignment `json:"normalized_alignment"`
}

// align returns the alignments of a chunk of text: of the written text, in which
// characters without a sound have no length, and of the spoken text. Times never
// go back, from *at on.
func align(text string, chunk engine.Speech, at *float64) (written, said *alignment) {
	written, said = newAlignment(), newAlignment()
	done := chunk.Start
	for _, w := range chunk.Words {
		from, to := max(w.From, *at), max(w.To, *at)
		if w.Start >= done { // a number is several words of one place
			written.spread(text[done:w.Start], from, from)
			written.spread(text[w.Start:w.End], from, to)
			done = w.End
		} else if n := len(written.Ends); n > 0 {
			written.Ends[n-1] = to
		}
		if len(said.Characters) > 0 || *at > 0 { // words of the chunk before are said already
			said.add(" ", *at, from)
		}
		said.spread(w.Said, from, to)
		*at = to
	}
	written.spread(text[done:chunk.End], *at, *at)
	return written, said
}

// timedSpeech answers …/with-timestamps.
func (a api) timedSpeech(c *server.Call, o *body.Object) error {
	r, err := a.startVendorSpeech(c, o)
	if err != nil {
		return err
	}
	ctx, cancel := a.WithRequestTimeout(c.R.Context(), c)
	defer cancel()
	file := a.Temp.New()
	defer file.Close()
	out := timed{Alignment: newAlignment(), Normalized: newAlignment()}
	at := 0.0
	_, err = audio.Encode(ctx, a.API, c, r.SpeakRequest, r.format, file, false, func(s engine.Speech) error {
		written, said := align(r.Text, s, &at)
		out.Alignment.join(written)
		out.Normalized.join(said)
		return nil
	})
	if err != nil {
		return err
	}
	return a.writeTimed(c, &out, file)
}

// writeTimed answers with out, whose audio is the content of file.
func (a api) writeTimed(c *server.Call, out *timed, file *spool.Spool) error {
	b, err := server.Marshal(out)
	if err != nil {
		return err
	}
	head, tail, _ := bytes.Cut(b, []byte(`""`)) // the audio is the first member
	audio := (file.Size() + 2) / 3 * 4
	return a.WriteSized(c, "application/json", int64(len(b))+audio+1, func(w io.Writer) error {
		if _, err := w.Write(append(head[:len(head):len(head)], '"')); err != nil {
			return err
		}
		e := base64.NewEncoder(base64.StdEncoding, w)
		if _, err := file.WriteTo(e); err != nil {
			return err
		}
		if err := e.Close(); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "\"%s\n", tail)
		return err
	})
}

// streamTimedSpeech answers …/stream/with-timestamps: one object a line, or an
// event each for requests that ask for events.
func (a api) streamTimedSpeech(c *server.Call, o *body.Object) error {
	r, err := a.startVendorSpeech(c, o)
	if err != nil {
		return err
	}
	framing := stream.JSONLines
	if strings.Contains(c.R.Header.Get("Accept"), "text/event-stream") {
		framing = stream.ServerEvents
	}
	s := a.NewStream(c, framing)
	at := 0.0
	return audio.SpeakPieces(a.API, c, r.SpeakRequest, r.format, audio.Pieces[timed]{
		Out: s, Write: func(t timed) error { return s.Event(t) },
		Spell: func(p []byte, chunk *engine.Speech) (timed, bool) {
			out := timed{Audio: base64.StdEncoding.EncodeToString(p)}
			if chunk == nil {
				return out, len(p) > 0
			}
			out.Alignment, out.Normalized = align(r.Text, *chunk, &at)
			return out, true
		},
	})
}
