package draft

import (
	"context"

	"quern/engine/graph"
	"quern/engine/kv"
	"quern/engine/sched"
	"quern/engine/token"
)

// Model drafts the likeliest tokens of another language model, a small one of the same
// vocabulary. It has a cache of its own, in which it reads all texts by itself, a part at a time.
type Model struct {
	o      ModelOptions
	pool   *kv.Pool
	places []past
	batch  graph.Batch
	found  []int32
	work   []*sched.Ask // those of the step
	best   []token.ID   // by wanted row
}

// ModelOptions configure a Model. All are needed.
type ModelOptions struct {
	Exec      graph.Exec  // result 0 is the logits; closed by the caller
	Cache     graph.Cache // has Blocks blocks of BlockSize tokens; closed by the caller
	Blocks    int
	BlockSize int
	Rows      int // of one step
	Places    int // at most as many wanted rows are asked for in a step
	Context   int // tokens of a text
	Vocab     int // tokens of the model
}

// A past is the part of a text that the model has read, and its draft behind that.
type past struct {
	ids     []token.ID // whose keys and values are in the blocks of table
	checked int        // of ids, those the text is known to begin with
	strange int        // tokens of the text that were checked against the vocabulary
	foreign bool       // it has tokens that are not in the model's vocabulary
	table   []int32
}

// NewModel returns a Model.
func NewModel(o ModelOptions) *Model {
	m := &Model{o: o, pool: kv.NewPool(o.Blocks, o.BlockSize), places: make([]past, o.Places), best: make([]token.ID, o.Places)}
	m.batch.Take = m.take
	return m
}

// take is Batch.Take.
func (m *Model) take(want int, r graph.Row) { m.best[want] = likeliest(r) }

// likeliest draws greedily.
func likeliest(r graph.Row) token.ID {
	if r.IDs != nil {
		return r.IDs[0]
	}
	best := 0
	for i, x := range r.Logits {
		if x > r.Logits[best] {
			best = i
		}
	}
	return token.ID(best)
}

// confident is the rank of all that it offers.
const confident = 2

// Offer implements sched.Drafter.
func (m *Model) Offer(place int, t sched.Text, n int) (tokens, rank int) {
	p := &m.places[place]
	for ; p.strange < len(t.Tokens); p.strange++ {
		p.foreign = p.foreign || int(t.Tokens[p.strange]) >= m.o.Vocab
	}
	if p.foreign {
		return 0, 0
	}
	return max(0, min(n, m.o.Context-len(t.Tokens))), confident
}

// Draft implements sched.Drafter. A step reads at most Rows tokens; texts that are not read to
// their end by then have their drafts another time.
func (m *Model) Draft(ctx context.Context, asks []sched.Ask) error {
	m.work = m.work[:0]
	m.batch.Reset()
	rows := m.o.Rows - len(asks) // each has one at least
	for i := range asks {
		a := &asks[i]
		p := &m.places[a.Place]
		p.begin(a.Tokens)
		if len(p.ids) == 0 && len(p.table) == 0 {
			m.found = m.pool.Find(m.found[:0], 0, p.table, a.Tokens, 0)
			p.table = m.pool.Adopt(p.table, m.found, 0)
			p.ids = append(p.ids, a.Tokens[:len(m.found)*m.o.BlockSize]...)
			p.checked = len(p.ids)
		}
		if !m.pool.Grow(&p.table, len(a.Tokens)+a.N) {
			continue
		}
		n := min(len(a.Tokens)-len(p.ids), rows+1)
		rows -= n - 1
		m.rows(p, a.Tokens[len(p.ids):len(p.ids)+n])
		if len(p.ids) == len(a.Tokens) {
			m.batch.WantRow(1)
			m.work = append(m.work, a)
		}
	}
	err := onward(ctx, m.o.Exec, m.o.Cache, &m.batch, m.work, m.best, func(_ int, a *sched.Ask, _ [][]float32) {
		m.rows(&m.places[a.Place], a.Draft[len(a.Draft)-1:])
	})
	if err != nil {
		for i := range asks { // the contents of the cache are unknown
			m.Forget(asks[i].Place)
			asks[i].Draft = asks[i].Draft[:0]
		}
		return err
	}
	for i := range asks { // found again by other replies to the prompt, and its next turn
		p := &m.places[asks[i].Place]
		n := min(len(p.ids), len(asks[i].Tokens))
		m.pool.Keep(0, p.table, asks[i].Tokens, p.checked, n)
		p.checked = n
	}
	return nil
}

// onward drafts behind the texts of work, a token of each in a step. The batch wants the last row of
// each; next adds the row of the token just drafted for work i, given the results of the step that drafted it.
func onward(ctx context.Context, exec graph.Exec, cache graph.Cache, batch *graph.Batch, work []*sched.Ask, best []token.ID, next func(i int, a *sched.Ask, results [][]float32)) error {
	for len(batch.Tokens) > 0 {
		results, err := exec.Run(ctx, batch, cache)
		if err != nil {
			return err
		}
		batch.Reset()
		left := work[:0]
		for i, a := range work {
			a.Draft = append(a.Draft, best[i])
			if len(a.Draft) < a.N {
				next(i, a, results)
				batch.WantRow(1)
				left = append(left, a)
			}
		}
		work = left
	}
	return nil
}

// rows adds rows of a text to the step.
func (m *Model) rows(p *past, ids []token.ID) {
	m.batch.Sequence(p.table, nil)
	for _, id := range ids {
		m.batch.Row(id, int32(len(p.ids)))
		p.ids = append(p.ids, id)
	}
}

// begin drops drafted tokens that were not drawn. The last token of a text is always
// read again, since its logits are needed.
func (p *past) begin(text []token.ID) {
	n := min(p.checked, len(text)-1)
	for n < min(len(p.ids), len(text)-1) && p.ids[n] == text[n] {
		n++
	}
	p.ids = p.ids[:n]
	p.checked = min(p.checked, n)
}

// Forget implements sched.Drafter.
func (m *Model) Forget(place int) {
	p := &m.places[place]
	m.pool.ReleaseAll(p.table)
	*p = past{ids: p.ids[:0], table: p.table[:0]}
}
