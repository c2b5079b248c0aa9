package textgen

import (
	"strings"

	"quern/engine"
	"quern/engine/token"
)

// A reply turns the tokens of one sequence into text that may be shown: whole
// characters, nothing of a stop string, and nothing that could still become
// one.
type reply struct {
	decoder *token.Decoder
	stops   []string

	buf     []byte // decoded text that was not taken
	base    int    // bytes of text taken before buf
	ready   int    // bytes of buf that may be taken
	entries []placed

	joins      bool // tokens that wait become one Delta
	tokens     int
	cumulative float64
	ended      bool // flush was called
	stopped    bool
	formed     bool   // it has a Constraint, which allows no half character
	stop       string // the stop string that was met

	parser
}

// A placed entry is a log-probability with the place of its token's text.
type placed struct {
	engine.Logprob
	start int // bytes of text before the token's
}

func newReply(v *token.Vocab, stops []string, l *answerFormat) *reply {
	return &reply{decoder: v.NewDecoder(token.DecodeOptions{Continued: true}), stops: stops, parser: l.newParser(v)}
}

// push adds a token. entry is nil when no log-probabilities were asked for.
func (q *reply) push(id token.ID, logprob float32, entry *engine.Logprob) {
	q.tokens++
	q.cumulative += float64(logprob)
	if entry != nil {
		q.entries = append(q.entries, placed{*entry, q.base + len(q.buf)})
	}
	if q.reader != nil {
		if entry != nil {
			e := &q.entries[len(q.entries)-1]
			e.start, e.Aside = unplaced, true
		}
		q.handle(q.follow(id))
		return
	}
	before := len(q.buf)
	q.buf = q.decoder.Append(q.buf, id)
	if len(q.buf) > before {
		q.match(before)
	}
}

// flush ends the reply, with the token that ended it or token.None: text that was held back
// is ready then, unless a stop string cut it off.
func (q *reply) flush(stop token.ID) {
	q.ended = true
	if q.stopped {
		return
	}
	if q.reader != nil {
		q.handle(q.end(stop))
		if !q.stopped {
			q.ready = len(q.buf)
		}
		return
	}
	if before := len(q.buf); !q.formed {
		q.buf = q.decoder.Flush(q.buf)
		if len(q.buf) > before {
			q.match(before)
		}
	}
	q.ready = len(q.buf)
}

// match looks for stop strings that end after the first from bytes of buf, and
// settles how much of buf may be shown.
func (q *reply) match(from int) {
	text := string(q.buf)
	first, stop := -1, ""
	held := 0
	for _, s := range q.stops {
		// A match that ended before from would have been found before.
		at := max(0, from-len(s)+1)
		if i := strings.Index(text[at:], s); i >= 0 && (first < 0 || at+i < first) {
			first, stop = at+i, s
		}
		held = max(held, overlap(text, s))
	}
	if first >= 0 {
		q.buf, q.ready = q.buf[:first], first
		q.stopped, q.stop = true, stop
		return
	}
	q.ready = max(q.ready, len(q.buf)-held)
}

// overlap returns the length of the longest end of text that begins s.
func overlap(text, s string) int {
	for n := min(len(text), len(s)-1); n > 0; n-- {
		if text[len(text)-n:] == s[:n] {
			return n
		}
	}
	return 0
}

// take returns the text that is ready and was not taken yet. An entry comes with
// the first of its token's text; those of a stop string never do.
func (q *reply) take() (string, []engine.Logprob) {
	text := string(q.buf[:q.ready])
	q.buf = q.buf[:copy(q.buf, q.buf[q.ready:])]
	q.base += q.ready
	q.ready = 0
	var out []engine.Logprob
	for len(q.entries) > 0 && (q.entries[0].start < q.base || q.idle(q.entries[0].start) || q.ended && !q.stopped) {
		out = append(out, q.entries[0].Logprob)
		q.entries = q.entries[1:]
	}
	return text, out
}
