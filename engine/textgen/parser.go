package textgen

import (
	"math"
	"slices"

	"quern/engine"
	"quern/engine/token"
	"quern/engine/wire"
)

// A parser parses the tokens of one reply into thinking, content and calls. Without a
// reader there is only content.
type parser struct {
	reader  *wire.Reader
	vocab   *token.Vocab
	symbols map[token.ID]string
	one     bool // the first call is the last
	silent  bool // the reply has no content: bytes read as such are of a call's marker, cut off

	parsed  []engine.Event // those before the content that is ready
	waiting []int          // bytes of each token that no event covers yet
	thought int            // tokens of thinking
	calls   int            // that are whole
}

// unplaced is the start of an entry whose token no event covers yet.
const unplaced = math.MaxInt

// idle reports whether no content before an entry at start waits: entries of thinking and calls
// are ready once the content before them is.
func (q *reply) idle(start int) bool {
	return q.reader != nil && start == q.base && len(q.buf) == 0 && q.stop == ""
}

// newParser returns the parser of one reply.
func (l *answerFormat) newParser(v *token.Vocab) parser {
	if l == nil {
		return parser{}
	}
	return parser{reader: l.symbols.syntax.NewReader(l.options), vocab: v, symbols: l.symbols.spellings, one: l.one, silent: l.silent}
}

// read parses a token; bytes is the length of its text. A token that is neither text nor a
// marker has no events and no text, as in plain text; a marker of one token has no text.
func (h *parser) read(id token.ID) (events []wire.Event, bytes int) {
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
func (h *parser) follow(id token.ID) []wire.Event {
	before, _ := h.reader.Thinking()
	events, bytes := h.read(id)
	h.waiting = append(h.waiting, bytes)
	h.count(events)
	if now, _ := h.reader.Thinking(); now && !before {
		h.waiting = h.waiting[:0]
	}
	return events
}

// count counts the waiting tokens that events cover, if they are thinking. The last of them may
// still wait: all their bytes are held back, since a marker may begin with them.
func (h *parser) count(events []wire.Event) {
	if len(events) == 0 {
		return
	}
	covered, held := len(h.waiting), h.reader.Held()
	for covered > 0 && h.waiting[covered-1] > 0 && h.waiting[covered-1] <= held {
		covered--
		held -= h.waiting[covered]
	}
	if events[len(events)-1].Kind == wire.Reasoning {
		h.thought += covered
	}
	h.waiting = append(h.waiting[:0], h.waiting[covered:]...)
}

// end ends the reply with the token that ended it, if one did: it may be a marker.
func (h *parser) end(stop token.ID) (events []wire.Event) {
	if spelling, ok := h.symbols[stop]; ok {
		events = append(events, h.reader.Special(spelling)...)
	}
	events = append(events, h.reader.Close()...)
	h.count(events)
	return events
}

// handle adds parsed events. Content is matched against stop strings; any other event between
// two contents ends a partial match.
func (q *reply) handle(events []wire.Event) {
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
			q.parsed = append(q.parsed, engine.Event{Type: engine.Delta, Text: string(q.buf)})
			q.base += len(q.buf)
			q.buf, q.ready = q.buf[:0], 0
		}
		q.add(ev)
	}
}

// place sets the start of entries whose tokens events cover, counted from the end of the text
// where these are all content. Other tokens are no part of the text.
func (q *reply) place(events []wire.Event) {
	from := q.base + len(q.buf)
	to := from
	for _, e := range events {
		if to += len(e.Text); e.Kind != wire.Content {
			to = from
			break
		}
	}
	for i := len(q.entries) - 1; i >= 0 && q.entries[i].start == unplaced; i-- {
		e := &q.entries[i]
		e.Aside = to == from
		to = max(from, to-len(e.Bytes))
		e.start = to
	}
}

// add adds an event; deltas of one kind become one.
func (q *reply) add(ev engine.Event) {
	if n := len(q.parsed); n > 0 && (ev.Type == engine.ReasoningDelta || ev.Type == engine.CallDelta) {
		if last := &q.parsed[n-1]; last.Type == ev.Type && last.Call == ev.Call {
			last.Text += ev.Text
			return
		}
	}
	q.parsed = append(q.parsed, ev)
}

// events returns the events that are ready and were not returned yet, with the log-probabilities
// in the first of the text or before.
func (q *reply) events() []engine.Event {
	ready := q.parsed
	text, entries := q.take()
	if text != "" {
		ready = append(ready, engine.Event{Type: engine.Delta, Text: text})
	}
	if len(entries) > 0 {
		if len(ready) == 0 || ready[0].Type != engine.Delta {
			ready = append([]engine.Event{{Type: engine.Delta}}, ready...)
		}
		ready[0].Logprobs = entries
	}
	q.parsed = nil
	return ready
}
