package responses

import (
	"slices"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/turn"
)

// A reply puts a response together from the events of a turn, and sends its own events of that. It
// is a turn.Spelling; a reply without a stream is put together all the same.
type reply struct {
	object   object
	tally    *turn.Tally
	logprobs bool
	top      int
	sealed   bool

	tell func(name string, event any) error // nil without a stream
	save func(object) bool                  // keeps the response when it is over, before its last event is sent; may be nil
	last func() error                       // ends the stream; may be nil

	number int   // of the next event
	open   *item // under way; nil between items
	text   strings.Builder
	early  []ask.Logprob // of words that did not come yet
	reason string        // why the turn ended
}

func newReply(r *request) *reply {
	return &reply{object: r.object, logprobs: r.Logprobs, top: r.Top, sealed: r.sealed}
}

// send sends one event, which make makes with its head.
func (r *reply) send(name string, make func(head) any) error {
	if r.tell == nil {
		return nil
	}
	h := head{name, r.number}
	r.number++
	return r.tell(name, make(h))
}

// state sends an event with the response so far.
func (r *reply) state(name string) error {
	return r.send(name, func(h head) any { return responseEvent{h, &r.object} })
}

// Begin implements turn.Spelling.
func (r *reply) Begin() error {
	if err := r.state("response.created"); err != nil {
		return err
	}
	return r.state("response.in_progress")
}

// Event implements turn.Spelling.
func (r *reply) Event(ev turn.Event) error {
	switch ev.Type {
	case engine.Delta:
		return r.say(ev)
	case engine.ReasoningDelta:
		return r.think(ev.Text)
	case engine.CallStart:
		it := newItem("", itemCall)
		it.callID, it.name = ev.CallID, ev.Name
		return r.begin(it)
	case engine.CallDelta:
		if r.open == nil || r.open.kind != itemCall || ev.Text == "" {
			return nil
		}
		r.text.WriteString(ev.Text)
		return r.send("response.function_call_arguments.delta", func(h head) any {
			return argumentsDelta{h, r.open.id, r.at(), ev.Text}
		})
	case engine.CallEnd:
		if r.open == nil || r.open.kind != itemCall {
			return nil
		}
		return r.close(completed)
	case engine.Finish:
		r.reason = ev.Reason
	}
	return nil
}

// at is the index of the item under way.
func (r *reply) at() int { return len(r.object.Output) }

func (r *reply) place() place { return place{ItemID: r.open.id, Output: r.at()} }

// into makes the item under way one of a kind.
func (r *reply) into(kind string) error {
	if r.open != nil && r.open.kind == kind {
		return nil
	}
	it := newItem("", kind)
	if kind == itemMessage {
		it.role = "assistant"
	}
	return r.begin(it)
}

// say adds text. Tokens that are no part of it have no log-probabilities; those that come before
// their text wait for it.
func (r *reply) say(ev turn.Event) error {
	if r.logprobs {
		words := slices.DeleteFunc(slices.Clone(ev.Logprobs), func(l engine.Logprob) bool { return l.Aside })
		r.early = append(r.early, ask.Logprobs(words, r.top)...)
	}
	if ev.Text == "" {
		return nil
	}
	probs := r.early
	r.early = nil
	if err := r.into(itemMessage); err != nil {
		return err
	}
	r.text.WriteString(ev.Text)
	p := &r.open.parts[0]
	p.logprobs = append(p.logprobs, probs...)
	return r.send("response.output_text.delta", func(h head) any { return textDelta{h, r.place(), ev.Text, orEmpty(probs)} })
}

// think adds thinking.
func (r *reply) think(text string) error {
	if text == "" {
		return nil
	}
	if err := r.into(itemReasoning); err != nil {
		return err
	}
	r.text.WriteString(text)
	return r.send("response.reasoning_text.delta", func(h head) any { return thoughtDelta{h, r.place(), text} })
}

// begin ends the item under way and begins another.
func (r *reply) begin(it *item) error {
	if err := r.leaveOff(completed); err != nil {
		return err
	}
	r.open = it
	it.status = inProgress
	r.text.Reset()
	if err := r.send("response.output_item.added", func(h head) any { return itemEvent{h, r.at(), it.spell()} }); err != nil {
		return err
	}
	switch it.kind {
	case itemMessage:
		it.parts = []part{{kind: "output_text"}}
	case itemReasoning:
		it.sealed = r.sealed
	default:
		return nil
	}
	return r.send("response.content_part.added", func(h head) any { return partEvent{h, r.place(), r.part()} })
}

// part is the content of the item under way.
func (r *reply) part() any {
	if r.open.kind == itemMessage {
		return r.open.parts[0].spell()
	}
	return textPart{"reasoning_text", r.open.text}
}

// leaveOff ends the item under way with a status. A call has ended before, if it is whole.
func (r *reply) leaveOff(status string) error {
	if r.open != nil && r.open.kind == itemCall {
		status = incomplete
	}
	return r.close(status)
}

// close ends the item under way, if there is one, with a status.
func (r *reply) close(status string) error {
	it := r.open
	if it == nil {
		return nil
	}
	if err := r.fill(status); err != nil {
		return err
	}
	it.status = status
	err := r.send("response.output_item.done", func(h head) any { return itemEvent{h, r.at(), it.spell()} })
	r.object.Output = append(r.object.Output[:r.at():r.at()], it.keep())
	r.open = nil
	return err
}

// fill sets the content of the item under way, and sends that it is whole. Arguments that
// are not whole have no such event.
func (r *reply) fill(status string) error {
	it, text := r.open, r.text.String()
	var err error
	switch it.kind {
	case itemMessage:
		it.parts[0].text = text
		err = r.send("response.output_text.done", func(h head) any { return textDone{h, r.place(), text, orEmpty(it.parts[0].logprobs)} })
	case itemReasoning:
		it.text = text
		err = r.send("response.reasoning_text.done", func(h head) any { return thoughtDone{h, r.place(), text} })
	case itemCall:
		it.text = text
		if status == completed {
			err = r.send("response.function_call_arguments.done", func(h head) any { return argumentsDone{h, it.id, r.at(), it.name, text} })
		}
		return err
	}
	if err != nil {
		return err
	}
	return r.send("response.content_part.done", func(h head) any { return partEvent{h, r.place(), r.part()} })
}

// End implements turn.Spelling.
func (r *reply) End() error {
	status := completed
	if r.reason == engine.ReasonLength {
		status = incomplete
	}
	if r.open == nil && len(r.object.Output) == 0 && status == completed {
		if err := r.into(itemMessage); err != nil { // the reply is empty
			return err
		}
	}
	if err := r.leaveOff(status); err != nil {
		return err
	}
	if status == incomplete {
		r.object.Incomplete = &reason{"max_output_tokens"}
	}
	r.object.Usage = newUsage(*r.tally)
	return r.over(status)
}

// over ends the response with a status.
func (r *reply) over(status string) error {
	r.object.end(status)
	if r.save != nil && !r.save(r.object) {
		r.object.Store = false
	}
	name := status
	if status == cancelled { // there is no event of this name
		name = incomplete
	}
	err := r.state("response." + name)
	if err == nil && r.last != nil {
		err = r.last()
	}
	return err
}

// fail ends the response with a failure. Items that are not whole are left out of it.
func (r *reply) fail(e *fault.Error) error {
	if err := r.leave(); err != nil {
		return err
	}
	r.object.Error = &failure{"server_error", e.Message}
	if e.Status < 500 {
		r.object.Error.Code = "invalid_prompt"
	}
	if err := r.send("error", func(h head) any { return errorEvent{h, r.object.Error.Code, e.Message, orNil(e.Param)} }); err != nil {
		return err
	}
	return r.over(failed)
}

// cancel ends a response that its client wants no more.
func (r *reply) cancel() error {
	if err := r.leave(); err != nil {
		return err
	}
	return r.over(cancelled)
}

// leave drops the item under way.
func (r *reply) leave() error {
	if r.open == nil {
		return nil
	}
	err := r.fill(incomplete)
	r.open = nil
	return err
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
