package sched

import (
	"context"

	"quern/engine/token"
)

// A Drafter proposes the next tokens of sequences, which have a place each, from 0 up. It is
// used by Run only.
type Drafter interface {
	// Offer returns how many tokens, at most n, it would draft behind a text, and how likely it
	// takes them to be: a rank below Ranks. The Scheduler measures how often each rank is right.
	Offer(place int, t Text, n int) (tokens, rank int)
	// Draft appends to the Draft of each ask as many tokens as it says, or fewer. Offer was
	// called for all of them in this turn.
	Draft(ctx context.Context, asks []Ask) error
	// Forget is called when a sequence has left its place, which is then free for another.
	Forget(place int)
}

// MostDraft bounds Options.MaxDraft.
const MostDraft = 32

// Ranks is how many ranks Offer may return.
const Ranks = 4

// prior is the assumed rate at which tokens of each rank are drawn, before any was tried.
var prior = [Ranks]float64{0.3, 0.5, 0.7, 0.85}

// A Text is the tokens of a sequence so far.
type Text struct {
	Tokens     []token.ID // prompt and reply
	Prompt     int        // of Tokens
	Prediction []token.ID // of the request
	Adapter    int32      // of the request
}

// An Ask asks for a draft of N tokens.
type Ask struct {
	Place int
	Text
	N     int
	Draft []token.ID // to append to
}

// drafts is the Scheduler's state of drafting.
type drafts struct {
	sources []source
	places  []int // those no sequence has
	spares  []int32

	watchers []Watcher // of sources
	made     []float32 // of the step, with watchers
	seen     []Seen

	offers []offer
	order  []int // of offers: those that tokens are taken of, one by one; then those asked for
	asks   []Ask
}

// A source is a Drafter with its measured odds and cost.
type source struct {
	Drafter
	odds [Ranks]odds // of all sequences
	cost float64     // seconds a token of the longest draft asked for at a time, a running mean
}

// An offer is a draft that a sequence could have.
type offer struct {
	q      *sequence
	at     int // in running
	source int
	rank   int
	odds   float64
	rows   int // each token costs as many
	most   int
	n      int     // taken
	worth  float64 // of the next token: how likely it is drawn
}

// guesses are a sequence's.
type guesses struct {
	draft  []token.ID // of the step under way
	place  int        // of Drafters, noPlace without
	spare  int32      // slot of the states before the draft, noSlot without
	source int        // of draft
	rank   int
	odds   [][Ranks]odds // by source
	right  int           // tokens of all drafts that were then drawn
	wrong  int           // and the others
	idle   int           // offers not taken since the last draft
	wait   int           // as many and one is tried all the same; 0 before the first
	trying bool          // the draft is such a one
}

const noPlace = -1

// Where drafts are not worth their rows one of tryFor tokens is tried after firstTry steps. Each
// failed try doubles the steps to the next, up to lastTry.
const (
	firstTry = 32
	lastTry  = 1024
	tryFor   = 2
)

func (s *Scheduler) newDrafts() {
	d := &s.drafts
	for _, one := range s.o.Drafters {
		src := source{Drafter: one}
		for i, p := range prior {
			src.odds[i] = odds{few * p, few}
		}
		d.sources = append(d.sources, src)
		if w, ok := one.(Watcher); ok {
			d.watchers = append(d.watchers, w)
		}
	}
	if len(d.sources) == 0 {
		return
	}
	for i := range s.o.Slots {
		d.places = append(d.places, s.o.Slots-1-i)
	}
	if s.o.States {
		for i := range s.o.Spares {
			d.spares = append(d.spares, int32(s.o.Slots+s.o.Snapshots+i))
		}
	}
}

// newGuesses returns those of a new sequence, without odds of its own.
func (s *Scheduler) newGuesses(j *job) guesses {
	g := guesses{place: noPlace, spare: noSlot}
	if len(s.o.Drafters) > 0 && j.MaxDraft >= 0 && !j.NoTokens {
		g.draft = make([]token.ID, 0, s.o.MaxDraft)
		g.odds = make([][Ranks]odds, len(s.o.Drafters))
	}
	return g
}

// speculate adds drafts to sequences that are to draw, as rows behind theirs, in the rows that the
// plan leaves of the step: as many as maximise tokens a second.
func (s *Scheduler) speculate(ctx context.Context) {
	d := &s.drafts
	if len(d.sources) == 0 {
		return
	}
	rows, wants, tokens := 0, 0, 0
	for i, n := range s.rows {
		l := &s.loads[i]
		rows += n
		wants += l.wants(n)
		if l.last && n == l.rows {
			tokens++
		}
	}
	left := min(s.o.Budget, mostRows) - rows
	if left = min(left, s.o.MaxWant-wants); left <= 0 || !s.costs.known(rows) {
		return
	}
	d.offers = d.offers[:0]
	beside := foreground(s.running) > 0
	for i, q := range s.running {
		if q.Background && beside {
			break // its rows would take time of the foreground
		}
		if l := &s.loads[i]; q.done && !q.full && l.last && s.rows[i] == l.rows {
			s.offer(q, i, left)
		}
	}
	if len(d.offers) > 0 {
		s.choose(rows, left, tokens)
		s.write(ctx)
	}
	clear(d.offers) // keeps no sequence alive
}

// offer notes the best offer for q, which is the i-th that runs.
func (s *Scheduler) offer(q *sequence, i, left int) {
	d := &s.drafts
	most := min(left, s.o.MaxDraft, s.draftable(q))
	if q.MaxDraft > 0 {
		most = min(most, q.MaxDraft)
	}
	if q.odds == nil || most <= 0 || q.slot != noSlot && len(d.spares) == 0 {
		return
	}
	if !s.acquirePlace(q) {
		return
	}
	best := offer{q: q, at: i, rows: 1}
	if q.slot != noSlot {
		best.rows = 2 // of a draft that fails all rows are computed again
	}
	for k := range d.sources {
		src := &d.sources[k]
		n, rank := src.Offer(q.place, q.text(), most)
		if n <= 0 {
			continue
		}
		if p := q.odds[k][rank].among(src.odds[rank]); p > best.odds || best.most == 0 {
			best.source, best.rank, best.odds, best.most = k, rank, p, min(n, most)
		}
	}
	if best.most > 0 {
		best.worth = best.odds
		d.offers = append(d.offers, best)
	}
}

// acquirePlace acquires for q a place with Drafters, of which there are as many as sequences run.
// It reports whether q has one.
func (s *Scheduler) acquirePlace(q *sequence) bool {
	d := &s.drafts
	if last := len(d.places) - 1; q.place == noPlace && last >= 0 {
		q.place, d.places = d.places[last], d.places[:last]
	}
	return q.place != noPlace
}

func (q *sequence) text() Text {
	return Text{Tokens: q.tokens, Prompt: q.prompt, Prediction: q.Prediction, Adapter: q.Adapter}
}

// draftable is how many tokens may be drafted behind q's: with one more that is drawn q stays
// within its limits, its stream's queue does not overflow, and no block is taken that other
// sequences need.
func (s *Scheduler) draftable(q *sequence) int {
	n := min(q.Max-q.generated, s.o.StreamDepth-int(q.st.queued[q.index].Load())) - 1
	spare := max(0, s.pool.Available()-len(s.running))
	n = min(n, (len(q.table)+spare)*s.o.BlockSize-len(q.tokens))
	for i, near := range s.near {
		spare := max(0, near.Available()-len(s.running))
		n = min(n, (len(q.near[i].Table)+spare)*s.o.BlockSize-len(q.tokens))
	}
	if size := s.o.BlockSize; q.slot != noSlot && len(s.states.snaps) > 0 && !q.NoPromptCache {
		n = min(n, (size-len(q.tokens)%size)%size) // states are kept where blocks end
	}
	return n
}

// choose decides how many tokens of each offer are taken. Tokens are added in the order of their
// odds; the number with the most expected tokens a second is kept.
func (s *Scheduler) choose(rows, left, tokens int) {
	d := &s.drafts
	d.order = d.order[:0]
	sum := float64(tokens)
	base := s.costs.of(rows)
	best := sum / base * 1.02 // a gain below 2 % is within the error of the estimate
	kept, extra := 0, 0
	step, drafting := base, 0.0
	for range left {
		at := -1
		for i := range d.offers {
			if o := &d.offers[i]; o.n < o.most && (at < 0 || o.worth > d.offers[at].worth) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		o := &d.offers[at]
		sum += o.worth
		o.n++
		o.worth *= o.odds
		extra += o.rows
		drafting = max(drafting, d.sources[o.source].cost*float64(o.n))
		d.order = append(d.order, at)
		step = max(step, s.costs.of(rows+extra), base*(1+leastRow*float64(extra)))
		if rate := sum / (step + drafting); rate > best {
			best, kept = rate, len(d.order)
		}
	}
	for i := range d.offers {
		d.offers[i].n = 0
	}
	for _, i := range d.order[:kept] {
		d.offers[i].n++
	}
	left -= kept
	for i := range d.offers {
		o := &d.offers[i]
		if o.n > 0 {
			continue
		}
		if o.q.idle++; o.q.wait == 0 {
			o.q.wait = firstTry
		}
		if n := min(o.most, tryFor); o.q.idle > o.q.wait && n <= left {
			o.n, left, o.q.trying = n, left-n, true
		}
	}
}

// write has Drafters write the offers that were taken.
func (s *Scheduler) write(ctx context.Context) {
	d := &s.drafts
	for k := range d.sources {
		src, longest := &d.sources[k], 0
		d.asks, d.order = d.asks[:0], d.order[:0]
		for i := range d.offers {
			if o := &d.offers[i]; o.source == k && o.n > 0 && s.spare(o.q) {
				d.asks = append(d.asks, Ask{Place: o.q.place, Text: o.q.text(), N: o.n, Draft: o.q.draft[:0]})
				d.order = append(d.order, i)
				longest = max(longest, o.n)
			}
		}
		if longest == 0 {
			continue
		}
		began := s.o.Now()
		if err := src.Draft(ctx, d.asks); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "nothing was drafted", "err", err)
		}
		if took := s.o.Now().Sub(began); took > 0 {
			src.cost += (took.Seconds()/float64(longest) - src.cost) / 8
		}
		for i, at := range d.order {
			s.add(&d.offers[at], d.asks[i].Draft)
		}
		clear(d.asks)
	}
}

// spare acquires a slot for q's states as they are before a draft. It reports whether q
// has one, or needs none.
func (s *Scheduler) spare(q *sequence) bool {
	if q.slot == noSlot {
		return true
	}
	n := len(s.drafts.spares)
	if n == 0 {
		return false
	}
	q.spare, s.drafts.spares = s.drafts.spares[n-1], s.drafts.spares[:n-1]
	return true
}

func (s *Scheduler) unspare(q *sequence) {
	if q.spare != noSlot {
		s.drafts.spares, q.spare = append(s.drafts.spares, q.spare), noSlot
	}
}

// add makes a draft rows of the step, as far as there are blocks for them.
func (s *Scheduler) add(o *offer, draft []token.ID) {
	q, n := o.q, min(len(draft), o.n)
	s.pool.Grow(&q.table, len(q.tokens)+n)
	n = min(n, len(q.table)*s.o.BlockSize-len(q.tokens))
	for i, near := range s.near {
		t := &q.near[i]
		near.Grow(t, s.pool.BlocksFor(len(q.tokens)+n))
		n = min(n, len(t.Table)*s.o.BlockSize-len(q.tokens))
	}
	q.draft, q.source, q.rank = append(q.draft[:0], draft[:n]...), o.source, o.rank
	s.rows[o.at] += n
	switch {
	case n == 0:
		s.unspare(q)
	case q.spare != noSlot:
		s.o.Cache.CopyState(q.spare, q.slot)
	}
}

// settle appends to q the tokens drawn from the rows of its last token and its draft; before these
// from tokens were computed. Rows of drafted tokens that agree are as if they had been
// computed one by one.
func (s *Scheduler) settle(q *sequence, from int, d *draw) {
	s.learn(q, d.agreed)
	known := len(q.tokens)
	q.tokens = append(q.tokens, q.draft[:d.agreed]...)
	q.computed += d.agreed
	if q.spare != noSlot && d.agreed < len(q.draft) {
		// States are those after all rows: the rows that agree are computed again.
		s.o.Cache.CopyState(q.slot, q.spare)
		q.computed = from
	}
	s.unspare(q)
	s.keep(q, from)
	s.drop(q)
	q.tokens, q.draft = q.tokens[:known], q.draft[:0]
	s.follow(q, d)
	if q.state != running {
		return
	}
	q.recent = len(q.tokens) - q.computed
	s.trim(q)
}

// trim releases the blocks that q has for a draft.
func (s *Scheduler) trim(q *sequence) {
	blocks := min(s.pool.BlocksFor(len(q.tokens)), len(q.table))
	s.pool.ReleaseAll(q.table[blocks:])
	q.table = q.table[:blocks]
	for i, near := range s.near {
		near.Trim(&q.near[i], blocks)
	}
}

// learn notes how many tokens of q's draft agreed.
func (s *Scheduler) learn(q *sequence, agreed int) {
	n, own, all := len(q.draft), &q.odds[q.source][q.rank], &s.drafts.sources[q.source].odds[q.rank]
	own.note(n, agreed, 16)
	all.note(n, agreed, 256)
	switch {
	case !q.trying:
		q.wait = 0
	case agreed == n: // a try that succeeded: earlier odds do not hold any more
		*own, q.wait = odds{3 * few, 3 * few}, 0
	default:
		q.wait = min(2*q.wait, lastTry)
	}
	q.idle, q.trying = 0, false
	q.right += agreed
	q.wrong += n - agreed
	c := &s.stats
	c.drafts.Add(1)
	c.drafted.Add(int64(n))
	c.accepted.Add(int64(agreed))
	for i := range agreed {
		c.at[i].Add(1)
	}
}

// forget releases q's place with Drafters.
func (s *Scheduler) forget(q *sequence) {
	s.unspare(q)
	q.draft = q.draft[:0]
	if q.place == noPlace {
		return
	}
	for i := range s.drafts.sources {
		s.drafts.sources[i].Forget(q.place)
	}
	s.drafts.places, q.place = append(s.drafts.places, q.place), noPlace
}

func (c *counters) acceptedAt() (list [MostDraft]int64) {
	for i := range c.at {
		list[i] = c.at[i].Load()
	}
	return list
}
