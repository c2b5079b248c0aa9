package draft

import (
	"cmp"
	"context"

	"quern/engine/graph"
	"quern/engine/kv"
	"quern/engine/sched"
	"quern/engine/token"
)

// MTP drafts with a model's own layer for multi-token prediction, which reads the model's hidden
// states of texts, in a cache of its own. The row of token p is of the hidden state of p and of
// token p + 1. Behind the last token that the model has read, the layer's own hidden state is used
// in place of the model's.
//
// Rows of replies are put aside and computed a few together, or with the next draft. Tokens
// that the model had from its prefix cache are found in the layer's own; where they are not there
// any more, they are left out and those behind stand closer.
type MTP struct {
	o      MTPOptions
	pool   *kv.Pool
	places []trail
	batch  graph.Batch
	open   *trail // whose rows the batch ends with
	found  []int32
	work   []*sched.Ask // those of the step
	best   []token.ID   // by wanted row
}

// MTPOptions configure an MTP. All are needed.
type MTPOptions struct {
	Exec      graph.Exec  // results are the logits and the layer's hidden states of wanted rows; closed by the caller
	Cache     graph.Cache // has Blocks blocks of BlockSize tokens; closed by the caller
	Blocks    int
	BlockSize int
	Rows      int // of one step
	Places    int // at most as many wanted rows are asked for in a step
	Context   int // tokens of a text
	Width     int // of a hidden state
	Aside     int // most rows of a text that are put aside
}

// A trail is the part of a text that was read.
type trail struct {
	begun bool
	whole bool    // rows are all of the text's from its beginning, so others may find them
	next  int     // token of the text whose row comes next
	rows  int     // in the blocks of table
	kept  int     // of rows, those that others find
	table []int32 // of blocks

	// Rows put aside, behind those: the tokens that follow, and the hidden states. Of the first
	// done the keys and values are there, since a draft was made of them. Once anything was
	// read there is one at least.
	ids  []token.ID
	made []float32
	done int
}

// NewMTP returns an MTP.
func NewMTP(o MTPOptions) *MTP {
	m := &MTP{o: o, pool: kv.NewPool(o.Blocks, o.BlockSize), places: make([]trail, o.Places), best: make([]token.ID, o.Places)}
	m.batch.Take = func(want int, r graph.Row) { m.best[want] = likeliest(r) }
	return m
}

// Offer implements sched.Drafter. Rows of tokens that were forced have to be read before more is
// drafted.
func (m *MTP) Offer(place int, t sched.Text, n int) (tokens, rank int) {
	if p := &m.places[place]; len(p.ids) == 0 || p.next != len(t.Tokens)-1 {
		return 0, 0
	}
	return max(0, min(n, m.o.Context-len(t.Tokens))), confident
}

// Watch implements sched.Watcher.
func (m *MTP) Watch(ctx context.Context, seen []sched.Seen) (err error) {
	m.reset()
	for i := range seen {
		if err = m.read(ctx, &seen[i]); err != nil {
			break
		}
	}
	if err == nil {
		err = m.run(ctx)
	}
	for i := range seen {
		s := &seen[i]
		if err != nil { // the contents of the cache are unknown
			m.Forget(s.Place)
		} else {
			m.keep(&m.places[s.Place], s.Text)
		}
	}
	return err
}

// read takes rows of a text.
func (m *MTP) read(ctx context.Context, s *sched.Seen) error {
	p := &m.places[s.Place]
	m.meet(p, s)
	w := m.o.Width
	first, last := p.next-s.From, len(s.Made)/w-1
	if first > last {
		return nil // all of them again
	}
	p.rows += p.done
	p.ids, p.made, p.done = append(p.ids[:0], p.ids[p.done:]...), append(p.made[:0], p.made[p.done*w:]...), 0
	if len(p.ids)+last-first+1 > m.o.Aside {
		for i, id := range p.ids {
			if ok, err := m.put(ctx, p, id, p.made[i*w:(i+1)*w]); !ok {
				return cmp.Or(err, m.giveUp(ctx, s.Place))
			}
		}
		p.ids, p.made = p.ids[:0], p.made[:0]
		for ; first < last; first++ {
			if ok, err := m.put(ctx, p, s.Tokens[s.From+first+1], s.Made[first*w:(first+1)*w]); !ok {
				return cmp.Or(err, m.giveUp(ctx, s.Place))
			}
		}
	}
	p.ids = append(p.ids, s.Tokens[s.From+first+1:s.From+last+2]...)
	p.made = append(p.made, s.Made[first*w:]...)
	p.next = s.From + last + 1
	return nil
}

// meet begins a text, or skips tokens whose hidden states were not passed to Watch.
func (m *MTP) meet(p *trail, s *sched.Seen) {
	if !p.begun {
		m.found = m.pool.Find(m.found[:0], uint32(s.Adapter), p.table, s.Tokens[:s.From+1], 0)
		p.table = m.pool.Adopt(p.table, m.found, 0)
		p.rows = len(m.found) * m.o.BlockSize
		p.begun, p.whole, p.kept, p.next = true, p.rows == s.From, p.rows, s.From
	}
	if s.From > p.next {
		p.whole, p.next = false, s.From
	}
}

// put adds a row to the batch, which is run when it is full. It reports whether there was a block
// for it.
func (m *MTP) put(ctx context.Context, p *trail, follows token.ID, made []float32) (bool, error) {
	if len(m.batch.Tokens) == m.o.Rows {
		if err := m.run(ctx); err != nil {
			return false, err
		}
	}
	if !m.pool.Grow(&p.table, p.rows+1) {
		return false, nil
	}
	m.row(p, follows, p.rows, made)
	p.rows++
	return true, nil
}

// giveUp drops the trail of a place that there is no block for, after running the batch that writes
// to its blocks.
func (m *MTP) giveUp(ctx context.Context, place int) error {
	err := m.run(ctx)
	m.Forget(place)
	return err
}

// row adds a row to the batch.
func (m *MTP) row(p *trail, follows token.ID, at int, made []float32) {
	if m.open != p {
		m.open = p
		m.batch.Sequence(p.table, nil)
	}
	m.batch.Tables[len(m.batch.Tables)-1] = p.table // it may have grown
	m.batch.Row(follows, int32(at))
	m.batch.Features = append(m.batch.Features, made...)
}

func (m *MTP) reset() {
	m.batch.Reset()
	m.open = nil
}

// run computes the rows of the batch, none of which are wanted.
func (m *MTP) run(ctx context.Context) error {
	defer m.reset()
	if len(m.batch.Tokens) == 0 {
		return nil
	}
	_, err := m.o.Exec.Run(ctx, &m.batch, m.o.Cache)
	return err
}

// keep makes the full blocks of a text findable.
func (m *MTP) keep(p *trail, t sched.Text) {
	if p.whole {
		m.pool.Keep(uint32(t.Adapter), p.table, t.Tokens, p.kept, p.rows)
		p.kept = p.rows
	}
}

// Draft implements sched.Drafter.
func (m *MTP) Draft(ctx context.Context, asks []sched.Ask) error {
	err := m.draft(ctx, asks)
	if err != nil {
		for i := range asks {
			m.Forget(asks[i].Place)
			asks[i].Draft = asks[i].Draft[:0]
		}
	}
	return err
}

func (m *MTP) draft(ctx context.Context, asks []sched.Ask) error {
	m.reset()
	if err := m.makeRoom(ctx, asks); err != nil {
		return err
	}
	m.work = m.work[:0]
	for i := range asks {
		a := &asks[i]
		p := &m.places[a.Place]
		if len(p.ids) == 0 || !m.pool.Grow(&p.table, p.rows+len(p.ids)+a.N-1) {
			continue
		}
		for k, id := range p.ids {
			m.row(p, id, p.rows+k, p.made[k*m.o.Width:(k+1)*m.o.Width])
		}
		m.batch.WantRow(1)
		p.done = len(p.ids)
		m.work = append(m.work, a)
	}
	return onward(ctx, m.o.Exec, m.o.Cache, &m.batch, m.work, m.best, func(i int, a *sched.Ask, results [][]float32) {
		p := &m.places[a.Place]
		m.open = nil // each is a sequence of the new batch
		m.row(p, m.best[i], p.rows+len(p.ids)+len(a.Draft)-1, results[1][i*m.o.Width:(i+1)*m.o.Width])
	})
}

// makeRoom computes rows that were put aside where all of them are more than a step has, but for the last
// of each text.
func (m *MTP) makeRoom(ctx context.Context, asks []sched.Ask) error {
	rows := 0
	for i := range asks {
		rows += len(m.places[asks[i].Place].ids)
	}
	if rows <= m.o.Rows {
		return nil
	}
	for i := range asks {
		p := &m.places[asks[i].Place]
		for len(p.ids) > 1 {
			if ok, err := m.put(ctx, p, p.ids[0], p.made[:m.o.Width]); err != nil {
				return err
			} else if !ok {
				if err := m.giveUp(ctx, asks[i].Place); err != nil {
					return err
				}
				break
			}
			p.ids, p.made, p.done = p.ids[1:], p.made[m.o.Width:], 0
		}
	}
	return m.run(ctx)
}

// Forget implements sched.Drafter.
func (m *MTP) Forget(place int) {
	p := &m.places[place]
	m.pool.ReleaseAll(p.table)
	*p = trail{table: p.table[:0], ids: p.ids[:0], made: p.made[:0]}
}
