package realtime

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/internal/turn"
)

// A response is a reply under way. Its methods but for those of work are for the
// session's goroutine.
type response struct {
	s        *session
	id       string
	cfg      config
	input    []*item // what is answered
	apart    bool    // it stays out of the conversation
	auto     bool    // it answers a turn whose end was found here
	metadata json.RawMessage

	cancel context.CancelFunc
	over   bool

	items   []*item // of the output
	message *item   // of them; nil before the first word
	at      int     // its index
	text    strings.Builder
	call    *item // under way
	callAt  int
	args    strings.Builder

	used  turn.Tally
	times times
}

// start tells of the response and begins the work, after that of the one before.
func (r *response) start(s *session) {
	r.s, r.id = s, reqlog.NewID("resp_")
	r.times.ended = time.Now()
	ctx, cancel := context.WithCancel(s.ctx)
	r.cancel = cancel
	before, done := s.working, make(chan struct{})
	s.working = done
	s.emit(event{Type: "response.created", Response: r.spell(inProgress, null)})
	s.wg.Go(func() {
		defer close(done)
		defer cancel()
		if before != nil {
			<-before // it was cancelled, and ends soon
		}
		status, details := r.safely(ctx)
		s.main(ctx, func() { r.finish(status, details) })
	})
}

// add puts an item of the output where it belongs.
func (r *response) add(it *item) (index int) {
	it.status = inProgress
	r.items = append(r.items, it)
	index = len(r.items) - 1
	s := r.s
	s.emit(event{Type: "response.output_item.added", ResponseID: r.id, Output: &index, Item: it.spell(s.beta)})
	if !r.apart {
		s.insert(it, len(s.items))
	}
	return index
}

// close ends an item of the output.
func (r *response) close(it *item, index int, status string) {
	s := r.s
	it.status = status
	s.emit(event{Type: "response.output_item.done", ResponseID: r.id, Output: &index, Item: it.spell(s.beta)})
	if !r.apart {
		s.finished(it)
	}
}

// part is an event about the content of the message.
func (r *response) part(kind string) event {
	zero := 0
	return event{Type: kind, ResponseID: r.id, ItemID: r.message.id, Output: &r.at, Content: &zero}
}

// partObject is the content as events about it spell it.
func (r *response) partObject() object {
	if r.cfg.sound {
		return object{"type": "audio", "transcript": r.text.String()}
	}
	return object{"type": "text", "text": r.text.String()}
}

// kind is what the content of the message is.
func (r *response) kind() string {
	if r.cfg.sound {
		return "output_audio"
	}
	return "output_text"
}

// say adds words of the reply.
func (r *response) say(text string) {
	if r.over || text == "" {
		return
	}
	r.first()
	if r.message == nil {
		r.message = newItem("", itemMessage)
		r.message.role = chat.RoleAssistant
		r.at = r.add(r.message)
		r.message.parts = []part{{kind: r.kind(), known: true}}
		e := r.part("response.content_part.added")
		e.Part = r.partObject()
		r.s.emit(e)
	}
	r.text.WriteString(text)
	r.message.parts[0].text = r.text.String()
	name := "response.output_text.delta"
	if r.cfg.sound {
		name = "response.output_audio_transcript.delta"
	}
	e := r.part(name)
	e.Delta = text
	r.s.emit(e)
}

// first notes the first token.
func (r *response) first() {
	if r.times.token.IsZero() {
		r.times.token = time.Now()
	}
}

// sound sends sound of the message, which lasts for ms then, and says how far it goes.
func (r *response) sound(b []byte, ms int, marks []mark) {
	if r.over || r.message == nil {
		return
	}
	p := &r.message.parts[0]
	p.marks, p.ms = append(p.marks, marks...), ms
	if len(b) == 0 {
		return
	}
	if r.times.sound.IsZero() {
		r.times.sound = time.Now()
	}
	e := r.part("response.output_audio.delta")
	e.Delta = base64.StdEncoding.EncodeToString(b)
	r.s.emit(e)
}

// called takes an event of a call.
func (r *response) called(ev engine.Event) {
	if r.over {
		return
	}
	r.first()
	switch ev.Type {
	case engine.CallStart:
		r.call = newItem("", itemCall)
		r.call.name, r.call.callID = ev.Name, ev.CallID
		r.args.Reset()
		r.callAt = r.add(r.call)
	case engine.CallDelta:
		if r.call == nil || ev.Text == "" {
			return
		}
		r.args.WriteString(ev.Text)
		r.call.text = r.args.String()
		r.s.emit(event{Type: "response.function_call_arguments.delta", ResponseID: r.id, ItemID: r.call.id, Output: &r.callAt, CallID: r.call.callID, Delta: ev.Text})
	case engine.CallEnd:
		if r.call != nil {
			r.endCall(completed)
		}
	}
}

// endCall ends the call under way.
func (r *response) endCall(status string) {
	c := r.call
	r.call = nil
	args := r.args.String()
	c.text = args
	r.s.emit(event{Type: "response.function_call_arguments.done", ResponseID: r.id, ItemID: c.id, Output: &r.callAt, CallID: c.callID, Name: c.name, Arguments: &args})
	r.close(c, r.callAt, status)
}

// finish ends the response, once.
func (r *response) finish(status string, details any) {
	if r.over {
		return
	}
	r.over = true
	r.cancel()
	s := r.s
	end := completed
	if status != completed {
		end = incomplete
	}
	if r.message != nil {
		text := r.text.String()
		if r.cfg.sound {
			s.emit(r.part("response.output_audio.done"))
			e := r.part("response.output_audio_transcript.done")
			e.Transcript = &text
			s.emit(e)
		} else {
			e := r.part("response.output_text.done")
			e.Text = &text
			s.emit(e)
		}
		e := r.part("response.content_part.done")
		e.Part = r.partObject()
		s.emit(e)
		r.close(r.message, r.at, end)
	}
	if r.call != nil {
		r.endCall(incomplete)
	}
	s.promptTokens += r.used.PromptTokens
	s.newTokens += r.used.OutputTokens
	s.c.Spend(r.used.PromptTokens + r.used.OutputTokens)
	s.api.Metrics.Responded(status)
	r.times.note(s.api.Metrics)
	s.emit(event{Type: "response.done", Response: r.spell(status, details)})
	if s.resp == r {
		s.resp = nil
	}
	if s.owed && s.resp == nil {
		s.answerTurn()
	}
}

// failed is the status of a response that failed.
func (r *response) failed(ctx context.Context, err error) (status string, details any) {
	e := r.s.failure(ctx, err)
	if e == nil { // the client left
		e = fault.Internal(err)
	}
	return "failed", object{"type": "failed", "error": errorObject(e)}
}
