package realtime

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/live"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/transcript"
)

// steps are the seconds of new sound before a turn under way is transcribed again, by the
// delay that clients ask for.
var steps = map[string]float64{"minimal": 0.5, "low": 1, "medium": 2, "high": 3, "xhigh": 5}

const usualDelay = "low"

// A following is a turn under way that is transcribed as it comes.
type following struct {
	it      *item
	cfg     config
	feed    *live.Feed
	stop    context.CancelFunc
	samples int  // so far
	dropped bool // cleared, so that nothing is told of it
}

// follows reports whether turns that begin now are transcribed as they come.
func (s *session) follows() bool {
	return s.api.Options.Realtime.Step > 0 && (s.cfg.listens || s.cfg.ear.delay != "")
}

// follow begins to transcribe the turn that begins, after those before it.
func (s *session) follow() {
	it := newItem(s.ear.item, itemMessage)
	it.role, it.parts = chat.RoleUser, []part{{kind: "input_audio"}}
	it.written = make(chan struct{})
	s.ear.item = it.id
	ctx, stop := context.WithCancel(s.ctx)
	f := &following{it: it, cfg: s.cfg, feed: live.NewFeed(0), stop: stop}
	before, detector := s.writing, s.ear.detector
	s.writing, s.turn = it.written, f
	s.followed = append(s.followed, f)
	s.wg.Go(func() {
		defer stop()
		if before != nil {
			select {
			case <-before:
			case <-ctx.Done():
			}
		}
		t, err := s.attend(ctx, f, detector)
		if err != nil { // of which is told when the turn ends
			f.feed.Drain(ctx)
		}
		s.main(s.ctx, func() {
			s.followed = slices.DeleteFunc(s.followed, func(other *following) bool { return other == f })
			if f.dropped {
				close(it.written)
				return
			}
			s.written(it, &f.cfg, t, err)
		})
	})
}

// pass hands the turn the sound up to a sample.
func (s *session) pass(to int) {
	e := &s.ear
	x := e.audio[:max(to-e.start, 0)]
	s.turn.samples += len(x)
	_ = s.turn.feed.Write(s.ctx, x) // which does not wait: holds bounds it
	e.forget(to)
}

// drop ends the turn as if it had not been.
func (s *session) drop() {
	if s.turn != nil {
		s.turn.dropped = true
		s.turn.stop()
		s.turn = nil
	}
}

// attend writes a turn down as it comes.
func (s *session) attend(ctx context.Context, f *following, d engine.Detector) (t *transcript.Transcript, err error) {
	defer fault.Recovered(&err)
	h := &f.cfg.ear
	tell := f.cfg.listens || h.asked
	step := max(steps[cmp.Or(h.delay, usualDelay)], s.api.Options.Realtime.Step.Seconds())
	zero, segment := 0, engine.Segment{}
	return audio.Follow(ctx, s.api.API, audio.OnDemand{API: s.api.API, Model: h.model}, f.feed, live.Options{Request: h.request(), Detector: d, Step: step}, func(u live.Update) error {
		if !tell {
			return nil
		}
		var events []event
		if u.Text != "" {
			e := event{Type: "conversation.item.input_audio_transcription.delta", ItemID: f.it.id, Content: &zero, Delta: u.Text}
			if h.logprobs {
				e.Logprobs = transcript.Logprobs(u.Segment)
			}
			events = append(events, e)
			if segment.Text == "" {
				segment.Start = u.Start
			}
			segment.Text, segment.End = segment.Text+u.Text, u.End
		}
		if text := strings.TrimSpace(segment.Text); u.Final && text != "" {
			from, to := transcript.Round(segment.Start), transcript.Round(segment.End)
			segment = engine.Segment{}
			events = append(events, event{Type: "conversation.item.input_audio_transcription.segment", ID: reqlog.NewID("seg_"), ItemID: f.it.id, Content: &zero,
				Text: &text, Speaker: new(string), Start: &from, End: &to})
		}
		return s.main(ctx, func() {
			for _, e := range events {
				if !f.dropped {
					s.emit(e)
				}
			}
		})
	})
}
