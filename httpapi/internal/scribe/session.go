package scribe

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quern/codecs/pcm"
	"quern/codecs/resample"
	"quern/engine"
	"quern/engine/live"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/socket"
)

// A session is one client's stream of sound.
type session struct {
	api      *api
	c        *server.Call
	line     *socket.Line
	cfg      config
	detector engine.Detector
	prompt   string

	ctx    context.Context // of work
	cancel context.CancelCauseFunc

	conv    *resample.Resampler
	turns   *audio.Turns // nil: the client commits
	audio   []float32    // before a segment begins, or sound that the detector has not read
	heard   int          // samples of audio the detector has read
	segment *segment     // under way, or nil
	queue   chan *segment
	waiting []*segment // in the queue, or being transcribed

	start    int // sample number of audio[0], or of the next
	segments int // so far
}

// A segment is sound from one commit to the next.
type segment struct {
	feed    *live.Feed
	at      float64 // seconds of the session it begins at
	prompt  string
	samples int
	asked   bool // the client committed it and waits for an answer
	done    atomic.Bool
}

// before is how much silence before speech is part of a segment: 300 ms.
const before = engine.HearingRate * 3 / 10

// mostWaiting bounds the segments that are not transcribed yet.
const mostWaiting = 64

func newSession(a *api, c *server.Call, conn *socket.Conn, cfg config, d engine.Detector) *session {
	s := &session{api: a, c: c, cfg: cfg, detector: d, queue: make(chan *segment, mostWaiting)}
	s.line = socket.NewLine(context.WithoutCancel(c.R.Context()), conn, &a.Options)
	s.ctx, s.cancel = context.WithCancelCause(c.R.Context())
	s.conv = cfg.converter()
	if cfg.vad {
		s.turns = audio.NewTurns(d, float32(cfg.threshold), audio.Hops(cfg.minSpeech), cfg.quiet())
	}
	return s
}

// run serves the session until it ends, and its work with it.
func (s *session) run() {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer s.line.Close(0, "")
	defer s.cancel(fault.ErrGone)
	defer func() { s.c.W.Note(slog.String("model", s.cfg.model), slog.Int("segments", s.segments)) }()
	idle := socket.Timer(s.api.Options.Realtime.Idle)
	defer idle.Stop()
	wg.Go(func() { s.watch(idle) })
	wg.Go(s.work)
	wg.Go(func() { s.line.Watch(s.ctx, func() { s.cancel(fault.ErrGone) }) })
	s.send(message{Type: "session_started", Session: reqlog.NewID("sess_"), Config: s.cfg.spell()})
	for s.ctx.Err() == nil {
		b, err := s.line.Read(s.ctx)
		if err != nil {
			return
		}
		if d := s.api.Options.Realtime.Idle; d > 0 {
			idle.Reset(d)
		}
		if kind, err := s.take(b); err != nil {
			s.fail(kind, err)
		}
	}
}

// watch ends the session, with a message, when its time is up.
func (s *session) watch(idle *time.Timer) {
	total := socket.Timer(s.api.Options.Realtime.Total)
	defer total.Stop()
	m := message{}
	status := socket.Normal
	select {
	case <-idle.C:
		m.Type, m.Error = "insufficient_audio_activity", "no message came for realtime.idle; connect again"
	case <-total.C:
		m.Type, m.Error = "session_time_limit_exceeded", "the session has lasted for realtime.total; connect again"
	case <-s.api.Ending():
		m.Type, m.Error, status = "error", server.ShuttingDown().Message, socket.GoingAway
	case <-s.ctx.Done():
		return
	}
	s.send(m)
	s.line.Close(status, m.Type)
	s.cancel(fault.ErrGone)
}

// A message is one of the server.
type message struct {
	Type    string  `json:"message_type"`
	Session string  `json:"session_id,omitempty"`
	Config  any     `json:"config,omitempty"`
	Text    *string `json:"text,omitempty"`
	Words   any     `json:"words,omitempty"`
	Code    string  `json:"language_code,omitempty"`
	Error   string  `json:"error,omitempty"`
}

// send sends a message. A client that does not read ends the session.
func (s *session) send(m message) {
	b, err := server.Marshal(m)
	if err == nil && s.ctx.Err() == nil {
		err = s.line.Tell(b)
	}
	if err != nil {
		s.cancel(fault.ErrGone)
	}
}

// fail sends a failure.
func (s *session) fail(kind string, err error) {
	var e *fault.Error
	if !errors.As(fault.Classify(s.ctx, err), &e) {
		return
	}
	if e.Cause != nil {
		s.api.Options.Log.ErrorContext(s.ctx, "realtime transcription", "code", e.Code, "error", e.Cause)
	}
	s.send(message{Type: kind, Error: e.Message})
}

// take handles a message, or returns its error and the error's name in the dialect.
func (s *session) take(b []byte) (kind string, err error) {
	o, err := body.ParseNamed(b, "message")
	if err != nil {
		return "input_error", err
	}
	text, rate := "", int64(s.cfg.layout.Rate)
	commit := false
	switch what := o.Str("message_type"); what {
	case "input_audio_chunk":
		if v, ok := o.Need("audio_base_64"); ok {
			text = v.Str()
		}
		commit = o.Boolean("commit", false)
		if v, ok := o.Get("sample_rate"); ok && v.Integer(1, 1<<20) != rate {
			v.Invalid("must be %d, as audio_format says, got %.20s", rate, v.Raw)
		}
		if p := o.Str("previous_text"); p != "" {
			if s.segment != nil || len(s.audio) > 0 {
				o.Refuse(engine.CodeInvalidValue, "previous_text", "previous_text belongs to the first chunk of a segment")
			}
			s.prompt = p
		}
	case "commit":
		commit = true
	default:
		o.Refuse(engine.CodeInvalidValue, "message_type", "message_type must be input_audio_chunk, got %.60q", what)
	}
	if err := s.api.Finish(s.c, o); err != nil {
		return "input_error", err
	}
	x, err := s.decode(text)
	if err != nil {
		return "input_error", err
	}
	if kind, err := s.feed(x); err != nil {
		return kind, err
	}
	if commit {
		return s.commit()
	}
	return "", nil
}

// decode is the sound of a chunk, as recognisers take it.
func (s *session) decode(text string) ([]float32, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fault.New(engine.CodeInvalidValue, "audio_base_64", "audio_base_64 is not base64: %v", err)
	}
	size := s.cfg.layout.Samples.Size()
	if len(b)%size != 0 {
		return nil, fault.New(engine.CodeInvalidValue, "audio_base_64", "audio_base_64 has %d bytes, and samples of %s have %d each", len(b), s.cfg.format, size)
	}
	return s.conv.Process(nil, pcm.Decode(nil, b, s.cfg.layout.Samples, binary.LittleEndian)), nil
}

// feed takes sound.
func (s *session) feed(x []float32) (kind string, err error) {
	most := int(s.api.Options.Realtime.Audio.Seconds() * engine.HearingRate)
	held := 0
	for _, g := range s.waiting {
		held += g.feed.Held()
	}
	if held+len(x) > most {
		return "queue_overflow", fault.New(engine.CodeQueueFull, "", "%v of sound is not transcribed yet (realtime.audio); send it no faster than it is spoken", s.api.Options.Realtime.Audio)
	}
	if s.turns == nil {
		if len(x) == 0 {
			return "", nil
		}
		if s.segment == nil {
			if kind, err := s.begin(); err != nil {
				return kind, err
			}
		}
		s.pass(x)
		s.start += len(x)
		if s.segment.samples >= most {
			s.end(false)
		}
		return "", nil
	}
	s.audio = append(s.audio, x...)
	for len(s.audio)-s.heard >= engine.Hop {
		change := s.turns.Hear(s.audio[s.heard : s.heard+engine.Hop])
		s.heard += engine.Hop
		switch {
		case change == audio.Began && s.segment == nil:
			s.keep(before + audio.Hops(s.cfg.minSpeech)*engine.Hop)
			if kind, err := s.begin(); err != nil {
				s.turns.Stop()
				return kind, err
			}
		case change == audio.Ended && s.segment != nil:
			s.flush()
			s.end(false)
		}
	}
	if s.segment == nil {
		s.keep(before + audio.Hops(s.cfg.minSpeech)*engine.Hop)
		return "", nil
	}
	s.flush()
	if s.segment.samples >= most { // speech without a pause is cut into segments of this length
		s.end(false)
		s.turns.Stop()
	}
	return "", nil
}

// keep drops the samples that the detector has read but for the latest.
func (s *session) keep(n int) { s.forget(s.heard - n) }

func (s *session) forget(n int) {
	if n > 0 {
		s.audio = append(s.audio[:0], s.audio[n:]...)
		s.heard -= n
		s.start += n
	}
}

// flush passes to the segment the sound that the detector has read.
func (s *session) flush() {
	s.pass(s.audio[:s.heard])
	s.forget(s.heard)
}

func (s *session) pass(x []float32) {
	s.segment.samples += len(x)
	_ = s.segment.feed.Write(s.ctx, x) // which does not block: feed bounds it
}

// begin begins a segment.
func (s *session) begin() (kind string, err error) {
	for len(s.waiting) > 0 && s.waiting[0].done.Load() {
		s.waiting = s.waiting[1:]
	}
	g := &segment{feed: live.NewFeed(0), prompt: s.prompt, at: float64(s.start) / engine.HearingRate}
	select {
	case s.queue <- g:
	default:
		return "queue_overflow", fault.New(engine.CodeQueueFull, "", "%d segments are not transcribed yet; commit less often", mostWaiting)
	}
	s.prompt = ""
	s.segments++
	s.segment, s.waiting = g, append(s.waiting, g)
	return "", nil
}

// end ends the segment.
func (s *session) end(asked bool) {
	s.segment.asked = asked
	s.segment.feed.Close(nil)
	s.segment = nil
}

// converter makes recognisers' sound of the session's.
func (c *config) converter() *resample.Resampler {
	r, err := resample.New(c.layout.Rate, engine.HearingRate, 1)
	if err != nil {
		panic(err) // the rates are ours
	}
	return r
}

// commit ends the segment for the client.
func (s *session) commit() (kind string, err error) {
	rest := s.conv.Flush(nil) // held back for the sound that follows, which is of the next
	s.conv = s.cfg.converter()
	if kind, err := s.feed(rest); err != nil {
		return kind, err
	}
	if s.turns != nil {
		if s.segment == nil && len(s.audio) > 0 {
			if kind, err := s.begin(); err != nil {
				return kind, err
			}
		}
		s.heard = len(s.audio)
		if s.segment != nil {
			s.flush()
		}
		s.turns.Stop()
	}
	if s.segment == nil || s.segment.samples < engine.HearingRate/10 {
		return "commit_throttled", fault.New(engine.CodeInvalidValue, "commit", "there is less than 100 ms of sound to commit; send more first")
	}
	s.end(true)
	return "", nil
}

// work transcribes segments.
func (s *session) work() {
	for {
		select {
		case g := <-s.queue:
			s.transcribe(g)
			g.done.Store(true)
		case <-s.ctx.Done():
			return
		}
	}
}

// transcribe transcribes a segment as it comes.
func (s *session) transcribe(g *segment) {
	r := engine.TranscribeRequest{}
	r.Language, r.Keywords, r.Prompt, r.Words = s.cfg.language, s.cfg.keyterms, g.prompt, s.cfg.times
	var said strings.Builder
	last := ""
	o := live.Options{Request: r, Detector: s.detector, Step: max(1, s.api.Options.Realtime.Step.Seconds()), Whole: s.api.Options.Realtime.Step < 0}
	t, err := audio.Follow(s.ctx, s.api.API, audio.OnDemand{API: s.api.API, Model: s.cfg.model}, g.feed, o, func(u live.Update) error {
		said.WriteString(u.Text)
		if text := strings.TrimSpace(said.String() + u.Tail); text != last {
			last = text
			s.send(message{Type: "partial_transcript", Text: &text})
		}
		return s.ctx.Err()
	})
	if err != nil {
		g.feed.Drain(s.ctx)
		s.fail("transcriber_error", err)
		return
	}
	text := strings.TrimSpace(t.Text)
	if text == "" && !g.asked {
		return // a noise, and no words
	}
	s.send(message{Type: "committed_transcript", Text: &text})
	if !s.cfg.times && !s.cfg.detect {
		return
	}
	m := message{Type: "committed_transcript_with_timestamps", Text: &text}
	if s.cfg.detect || s.cfg.language != "" {
		m.Code = t.Info.Language
	}
	if s.cfg.times {
		m.Words = words(t, g.at)
	}
	s.send(m)
}
