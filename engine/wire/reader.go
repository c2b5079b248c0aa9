package wire

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"unicode/utf8"
)

// Bounds of one reply.
const (
	MaxHeld  = 64 << 10 // bytes held back while it is undecided what they are
	MaxValue = 1 << 20  // bytes of one argument whose type is known at its end only
	MaxDepth = 64       // of values inside values
	MaxCalls = 128
	MaxName  = 256 // of a tool, an argument or an id
)

// maxGap is the white space that is waited behind.
const maxGap = 1 << 10

// maxHeader is the longest header of a message.
const maxHeader = 512

// A Tool is the part of a tool that a reader needs.
type Tool struct {
	Name       string
	Parameters json.RawMessage // JSON Schema; may be empty
}

// Options of a Reader. The zero value works.
type Options struct {
	// Prompt is the end of the prompt, as the template printed it behind the
	// last turn: it decides whether thinking is open already, and where a
	// message stands.
	Prompt string
	Tools  []Tool
	// NoCalls says that calls are text: the client gave no tools.
	NoCalls bool
	// JSON says that the content is one JSON value; a code fence around it is
	// no part of it.
	JSON bool
	// Form says how content is read that a grammar holds to a form.
	Form Form
	// NoThinking says that thinking is not opened: its markers are content. It
	// is for replies that have a Form.
	NoThinking bool
	// ShortIDs asks for ids of nine letters and digits.
	ShortIDs bool
	// Random returns random numbers for the ids of calls that have none of
	// their own; nil is math/rand's.
	Random func() uint64
}

// region is where a reader is.
type region uint8

const (
	inContent region = iota
	inThinking
	inCall
	inGap    // between the calls of a section
	inSkip   // after a call that went wrong
	inHeader // of a message
	inAfter  // after a message
	inHidden
)

// A Reader reads one reply. The same text gives the same reply however it is
// cut.
type Reader struct {
	*Syntax
	opt   Options
	tools map[string]*tool

	pending []byte // the beginning of a character
	in      []byte // bytes that are not consumed yet
	last    bool   // nothing more will come
	closed  bool
	events  []Event
	delta   Event  // the last one, if it is a delta
	text    []byte // its text

	region   region
	section  bool   // the calls stand in a section
	hidden   bool   // the message has no recipient
	blank    []byte // white space that may be the end of the text
	fresh    bool   // white space is not part of the text yet
	said     bool   // content began
	thought  bool   // thinking began, or can no longer begin
	called   bool   // a call began
	fence    fence
	unclosed bool // the call before had no closing marker
	suspect  int  // bytes of thinking that look like a call and were searched for the end of thinking

	raw  []byte // what a call may turn out to be
	keep bool   // raw is kept
	call call
	ids  int
}

// NewReader returns a reader for one reply.
func (s *Syntax) NewReader(opt Options) *Reader {
	r := &Reader{Syntax: s, opt: opt}
	if opt.Random == nil {
		r.opt.Random = rand.Uint64
	}
	if len(opt.Tools) > 0 {
		r.tools = make(map[string]*tool, len(opt.Tools))
		for i := range opt.Tools {
			r.tools[opt.Tools[i].Name] = &tool{schema: opt.Tools[i].Parameters}
		}
	}
	r.call.val = transcoder{quotes: s.quotes, maxDepth: MaxDepth, spell: s.vocab.spell}
	r.start(opt.Prompt)
	return r
}

// Write reads text, which may end within a character. The events are valid
// until the next call.
func (r *Reader) Write(text []byte) []Event {
	r.events = r.events[:0]
	if r.closed {
		return nil
	}
	r.take(text)
	r.run()
	return r.events
}

// Special reads one special token by its spelling. One that is not in the
// format is not part of the reply.
func (r *Reader) Special(spelling string) []Event {
	r.events = r.events[:0]
	if r.closed {
		return nil
	}
	r.flushPending()
	for i, t := range r.vocab {
		if t == spelling {
			r.in = append(r.in, symbol, symbolBase+byte(i))
			r.run()
			break
		}
	}
	return r.events
}

// Close ends the reply: bytes that were held back become events.
func (r *Reader) Close() []Event {
	r.events = r.events[:0]
	if r.closed {
		return nil
	}
	r.closed = true
	r.pending = nil // half a character at the end is none
	r.last = true
	r.run()
	r.finish()
	return r.events
}

// Thinking reports whether the reply is inside thinking, and whether its text ends with a
// whole character.
func (r *Reader) Thinking() (inside, whole bool) {
	return r.region == inThinking, len(r.pending) == 0
}

// Held is how many bytes are held back, because it is undecided whether they are a marker.
func (r *Reader) Held() int { return len(r.in) + len(r.pending) }

// take appends text to the input, in whole characters.
func (r *Reader) take(text []byte) {
	if len(r.pending) > 0 {
		text = append(r.pending, text...)
		r.pending = nil
	}
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		if c == utf8.RuneError && n == 1 {
			if !utf8.FullRune(text) {
				r.pending = append([]byte(nil), text...)
				return
			}
			r.in = utf8.AppendRune(r.in, utf8.RuneError)
			text = text[1:]
			continue
		}
		i := n
		for i < len(text) && text[i] < utf8.RuneSelf {
			i++
		}
		r.in = append(r.in, text[:i]...)
		text = text[i:]
	}
}

// flushPending passes on a character that will not be whole.
func (r *Reader) flushPending() {
	if len(r.pending) > 0 {
		r.pending = nil
		r.in = utf8.AppendRune(r.in, utf8.RuneError)
	}
}

// run takes steps until they need more bytes.
func (r *Reader) run() {
	buf := r.in
	for (len(r.in) > 0 || r.last) && r.step() {
	}
	if len(r.in) < len(buf) {
		r.in = append(buf[:0], r.in...)
	}
	r.flushDelta()
}

// eat consumes n bytes.
func (r *Reader) eat(n int) {
	if r.keep {
		r.raw = append(r.raw, r.in[:n]...)
	}
	r.in = r.in[n:]
}

// step reports whether it got anywhere.
func (r *Reader) step() bool {
	switch r.region {
	case inContent:
		if r.opt.Form != FormNone && !r.called {
			return len(r.in) > 0 && r.formStep()
		}
		return r.textStep()
	case inThinking, inAfter:
		return r.textStep()
	case inCall:
		return r.callStep()
	case inGap:
		return r.gapStep()
	case inSkip:
		return r.skipStep()
	case inHeader:
		return r.headerStep()
	}
	return r.hiddenStep()
}

// emit adds an event; deltas of one kind become one.
func (r *Reader) emit(e Event) {
	if e.Kind != r.delta.Kind || e.Call != r.delta.Call {
		r.flushDelta()
	}
	if e.Kind == CallStart || e.Kind == CallEnd {
		r.flushDelta()
		r.events = append(r.events, e)
		return
	}
	r.delta.Kind, r.delta.Call = e.Kind, e.Call
	r.text = append(r.text, e.Text...)
}

func (r *Reader) flushDelta() {
	if len(r.text) > 0 {
		r.delta.Text = string(r.text)
		r.events = append(r.events, r.delta)
		r.text = r.text[:0]
	}
}

// plain writes special tokens as they are spelled.
func (r *Reader) plain(text []byte) []byte {
	if bytes.IndexByte(text, symbol) < 0 {
		return text
	}
	var out []byte
	for i := 0; i < len(text); i++ {
		if text[i] == symbol && i+1 < len(text) {
			i++
			out = append(out, r.vocab.spell(text[i])...)
			continue
		}
		out = append(out, text[i])
	}
	return out
}

// finish turns the bytes that are left into events when the reply ends.
func (r *Reader) finish() {
	for r.region == inCall && !r.call.closed {
		if !r.tentative() || r.cutOff() {
			r.cutCall()
			break
		}
		r.giveUp()
		r.run()
	}
	if !r.called && (r.region == inContent || r.region == inAfter) {
		r.flushBlank()
	}
	r.fence.end(r)
	r.flushDelta()
}
