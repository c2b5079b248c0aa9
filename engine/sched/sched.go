// Package sched runs one text model for many requests at once.
//
// A Scheduler owns the model's KV blocks and its batch. One goroutine, Run,
// does everything: each turn of its loop drops cancelled requests, admits those
// with a slot and blocks, plans some rows of every sequence, runs them as one step
// and sends the tokens. Prefill and decode are not modes: a sequence simply has some
// rows whose keys and values are still to be computed.
package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quern/engine/graph"
	"quern/engine/kv"
	"quern/engine/token"
)

// Errors of Submit and Stream.Events.
var (
	ErrQueueFull = errors.New("sched: the queue is full")      // a *QueueFullError has the details
	ErrTooLong   = errors.New("sched: the prompt is too long") // a *TooLongError has the details
	ErrNoPrompt  = errors.New("sched: the prompt is empty")
	ErrStopped   = errors.New("sched: the scheduler has stopped")
)

// A QueueFullError has an estimate of how long a request would have waited.
type QueueFullError struct {
	Waiting int           // requests queued
	Wait    time.Duration // estimate of when the last of them starts, from how long requests have been taking
}

func (e *QueueFullError) Error() string {
	return fmt.Sprintf("%v: %d requests are waiting", ErrQueueFull, e.Waiting)
}

// Unwrap returns ErrQueueFull.
func (e *QueueFullError) Unwrap() error { return ErrQueueFull }

// A TooLongError has the limit that a prompt exceeds.
type TooLongError struct {
	Tokens int // of the prompt
	Limit  int // tokens a prompt may have
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("%v: %d tokens, at most %d fit", ErrTooLong, e.Tokens, e.Limit)
}

// Unwrap returns ErrTooLong.
func (e *TooLongError) Unwrap() error { return ErrTooLong }

// Options configure a Scheduler. Exec, Cache, Blocks, BlockSize, Budget and
// Slots are needed.
type Options struct {
	Exec  graph.Exec  // result 0 is the logits; used by Run only, closed by the caller
	Cache graph.Cache // has Blocks blocks of BlockSize tokens; closed by the caller

	Blocks    int
	BlockSize int
	Near      []graph.Near // the Cache's further pools
	Budget    int          // rows of one step
	MaxWant   int          // wanted rows of one step; 0 means Budget
	Slots     int          // sequences running together, at most Budget and MaxWant
	Queue     int          // requests waiting beyond those with a free slot
	Context   int          // tokens of one sequence, prompt and reply; 0 means those of all blocks
	// States says that sequences carry states: the Cache has Slots slots for them, and
	// Snapshots more. Without those nothing is read from the prefix cache, since a state is of
	// one place only.
	States    bool
	Snapshots int

	// Adapters is how many adapters the Exec has; sequences of different ones share no blocks.
	Adapters int

	// Drafters propose next tokens, so that a step may make more than one token of a sequence.
	// Replies do not depend on them.
	Drafters []Drafter
	MaxDraft int // tokens of one draft; 0 means 16
	Spares   int // with States: the Cache's slots behind the Snapshots, which sequences with a draft need one of
	// Disk, where it is not nil, keeps the blocks of the prefix cache across restarts. The
	// Cache is graph.Portable then, and a Slots' states go with Snapshots.
	Disk *Disk

	StreamDepth int // tokens a sequence may be ahead of its reader; 0 means 32

	Now func() time.Time // the clock that steps are timed with; nil is time.Now

	Log *slog.Logger // nil discards
}

// A Scheduler serves one loaded model. Submit and Stats may be called from any
// goroutine, before and during Run.
type Scheduler struct {
	o    Options
	log  *slog.Logger
	wake chan struct{} // of one element, which wakes the loop
	// dirty is set when a Stream was cancelled or stopped.
	dirty atomic.Bool
	stats counters
	ran   atomic.Bool

	// box passes requests to the loop. Its mutex guards nothing else.
	box struct {
		sync.Mutex
		jobs       []*job
		background []*job // those in the background
		stopped    bool
		serial     uint64
		waiting    int                     // jobs not yet admitted, those in box excluded
		spare      int                     // slots free for them
		running    int                     // sequences running
		abort      context.CancelCauseFunc // aborts the step under way; nil while that may not be
		service    time.Duration           // how long jobs take from admission to end, a running mean
	}

	// All below is used by the loop only.
	pool    *kv.Pool
	near    []*kv.Near // by Options.Near
	found   []int32    // blocks of the prefix cache
	states  states
	disk    kept
	running []*sequence // oldest first
	waiting []*sequence // oldest first
	fresh   int         // of waiting, those never admitted that are not in the background
	blocked *sequence   // head of waiting that did not fit when last tried
	left    bool        // a sequence has left running since the last turn, or must
	now     time.Time   // of the last step's start or end

	service time.Duration
	loads   []load
	rows    []int
	batch   graph.Batch
	steps   []stepped
	scratch []*sequence
	draws   draws
	masks   masks
	toolbox toolbox
	counts  [][2]int64 // by adapter: sequences and requests waiting, and sequences running
	costs   costs
	planner planner
	read    int64 // rows of prompts so far
	drafts  drafts
}

// A stepped is a sequence's part of one step.
type stepped struct {
	q           *sequence
	rows, wants int
}

// Stats is a snapshot of a Scheduler.
type Stats struct {
	Waiting    int // sequences and requests queued, but for those in the background
	Background int // and those of the background
	Running    int // sequences with a place in the batch

	Blocks     int // KV blocks in the pool
	BlocksUsed int // of them held by running sequences
	BlockSize  int // tokens per block

	Steps           int64
	PromptTokens    int64 // evaluated or taken from the cache
	GeneratedTokens int64
	ForcedTokens    int64 // of them, those that were not drawn
	PrefixQueries   int64 // prompt tokens looked up in the prefix cache
	PrefixHits      int64 // of them found
	DiskHits        int64 // tokens of sequences that were found on the disk, of the prompt or of a reply
	Preemptions     int64

	Drafts         int64            // of any length
	DraftTokens    int64            // in them
	AcceptedTokens int64            // of them, those that were then drawn
	AcceptedAt     [MostDraft]int64 // of these, by place in the draft
}

// AdapterStats are of one adapter: sequences and requests queued, and sequences with a place
// in the batch.
type AdapterStats struct{ Waiting, Running int }

type counters struct {
	adapters                                                  [][2]atomic.Int64 // waiting and running
	waiting, background, running, used                        atomic.Int64
	steps, prompt, generated, forced, queries, hits, preempts atomic.Int64
	drafts, drafted, accepted                                 atomic.Int64
	at                                                        [MostDraft]atomic.Int64 // of accepted, by place
	disk                                                      atomic.Int64
}

// New checks o and returns a Scheduler whose Run is to be called.
func New(o Options) (*Scheduler, error) {
	if o.Exec == nil || o.Cache == nil || o.Blocks <= 0 || o.Blocks > math.MaxInt32 || o.BlockSize <= 0 {
		return nil, fmt.Errorf("sched: %d blocks of %d tokens, Exec %T, Cache %T: all are needed", o.Blocks, o.BlockSize, o.Exec, o.Cache)
	}
	def := func(v *int, d int) {
		*v = cmp.Or(*v, d)
	}
	def(&o.MaxWant, o.Budget)
	def(&o.Context, o.Blocks*o.BlockSize)
	def(&o.StreamDepth, 32)
	def(&o.MaxDraft, 16)
	// With more sequences than rows some of them would never run.
	o.Slots = min(o.Slots, o.Budget, o.MaxWant)
	o.Queue = max(o.Queue, 0)
	if o.MaxDraft < 0 || o.MaxDraft > MostDraft {
		return nil, fmt.Errorf("sched: drafts of %d tokens, at most %d may be", o.MaxDraft, MostDraft)
	}
	if o.Slots < 1 || o.Context < 1 || o.StreamDepth < 1 {
		return nil, fmt.Errorf("sched: budget %d, wanted rows %d, slots %d, context %d, stream depth %d: all must be 1 or more",
			o.Budget, o.MaxWant, o.Slots, o.Context, o.StreamDepth)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Scheduler{
		o:       o,
		log:     o.Log,
		wake:    make(chan struct{}, 1),
		pool:    kv.NewPool(o.Blocks, o.BlockSize),
		running: make([]*sequence, 0, o.Slots),
	}
	for i, n := range o.Near {
		if n.Blocks < s.holds(n.Reach) {
			return nil, fmt.Errorf("sched: pool %d has %d blocks of %d tokens; a row that sees %v needs %d", i+1, n.Blocks, o.BlockSize, n.Reach, s.holds(n.Reach))
		}
		s.near = append(s.near, kv.NewNear(s.pool, n.Blocks))
	}
	if o.States {
		s.newStates()
	}
	s.newDrafts()
	if o.Disk != nil {
		if err := s.openDisk(o.Disk); err != nil {
			return nil, err
		}
	}
	s.planner = planner{costs: &s.costs, stays: o.States}
	s.stats.adapters = make([][2]atomic.Int64, o.Adapters)
	s.counts = make([][2]int64, o.Adapters+1)
	s.box.spare = o.Slots
	s.batch.Take, s.batch.Allow = s.take, s.allow
	return s, nil
}

// Submit queues r and returns its Stream. It does not block. The end of ctx cancels
// the request; lines of the log about this request alone have ctx.
//
// Errors: ErrQueueFull, ErrTooLong, ErrNoPrompt, ErrStopped, or ctx's.
func (s *Scheduler) Submit(ctx context.Context, r Request) (*Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limit := min(s.o.Context, s.o.Blocks*s.o.BlockSize)
	if !r.NoTokens {
		limit = min(limit, s.o.Context-1)
	}
	switch {
	case len(r.Prompt) == 0:
		return nil, ErrNoPrompt
	case r.Adapter < 0 || int(r.Adapter) > s.o.Adapters:
		return nil, fmt.Errorf("sched: adapter %d of %d", r.Adapter, s.o.Adapters)
	case len(r.Prompt) > limit:
		return nil, &TooLongError{Tokens: len(r.Prompt), Limit: limit}
	}
	j := s.newJob(ctx, r)

	s.box.Lock()
	defer s.box.Unlock()
	if s.box.stopped {
		return nil, ErrStopped
	}
	list := &s.box.jobs
	if r.Background {
		list = &s.box.background
	} else if waiting := s.box.waiting + len(s.box.jobs); !r.Follows && waiting >= s.o.Queue+s.box.spare {
		// Slots become free one by one, each after its share of the mean.
		wait := s.box.service * time.Duration(waiting+1) / time.Duration(max(1, s.box.running))
		return nil, &QueueFullError{Waiting: waiting, Wait: wait}
	}
	if !r.Background && s.box.abort != nil {
		s.box.abort(errAborted)
	}
	j.serial = s.box.serial
	s.box.serial++
	j.st.detach = context.AfterFunc(ctx, func() { j.st.cancel(ctx.Err()) })
	s.seek(j.seqs[0])
	*list = append(*list, j)
	s.nudge()
	return j.st, nil
}

// reserve bounds how far ahead memory for a reply is set aside.
const reserve = 1024

func (s *Scheduler) newJob(ctx context.Context, r Request) *job {
	n := max(r.N, 1)
	// One token more than there are blocks for: the last needs no keys and values.
	rest := min(s.o.Context, s.o.Blocks*s.o.BlockSize+1) - len(r.Prompt)
	if r.Max <= 0 || r.Max > rest {
		r.Max = rest
	}
	j := &job{Request: r, ctx: ctx, n: n, live: n, prompt: len(r.Prompt), submitted: time.Now()}
	if r.Min > 0 {
		j.early = slices.Concat(r.EOG, r.StopIDs)
	}
	ahead := 0
	if r.Mask != nil {
		ahead = s.o.StreamDepth
	}
	j.st = &Stream{
		s:      s,
		events: make(chan Event, 1+n*(s.o.StreamDepth+ahead+1)),
		queued: make([]atomic.Int32, n),
		stop:   make([]atomic.Bool, n),
		gone:   make(chan struct{}),
	}
	j.seqs = []*sequence{s.newSequence(j, 0, r.Prompt)}
	s.disk.name(j.seqs[0], s.o.BlockSize)
	j.Prompt = nil // the sequences have it
	return j
}

func (s *Scheduler) newSequence(j *job, index int, prompt []token.ID) *sequence {
	q := &sequence{job: j, index: index, slot: noSlot, guesses: s.newGuesses(j)}
	room := len(prompt) + min(j.Max, reserve)
	q.tokens = append(make([]token.ID, 0, room), prompt...)
	q.table = make([]int32, 0, s.pool.BlocksFor(room))
	q.near = make([]kv.Trail, len(s.near))
	for i := range q.near {
		q.near[i].Table = make([]int32, 0, cap(q.table))
	}
	if j.IgnoreEOS {
		q.ban = j.EOG
	}
	return q
}

// Stats takes a snapshot.
func (s *Scheduler) Stats() Stats {
	c := &s.stats
	return Stats{
		Waiting:         int(c.waiting.Load()),
		Background:      int(c.background.Load()),
		Running:         int(c.running.Load()),
		Blocks:          s.o.Blocks,
		BlocksUsed:      int(c.used.Load()),
		BlockSize:       s.o.BlockSize,
		Steps:           c.steps.Load(),
		PromptTokens:    c.prompt.Load(),
		GeneratedTokens: c.generated.Load(),
		ForcedTokens:    c.forced.Load(),
		PrefixQueries:   c.queries.Load(),
		PrefixHits:      c.hits.Load(),
		DiskHits:        c.disk.Load(),
		Preemptions:     c.preempts.Load(),
		Drafts:          c.drafts.Load(),
		DraftTokens:     c.drafted.Load(),
		AcceptedTokens:  c.accepted.Load(),
		AcceptedAt:      c.acceptedAt(),
	}
}

// Adapters takes a snapshot of the use of each adapter, in their order.
func (s *Scheduler) Adapters() []AdapterStats {
	var list []AdapterStats
	for i := range s.stats.adapters {
		a := &s.stats.adapters[i]
		list = append(list, AdapterStats{Waiting: int(a[0].Load()), Running: int(a[1].Load())})
	}
	return list
}

// nudge wakes the loop if it waits.
func (s *Scheduler) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// changed makes the loop look for cancelled and stopped Streams.
func (s *Scheduler) changed() {
	s.dirty.Store(true)
	s.nudge()
}
