package eleven

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"quern/engine"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/fault"
)

// liveSchedule is how many characters are waited for before the first, the second, …
// piece of a text is spoken, unless a client says otherwise: the vendor's.
var liveSchedule = []int{120, 160, 250, 290}

// leastTriggered is how many characters try_trigger_generation needs, as the vendor's.
const leastTriggered = 50

// A voiceContext is one text that is spoken while it comes. The goroutine of live.serve
// owns it, but for what mu guards.
type voiceContext struct {
	id       string
	live     *live
	speed    float64
	schedule []int
	cancel   context.CancelFunc
	last     time.Time // a message came

	held      []byte // text that is not due yet
	pushes    int    // since the last flush
	triggered bool   // try_trigger_generation has had enough text since the last flush

	mu      sync.Mutex
	queue   []engine.More
	over    bool          // nothing is added to the queue any more
	wake    chan struct{} // holds one value when the queue or over changed
	text    string        // that is not spoken
	base    int           // bytes of the whole text before it
	flushed int           // bytes of the whole text up to the last flush
	waiting bool          // for text, and for nothing else
	spoken  time.Time     // when it began to
}

// quiet says since when nothing has come or been spoken, and whether something is.
func (v *voiceContext) quiet() (since time.Time, busy bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.spoken.After(v.last) {
		return v.spoken, !v.waiting
	}
	return v.last, !v.waiting
}

// take adds the text of a message.
func (v *voiceContext) take(m *liveMessage, auto bool) error {
	if m.schedule != nil {
		v.schedule = m.schedule
	}
	v.mu.Lock()
	waiting := utf8.RuneCountInString(v.text)
	v.mu.Unlock()
	if most := v.live.api.Options.SpeechChars; waiting+utf8.RuneCount(v.held)+utf8.RuneCountInString(m.text) > most {
		return fault.New(fault.CodeTooLong, "text", "more than %d characters wait to be spoken (limits.speech_chars); send text no faster than it is heard", most)
	}
	v.held = append(v.held, m.text...)
	n := utf8.RuneCount(v.held)
	v.triggered = v.triggered || m.trigger && n >= leastTriggered
	switch {
	case m.flush:
		v.push(engine.Flush)
		v.pushes, v.triggered = 0, false
	case auto:
		v.push(engine.Clauses)
	case m.trigger && v.triggered:
		v.push(engine.Sentences)
	case n >= v.schedule[min(v.pushes, len(v.schedule)-1)]:
		v.push(engine.Patient)
		v.pushes++
	}
	return nil
}

// push queues the held text for speaking.
func (v *voiceContext) push(h engine.Haste) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := len(v.queue); n > 0 && len(v.held) == 0 { // messages without text do not fill the queue
		v.queue[n-1].Haste = max(v.queue[n-1].Haste, h)
	} else {
		v.queue = append(v.queue, engine.More{Text: string(v.held), Haste: h})
	}
	v.text += string(v.held)
	if h == engine.Flush {
		v.flushed = v.base + len(v.text)
	}
	v.held = v.held[:0]
	v.awake()
}

// end queues the rest of the text; no more is added.
func (v *voiceContext) end() {
	v.push(engine.Patient)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = true
	v.awake()
}

// drop drops text that was not flushed. It reports whether flushed text is not spoken
// yet; if there is none, the work ends at once.
func (v *voiceContext) drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.held = nil
	if v.flushed <= v.base {
		v.queue = nil
		v.cancel()
	}
	for n := len(v.queue); n > 0 && v.queue[n-1].Haste != engine.Flush; n-- {
		v.queue = v.queue[:n-1]
	}
	v.over = true
	v.awake()
}

func (v *voiceContext) awake() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// next returns the next text for the voice; it waits until there is some.
func (v *voiceContext) next(ctx context.Context) (m engine.More, err error) {
	for {
		v.mu.Lock()
		for len(v.queue) > 0 && m.Haste != engine.Flush {
			m.Text += v.queue[0].Text
			m.Haste = max(m.Haste, v.queue[0].Haste)
			v.queue = v.queue[1:]
			err = nil
		}
		over, some := v.over, m != engine.More{}
		if v.waiting = !some && !over; v.waiting {
			v.spoken = time.Now()
		}
		v.mu.Unlock()
		switch {
		case some:
			return m, nil
		case over:
			return m, io.EOF
		}
		select {
		case <-v.wake:
		case <-ctx.Done():
			return m, ctx.Err()
		}
	}
}

// speak speaks the text as it comes, until it has ended. The seconds of sound are counted.
func (v *voiceContext) speak(ctx context.Context) (symbols int, err error) {
	defer fault.Recovered(&err)
	l := v.live
	r := l.in.SpeakRequest
	r.Speed, r.More = v.speed, v.next
	var sound bytes.Buffer
	heard, at := 0.0, 0.0 // seconds
	err = audio.Voice(ctx, l.api.API, l.c.Lease, r, l.in.format, &sound, true, func(s engine.Speech) error {
		symbols += s.Symbols
		written, said := v.align(s, &at)
		b := bytes.Clone(sound.Bytes())
		sound.Reset()
		err := l.send(l.answer(v.id, b, false, written.since(heard), said.since(heard)))
		heard += float64(len(s.Samples)) / float64(s.Rate)
		return err
	})
	if err == nil && sound.Len() > 0 {
		err = l.send(l.answer(v.id, sound.Bytes(), false, nil, nil))
	}
	return symbols, err
}

// align returns the times of a chunk's characters, and drops its text.
func (v *voiceContext) align(s engine.Speech, at *float64) (written, said *alignment) {
	v.mu.Lock()
	defer v.mu.Unlock()
	chunk := s
	chunk.Start, chunk.End = max(s.Start-v.base, 0), min(s.End-v.base, len(v.text))
	chunk.Words = append(chunk.Words[:0:0], s.Words...)
	for i := range chunk.Words {
		w := &chunk.Words[i]
		w.Start, w.End = min(max(w.Start-v.base, 0), len(v.text)), min(max(w.End-v.base, 0), len(v.text))
	}
	written, said = align(v.text, chunk, at)
	v.text = v.text[chunk.End:]
	v.base += chunk.End
	return written, said
}
