package sched

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"quern/engine/sample"
	"quern/engine/token"
)

// An EventType says which fields of an Event are set.
type EventType uint8

// The events of a request, in the order they come: one PromptDone, then Tokens
// and one Finish for each sequence. Those of different sequences interleave.
const (
	PromptDone EventType = iota + 1 // sets Prompt
	Token                           // sets Seq and Token
	Finish                          // sets Seq, Reason, StopID and Tokens
)

// A Reason says why a sequence ended.
type Reason string

// The reasons.
const (
	Stop   Reason = "stop"   // a stop token was drawn, or Stream.Stop was called
	Length Reason = "length" // token limit, end of the context or of the KV cache
)

// An Event is one piece of a reply.
type Event struct {
	Type   EventType
	Seq    int // sequence, from 0
	Token  sample.Token
	Reason Reason
	StopID token.ID // the stop token that ended the sequence, which is no Token event; else token.None
	Tokens int      // how many Token events of the sequence were sent
	Right  int      // of Finish: tokens of drafts that were then drawn
	Wrong  int      // and those that were not
	Prompt *Prompt
}

// A Prompt has the results of evaluating a prompt.
type Prompt struct {
	Cached   int            // tokens taken from the prefix cache
	Logprobs []sample.Token // with Request.PromptLogprobs: one for each token; the first has only its ID
}

// Timings says where the time of a request went.
type Timings struct {
	Queue   time.Duration // from Submit to the first step
	Prompt  time.Duration // from the first step to the first token
	First   time.Duration // from Submit to the first token
	Predict time.Duration // from the first token to the last
}

// A Stream is the reply to one request: the queue between the loop and the caller that writes
// the reply to a client. A sequence with Options.StreamDepth tokens in the queue is not
// planned until the caller reads. The Stream must be read to its end, closed, or its context
// ended; else its sequences keep their slots and blocks.
type Stream struct {
	s *Scheduler
	// events holds all that may be queued at once, so that sending never
	// blocks: a sequence has at most depth Tokens and a Finish in it, and as many again
	// that a Mask forced behind the last that was drawn.
	events chan Event
	queued []atomic.Int32 // Tokens in events, for each sequence
	stop   []atomic.Bool  // set by Stop

	once   sync.Once
	gone   chan struct{} // closed by cancel
	cause  error         // of cancel; readable once gone is closed
	detach func() bool   // stops the context.AfterFunc of the request's context

	// Written by the loop before it closes events.
	err     error
	timings Timings
}

// Events returns the events as they come. An error is the last thing yielded:
// the error of Submit's context when that ended, ErrStopped when the Scheduler
// did, or the cause of a failure. Breaking out of the loop cancels the request before
// the next step. Events is to be used once.
func (st *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		defer st.Close()
		for {
			select {
			case ev, ok := <-st.events:
				if !ok {
					if st.err != nil {
						yield(Event{}, st.err)
					}
					return
				}
				if !st.took(&ev) {
					continue
				}
				if !yield(ev, nil) {
					return
				}
			case <-st.gone:
				yield(Event{}, st.cause)
				return
			}
		}
	}
}

// took counts ev as read and reports whether to yield it.
func (st *Stream) took(ev *Event) bool {
	if ev.Type != Token {
		return true
	}
	if int(st.queued[ev.Seq].Add(-1)) == st.s.o.StreamDepth-1 {
		st.s.nudge() // the sequence was not planned while the queue was full
	}
	return !st.stop[ev.Seq].Load()
}

// Queued is how many tokens of sequence seq wait to be read.
func (st *Stream) Queued(seq int) int { return int(st.queued[seq].Load()) }

// Stop ends sequence seq before the next step, as a caller does that has found a
// stop string. No more Tokens of it are yielded; its Finish is. Stop is safe for
// concurrent use.
func (st *Stream) Stop(seq int) {
	st.stop[seq].Store(true)
	st.s.changed()
}

// Close cancels sequences that have not ended. It may be called more than once, at any
// time.
func (st *Stream) Close() { st.cancel(context.Canceled) }

// Timings is to be called after Events has yielded its last without an error.
func (st *Stream) Timings() Timings { return st.timings }

func (st *Stream) cancel(err error) {
	st.once.Do(func() {
		st.cause = err
		close(st.gone)
		st.s.changed()
	})
}

func (st *Stream) cancelled() bool {
	select {
	case <-st.gone:
		return true
	default:
		return false
	}
}
