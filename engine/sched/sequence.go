package sched

import (
	"context"
	"slices"
	"time"

	"quern/engine/kv"
	"quern/engine/sample"
	"quern/engine/token"
)

// A Request asks for replies to one prompt.
type Request struct {
	Prompt []token.ID // at least one token; copied
	N      int        // sequences; 0 means 1

	Max       int        // tokens of each sequence; 0 means the rest of the context, and more than that is clamped
	Min       int        // EOG and StopIDs are barred before this many
	EOG       []token.ID // end-of-generation tokens
	IgnoreEOS bool       // EOG is barred
	StopIDs   []token.ID // further tokens that end a sequence
	NoTokens  bool       // evaluate the prompt and generate nothing

	Sample         sample.Params      // sequence 0 has its Seed, the others have seeds made from it
	Mask           func() sample.Mask // called once for each sequence; different ones, and the calls, at the same time; nil means none
	PromptLogprobs bool               // with Sample.Top alternatives; such a prompt is not read from the prefix cache
	NoPromptCache  bool               // neither read nor fill the prefix cache
	MaxDraft       int                // most tokens of a draft; 0 means Options.MaxDraft, and negative none
	Prediction     []token.ID         // the expected reply, for Drafters; kept
	Adapter        int32              // of Options.Adapters, from 1; 0 is none
	Follows        bool               // queued even where the queue is full
	Background     bool               // runs on the time that other requests leave, however long that takes; see lane.go
}

// A job is the state that the sequences of one Request share.
type job struct {
	Request
	ctx    context.Context // of Submit; for the log, which may add the request's id
	st     *Stream
	serial uint64 // order of arrival
	n      int    // sequences
	prompt int    // its tokens
	early  []token.ID
	live   int         // sequences that have not finished
	seqs   []*sequence // the first only, until the prompt is done

	seen   bool // was admitted once
	done   bool // the prompt is done
	cached int  // prompt tokens taken from the prefix cache
	scored int  // prompt rows that have their log-probabilities
	scores []sample.Token

	had  int   // rows of the prompt in its last step
	then int64 // rows of all prompts behind that step, or when it came

	readSteps, drawSteps, preempted int // steps with rows of the prompt, and of replies; times a sequence was preempted

	submitted, admitted, started, first, last time.Time
}

// A sequence is one reply, running or waiting for a slot and blocks.
type sequence struct {
	*job
	index     int
	state     state
	tokens    []token.ID // prompt and reply
	generated int
	recent    int     // of tokens, those of the last step, or to be computed again at once
	computed  int     // tokens whose keys and values are in the blocks of table
	table     []int32 // KV blocks; none while waiting
	near      []kv.Trail
	slot      int32 // of states, noSlot without
	full      bool  // was stalled when this turn assigned blocks
	onDisk    onDisk
	sampler   *sample.Sampler
	ban       []token.ID // tokens barred once Min is reached
	guesses
}

// noSlot is the slot of a sequence that waits, and of all where models have no states.
const noSlot = -1

type state uint8

const (
	waiting state = iota
	running
	ended
)

// before orders sequences by lane, and by age within it.
func (q *sequence) before(other *sequence) bool {
	if q.Background != other.Background {
		return other.Background
	}
	if q.serial != other.serial {
		return q.serial < other.serial
	}
	return q.index < other.index
}

// stalled reports whether q's stream has a full queue, so that q must not run.
func (q *sequence) stalled() bool {
	return int(q.st.queued[q.index].Load()) >= q.st.s.o.StreamDepth
}

// reads reports whether q may use blocks of the prefix cache.
func (q *sequence) reads() bool {
	return !q.NoPromptCache && (!q.PromptLogprobs || q.done)
}

// load describes q to plan.
func (q *sequence) load() load {
	l := load{rows: len(q.tokens) - q.computed, last: !q.NoTokens, full: q.full || q.onDisk.fetch != nil}
	l.reply = q.done && l.rows <= q.recent
	l.depth, l.background = q.computed, q.Background
	l.had, l.since = q.had, q.st.s.read-q.then
	if q.PromptLogprobs && !q.done {
		l.from = max(0, q.scored-q.computed)
		l.to = max(l.from, q.prompt-1-q.computed)
	}
	return l
}

// barred returns the tokens that must not be the one n behind the last.
func (q *sequence) barred(n int) []token.ID {
	if q.generated+n < q.Min {
		return q.early
	}
	return q.ban
}

// ahead is how many tokens may be forced behind n that were drawn: all of them have the same
// barred tokens, and they fit in the stream's queue. It does not depend on how full that
// is, so replies do not.
func (q *sequence) ahead(n int) int {
	if left := q.Min - q.generated - n; left > 0 {
		return min(left, q.st.s.o.StreamDepth)
	}
	return q.st.s.o.StreamDepth
}

// stops reports whether id ends the sequence.
func (q *sequence) stops(id token.ID) bool {
	return slices.Contains(q.EOG, id) || slices.Contains(q.StopIDs, id)
}

// insert inserts q into list, which is in order of age.
func insert(list []*sequence, q *sequence) []*sequence {
	i := len(list)
	for i > 0 && q.before(list[i-1]) {
		i--
	}
	return slices.Insert(list, i, q)
}

func remove(list []*sequence, q *sequence) []*sequence {
	i := slices.Index(list, q)
	return slices.Delete(list, i, i+1)
}

// seedOf returns the seed of one of several sequences. Sequence 1 of seed 5 must
// not be sequence 0 of seed 6.
func seedOf(seed uint64, index int) uint64 {
	if index == 0 {
		return seed
	}
	x := (seed + uint64(index)) * 0xd6e8feb86659fd93
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return x ^ x>>32
}
