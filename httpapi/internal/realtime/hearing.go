package realtime

import (
	"context"
	"strings"
	"time"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/transcript"
)

// detector is that of the session's recogniser; an error says that there is none.
func (s *session) detector() (engine.Detector, error) {
	if s.ear.detector != nil && s.ear.model == s.cfg.ear.model {
		return s.ear.detector, nil
	}
	return s.api.Detector(s.cfg.ear.model)
}

// held is how much sound counts against realtime.audio: what is not transcribed, or the
// turn under way, in samples.
func (s *session) held() int {
	n := len(s.ear.audio) + s.waiting
	for _, f := range s.followed {
		n += f.feed.Held()
	}
	if s.turn != nil {
		n = max(n, len(s.ear.audio)+s.turn.samples)
	}
	return n
}

// holds refuses sound that the session has no room for, given its bytes.
func (s *session) holds(n int) error {
	most := s.api.Options.Realtime.Audio
	more := n / s.cfg.in.samples.Size() * engine.HearingRate / s.cfg.in.rate
	if s.held()+more > samplesOf(most) {
		return fault.New(engine.CodeInvalidValue, "audio", "the turn, or what is not transcribed, would be longer than %v (realtime.audio); commit or clear the buffer", most)
	}
	return nil
}

// appendAudio takes sound.
func (s *session) appendAudio(o *body.Object) error {
	text := need(o, "audio")
	if err := s.api.Finish(s.c, o); err != nil {
		return err
	}
	d, err := s.detector()
	if err != nil {
		return err
	}
	b, e := decodeSound(text, s.cfg.in, "audio")
	if e != nil {
		return e
	}
	s.ear.listen(&s.cfg, d)
	if s.ear.turns == nil {
		if err := s.holds(len(b)); err != nil {
			return err
		}
	}
	for len(b) > 0 {
		n := min(len(b), convertBytes)
		s.ear.audio = convert(s.ear.audio, s.ear.conv, b[:n], s.cfg.in)
		b = b[n:]
		if s.ear.turns == nil {
			if s.turn == nil && s.follows() {
				s.follow()
			}
			if s.turn != nil {
				s.pass(s.ear.end())
			}
			continue
		}
		s.listen()
		if s.held() <= samplesOf(s.api.Options.Realtime.Audio) {
			continue
		}
		if !s.ear.turns.Speaking {
			return s.holds(len(b))
		}
		s.endTurn() // who never pauses is answered all the same
	}
	return nil
}

// listen has the detector hear what it has not heard.
func (s *session) listen() {
	e := &s.ear
	for e.end()-e.heard >= engine.Hop {
		at := e.heard - e.start
		now := e.turns.Hear(e.audio[at : at+engine.Hop])
		e.heard += engine.Hop
		switch now {
		case audio.Began:
			e.forget(e.heard - audio.LoudHops*engine.Hop - samplesIn(e.set.Prefix))
			s.beginTurn()
		case audio.Ended:
			s.endTurn()
		}
	}
	switch {
	case !e.turns.Speaking:
		e.forget(e.heard - audio.LoudHops*engine.Hop - samplesIn(e.set.Prefix))
	case s.turn != nil:
		s.pass(e.heard)
	}
}

// beginTurn sends that speech has begun, which may end the reply under way.
func (s *session) beginTurn() {
	if s.turn == nil {
		s.ear.item = reqlog.NewID("item_")
		if s.follows() {
			s.follow()
		}
	}
	start := milliseconds(s.ear.start)
	s.emit(event{Type: "input_audio_buffer.speech_started", AudioStart: &start, ItemID: s.ear.item})
	s.owed = false // the turn that begins is answered instead
	if r := s.resp; r != nil && s.cfg.turns.Interrupt && !r.apart {
		r.finish("cancelled", object{"type": "cancelled", "reason": "turn_detected"})
	}
}

// endTurn makes an item of the turn and may answer it.
func (s *session) endTurn() {
	e := &s.ear
	e.turns.Stop()
	stop := milliseconds(e.heard)
	s.emit(event{Type: "input_audio_buffer.speech_stopped", AudioEnd: &stop, ItemID: e.item})
	// What the detector has not heard is of the next turn.
	var sound []float32
	if s.turn != nil {
		s.pass(e.heard)
	} else {
		rest := append([]float32(nil), e.audio[e.heard-e.start:]...)
		sound = append(sound, e.audio[:e.heard-e.start]...)
		e.audio, e.start = rest, e.heard
	}
	if err := s.commit(sound); err != nil {
		s.fail(s.failure(s.ctx, err), "")
		return
	}
	if s.cfg.listens || !s.cfg.turns.Create {
		return
	}
	if s.resp != nil {
		s.owed = true
		return
	}
	s.answerTurn()
}

// answerTurn answers a turn whose end was found here.
func (s *session) answerTurn() {
	s.owed = false
	if err := s.respond(&response{cfg: s.cfg, auto: true}); err != nil {
		s.fail(s.failure(s.ctx, err), "")
	}
}

// leastTurn is the shortest sound a client may commit: 100 ms.
const leastTurn = engine.HearingRate / 10

// commitAudio ends a turn for the client.
func (s *session) commitAudio(o *body.Object) error {
	if err := s.api.Finish(s.c, o); err != nil {
		return err
	}
	s.ear.settle()
	n := len(s.ear.audio)
	if s.turn != nil {
		n += s.turn.samples
	}
	if n < leastTurn {
		return fault.New("input_audio_buffer_commit_empty", "", "the buffer holds %d ms of sound, and a turn has 100 at least; append more first", milliseconds(n))
	}
	var sound []float32
	if s.turn == nil && s.follows() {
		s.follow()
	}
	if s.turn != nil {
		s.pass(s.ear.end())
	} else {
		sound = s.ear.take(s.ear.start)
	}
	if s.ear.turns != nil {
		s.ear.turns.Stop()
		s.ear.heard = s.ear.end()
	}
	return s.commit(sound)
}

// clearAudio forgets what was not committed.
func (s *session) clearAudio(o *body.Object) error {
	if err := s.api.Finish(s.c, o); err != nil {
		return err
	}
	s.ear.settle()
	s.ear.forget(s.ear.end())
	s.drop()
	s.ear.item = ""
	if s.ear.turns != nil {
		s.ear.turns.Stop()
		s.ear.heard = s.ear.end()
	}
	s.emit(event{Type: "input_audio_buffer.cleared"})
	return nil
}

// commit makes a turn an item of the speaker's: the one that was followed, or this sound.
func (s *session) commit(sound []float32) error {
	it := newItem(s.ear.item, itemMessage)
	s.ear.item = ""
	it.role, it.parts = chat.RoleUser, []part{{kind: "input_audio"}}
	if s.turn != nil {
		it = s.turn.it
	}
	if s.cfg.listens { // which keeps no conversation, but for the item that the next comes behind
		s.items = s.items[max(len(s.items)-1, 0):]
	} else if err := s.room(it); err != nil {
		s.drop()
		return err
	}
	s.turns++
	at := len(s.items)
	s.emit(event{Type: "input_audio_buffer.committed", ItemID: it.id, Previous: s.before(at)})
	s.insert(it, at)
	s.finished(it)
	if s.turn == nil {
		s.transcribe(it, sound)
		return nil
	}
	it.ended = time.Now()
	s.turn.feed.Close(nil)
	s.turn = nil
	return nil
}

// transcribe writes down the sound of an item, after those before it.
func (s *session) transcribe(it *item, sound []float32) {
	before, cfg := s.writing, s.cfg
	it.ended, it.written = time.Now(), make(chan struct{})
	s.writing = it.written
	s.waiting += len(sound)
	s.wg.Go(func() {
		if before != nil {
			select {
			case <-before:
			case <-s.ctx.Done():
				return
			}
		}
		t, err := s.hear(it, &cfg.ear, cfg.listens || cfg.ear.asked, sound)
		s.main(s.ctx, func() {
			s.waiting -= len(sound)
			s.written(it, &cfg, t, err)
		})
	})
}

// hear has the recogniser write down sound, and tells of the text as it comes.
func (s *session) hear(it *item, h *hearing, tell bool, sound []float32) (t *transcript.Transcript, err error) {
	defer fault.Recovered(&err)
	lease, err := s.api.Open(s.ctx, h.model, engine.KindTranscription)
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	r := h.request()
	r.Source = new(samples(sound))
	zero, first := 0, true
	return audio.Hear(s.ctx, s.api.API, lease, r, func(seg engine.Segment) error {
		text := seg.Text
		if first {
			text, first = strings.TrimLeft(text, " "), false
		}
		if !tell || text == "" {
			return nil
		}
		e := event{Type: "conversation.item.input_audio_transcription.delta", ItemID: it.id, Content: &zero, Delta: text}
		if h.logprobs {
			e.Logprobs = transcript.Logprobs(seg)
		}
		return s.main(s.ctx, func() { s.emit(e) })
	})
}

// request is what a recogniser is asked for.
func (h *hearing) request() (r engine.TranscribeRequest) {
	r.Language, r.Prompt, r.Keywords, r.Logprobs = h.language, h.prompt, h.keywords, h.logprobs
	return r
}

// written takes the text of an item's sound, or why there is none.
func (s *session) written(it *item, cfg *config, t *transcript.Transcript, err error) {
	it.known = time.Now()
	zero := 0
	for i := range it.parts {
		if it.parts[i].kind == "input_audio" && !it.parts[i].known {
			zero = i
		}
	}
	p := &it.parts[zero]
	p.known = true
	defer close(it.written)
	tell := cfg.listens || cfg.ear.asked
	if err != nil {
		it.failure = s.failure(s.ctx, err)
		if it.failure == nil {
			it.failure = fault.Internal(context.Cause(s.ctx))
		}
		if tell {
			s.emit(event{Type: "conversation.item.input_audio_transcription.failed", ItemID: it.id, Content: &zero, Error: errorObject(it.failure)})
		}
		return
	}
	p.text = t.Text
	s.api.Metrics.Leg("transcription", it.known.Sub(it.ended))
	if tell {
		e := event{Type: "conversation.item.input_audio_transcription.completed", ItemID: it.id, Content: &zero, Transcript: &p.text, Usage: t.Usage()}
		if cfg.ear.logprobs {
			e.Logprobs = transcript.Logprobs(t.Segments...)
		}
		s.emit(e)
	}
}
