package textgen

import (
	"math"
	"slices"

	"quern/engine"
	"quern/engine/token"
	"quern/engine/wire"
)

// A hearing reads the tokens of one reply as thinking, content and calls. Without a
// reader there is only content.
type hearing struct {
	reader  *wire.Reader
	vocab   *token.Vocab
	symbols map[token.ID]string
	one     bool // the first call is the last
	silent  bool // there are no words: what looks like some is a call's marker, cut off

	told    []engine.Event // what comes before the content that is ready
	waiting []int          // bytes of each token nothing was told of
	thought int            // tokens of thinking
	calls   int            // that are whole
}

// untold is the place of an entry of which nothing was told yet.
const untold = math.MaxInt

// idle reports whether an entry at start is of no content that waits: thinking and calls
// wait for nothing but the content before them.
func (q *reply) idle(start int) bool {
	return q.reader != nil && start == q.base && len(q.buf) == 0 && q.stop == ""
}

// hear begins to read a reply.
func (l *listening) hear(v *token.Vocab) hearing {
	if l == nil {
		return hearing{}
	}
	return hearing{reader: l.symbols.syntax.NewReader(l.options), vocab: v, symbols: l.symbols.spellings, one: l.one, silent: l.silent}
}

// read takes a token of so many bytes. Those that are neither text nor a marker say nothing,
// as in plain text, and have none; nor has a marker of one token, which is nothing else.
func (h *hearing) read(id token.ID) (events []wire.Event, bytes int) {
	if spelling, ok := h.symbols[id]; ok {
		return h.reader.Special(spelling), 0
	}
	if k := h.vocab.Kind(id); k == token.Control || k == token.Unknown {
		return nil, 0
	}
	text := h.vocab.Bytes(id)
	return h.reader.Write(text), len(text)
}

// follow is read, and counts the tokens of thinking. Those of the markers around it are not
// among them.
func (h *hearing) follow(id token.ID) []wire.Event {
	before, _ := h.reader.Thinking()
	events, bytes := h.read(id)
	h.waiting = append(h.waiting, bytes)
	h.count(events)
	if now, _ := h.reader.Thinking(); now && !before {
		h.waiting = h.waiting[:0]
	}
	return events
}

// count says of the tokens nothing was told of before events whether they are thinking. The
// last of them may still wait: all their bytes are held back, as a marker may begin with them.
func (h *hearing) count(events []wire.Event) {
	if len(events) == 0 {
		return
	}
	told, held := len(h.waiting), h.reader.Held()
	for told > 0 && h.waiting[told-1] > 0 && h.waiting[told-1] <= held {
		told--
		held -= h.waiting[told]
	}
	if events[len(events)-1].Kind == wire.Reasoning {
		h.thought += told
	}
	h.waiting = append(h.waiting[:0], h.waiting[told:]...)
}

// end ends the reply with the token that ended it, if one did: it may be a marker.
func (h *hearing) end(stop token.ID) (events []wire.Event) {
	if spelling, ok := h.symbols[stop]; ok {
		events = append(events, h.reader.Special(spelling)...)
	}
	events = append(events, h.reader.Close()...)
	h.count(events)
	return events
}

// hear takes what was read. Content goes on as text; what is told beside it ends what
// might have become a stop string.
func (q *reply) hear(events []wire.Event) {
	if q.silent {
		events = slices.DeleteFunc(events, func(e wire.Event) bool { return e.Kind == wire.Content })
	}
	if len(events) == 0 {
		return
	}
	q.place(events)
	for _, e := range events {
		if q.stopped {
			return
		}
		ev := engine.Event{Text: e.Text, Call: e.Call}
		switch e.Kind {
		case wire.Content:
			before := len(q.buf)
			q.buf = append(q.buf, e.Text...)
			q.match(before)
			continue
		case wire.Reasoning:
			ev.Type = engine.ReasoningDelta
		case wire.CallStart:
			ev.Type, ev.CallID, ev.Name = engine.CallStart, e.ID, e.Name
		case wire.CallDelta:
			ev.Type = engine.CallDelta
		case wire.CallEnd:
			ev.Type = engine.CallEnd
			q.calls++
			q.stopped = q.one
		}
		if len(q.buf) > 0 {
			q.told = append(q.told, engine.Event{Type: engine.Delta, Text: string(q.buf)})
			q.base += len(q.buf)
			q.buf, q.ready = q.buf[:0], 0
		}
		q.tell(ev)
	}
}

// place says where the text of tokens is of which nothing was told before events: counted
// from the end where that is all content. Those before it are no part of the text.
func (q *reply) place(events []wire.Event) {
	from := q.base + len(q.buf)
	to := from
	for _, e := range events {
		if to += len(e.Text); e.Kind != wire.Content {
			to = from
			break
		}
	}
	for i := len(q.entries) - 1; i >= 0 && q.entries[i].start == untold; i-- {
		e := &q.entries[i]
		e.Aside = to == from
		to = max(from, to-len(e.Bytes))
		e.start = to
	}
}

// tell adds an event; deltas of one kind become one.
func (q *reply) tell(ev engine.Event) {
	if n := len(q.told); n > 0 && (ev.Type == engine.ReasoningDelta || ev.Type == engine.CallDelta) {
		if last := &q.told[n-1]; last.Type == ev.Type && last.Call == ev.Call {
			last.Text += ev.Text
			return
		}
	}
	q.told = append(q.told, ev)
}

// events returns what may be told and was not yet, the log-probabilities with the first
// of the text or before.
func (q *reply) events() []engine.Event {
	told := q.told
	text, entries := q.take()
	if text != "" {
		told = append(told, engine.Event{Type: engine.Delta, Text: text})
	}
	if len(entries) > 0 {
		if len(told) == 0 || told[0].Type != engine.Delta {
			told = append([]engine.Event{{Type: engine.Delta}}, told...)
		}
		told[0].Logprobs = entries
	}
	q.told = nil
	return told
}
