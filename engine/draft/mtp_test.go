package draft_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/engine/cpu"
	"quern/engine/draft"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/sched"
	"quern/engine/token"
	"quern/formats/gguf"
	"quern/kernels/quant"
)

// A layer is one that drafts, with a text and what its model makes of it.
type layer struct {
	t     *testing.T
	be    *cpu.Backend
	next  func(rows, places, blocks int) (graph.Exec, graph.Cache)
	width int
	text  []token.ID
	made  []float32
}

func newLayer(t *testing.T) *layer {
	t.Helper()
	set, err := gguf.Open("../model/testdata/made/glm-4.7-flash/model.gguf")
	if err != nil {
		t.Fatal(err)
	}
	lm, err := model.Open(set)
	if err != nil {
		t.Fatal(err)
	}
	mtp, err := model.OpenMTP(lm)
	if err != nil {
		t.Fatal(err)
	}
	l := &layer{t: t, be: cpu.Open(2), width: lm.Config().Hidden}
	t.Cleanup(func() {
		l.be.Close()
		set.Close()
	})
	compile := func(rows, want, blocks int, record func(b *graph.Builder) []graph.Value) (graph.Exec, graph.Cache) {
		b := graph.NewBuilder(rows, want)
		p, err := b.Compile(record(b)...)
		if err != nil {
			t.Fatal(err)
		}
		exec, err := l.be.Compile(t.Context(), p, graph.Watch{})
		if err != nil {
			t.Fatal(err)
		}
		cache, err := l.be.NewCache(p.CacheSpec(blocks, size, 1, quant.F32))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cache.Close()
			exec.Close()
		})
		return exec, cache
	}
	l.next = func(rows, places, blocks int) (graph.Exec, graph.Cache) {
		return compile(rows, places, blocks, func(b *graph.Builder) []graph.Value {
			made, logits := mtp.Next(b)
			return []graph.Value{logits, made}
		})
	}
	rng := rand.New(rand.NewPCG(2, 3))
	for range 60 {
		l.text = append(l.text, token.ID(rng.IntN(lm.Config().Vocab)))
	}
	exec, cache := compile(len(l.text), 1, 20, func(b *graph.Builder) []graph.Value { return []graph.Value{mtp.Rows(b)} })
	in := new(graph.Batch)
	table := make([]int32, 15)
	for i := range table {
		table[i] = int32(i)
	}
	in.Sequence(table, nil)
	for i, id := range l.text {
		in.Row(id, int32(i))
	}
	out, err := exec.Run(t.Context(), in, cache)
	if err != nil {
		t.Fatal(err)
	}
	l.made = slices.Clone(out[0])
	return l
}

func (l *layer) drafter(rows, places, blocks, aside int) *draft.MTP {
	exec, cache := l.next(rows, places, blocks)
	return l.drafterOf(exec, cache, rows, places, blocks, aside)
}

func (l *layer) drafterOf(exec graph.Exec, cache graph.Cache, rows, places, blocks, aside int) *draft.MTP {
	return draft.NewMTP(draft.MTPOptions{Exec: exec, Cache: cache, Blocks: blocks, BlockSize: size, Rows: rows, Places: places, Context: 200, Width: l.width, Aside: aside})
}

// watch shows a drafter rows of the text, of which n tokens are known then.
func (l *layer) watch(m *draft.MTP, place, from, to, n int) error {
	return m.Watch(l.t.Context(), []sched.Seen{{Place: place, Text: sched.Text{Tokens: l.text[:n]}, From: from, Made: l.made[from*l.width : to*l.width]}})
}

// ask asks for k tokens behind n of the text.
func (l *layer) ask(m *draft.MTP, place, n, k int) []token.ID {
	l.t.Helper()
	x := sched.Text{Tokens: l.text[:n]}
	most, _ := m.Offer(place, x, k)
	asks := []sched.Ask{{Place: place, Text: x, N: most}}
	if most == 0 {
		return nil
	}
	if err := m.Draft(l.t.Context(), asks); err != nil {
		l.t.Fatal(err)
	}
	return asks[0].Draft
}

// TestMTP: however a text is cut into steps, drafted behind in between, and shown again, what is
// drafted behind it is the same; also where its beginning was read for another.
func TestMTP(t *testing.T) {
	l := newLayer(t)
	n := len(l.text)
	whole := l.drafter(64, 1, 30, 8)
	if err := l.watch(whole, 0, 0, n-1, n); err != nil {
		t.Fatal(err)
	}
	want := l.ask(whole, 0, n, 6)
	if len(want) != 6 {
		t.Fatalf("drafted %v", want)
	}
	if again := l.ask(whole, 0, n, 6); !slices.Equal(again, want) {
		t.Errorf("asked again it drafts %v, then %v", want, again)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for round := range 40 {
		rows, aside := 1+rng.IntN(20), 1+rng.IntN(8)
		m := l.drafter(rows, 2, 40, aside)
		place, at := rng.IntN(2), 0
		if round%3 == 0 { // the other place has read the beginning
			other := 20 + rng.IntN(20)
			if err := l.watch(m, 1-place, 0, other, other+1); err != nil {
				t.Fatal(err)
			}
			at = size * rng.IntN((other-aside)/size)
		}
		for at < n-1 {
			to := min(n-1, at+1+rng.IntN(9))
			from := max(0, at-rng.IntN(3)*rng.IntN(2)) // some again
			if at == 0 || round%3 == 0 && to < 30 {
				from = at
			}
			known := min(n, to+1+rng.IntN(3))
			if err := l.watch(m, place, from, to, known); err != nil {
				t.Fatal(err)
			}
			if at = to; rng.IntN(2) == 0 {
				if got := l.ask(m, place, known, 1+rng.IntN(4)); (len(got) > 0) != (known == to+1) {
					t.Errorf("drafted %v behind %d tokens of %d rows", got, known, to)
				}
			}
		}
		if got := l.ask(m, place, n, 6); !slices.Equal(got, want) {
			t.Errorf("round %d, %d rows, %d aside: drafted %v, want %v", round, rows, aside, got, want)
		}
	}
}

// TestMTPGaps: tokens that were not seen are left out, and no block is lost, however often there are too few.
func TestMTPGaps(t *testing.T) {
	l := newLayer(t)
	n := len(l.text)
	m := l.drafter(16, 2, 10, 4)
	for round := range 50 {
		place := round % 2
		from := round % 37
		for at := from; at < n-1; at += 5 {
			if err := l.watch(m, place, at, min(n-1, at+3), n); err != nil { // two of five are missing
				t.Fatal(err)
			}
		}
		if err := l.watch(m, place, n-2, n-1, n); err != nil {
			t.Fatal(err)
		}
		if round%4 == 3 {
			m.Forget(0)
			m.Forget(1)
			if err := l.watch(m, place, n-9, n-1, n); err != nil {
				t.Fatal(err)
			}
			if got := l.ask(m, place, n, 3); len(got) != 3 {
				t.Fatalf("round %d: drafted %v", round, got)
			}
			m.Forget(place)
		}
	}
}

// TestMTPFails: a step that fails leaves nothing behind, and the next text is read as ever.
func TestMTPFails(t *testing.T) {
	l := newLayer(t)
	n := len(l.text)
	exec, cache := l.next(16, 1, 30)
	broken := &failing{Exec: exec}
	m := l.drafterOf(broken, cache, 16, 1, 30, 4)
	read := func() error { return l.watch(m, 0, 0, n-1, n) }
	if err := read(); err != nil {
		t.Fatal(err)
	}
	want := l.ask(m, 0, n, 4)
	for at := 1; at <= 4; at++ {
		m.Forget(0)
		broken.at = at
		if err := read(); err == nil {
			t.Errorf("step %d of reading did not fail", at)
		}
		if got := l.ask(m, 0, n, 4); got != nil {
			t.Errorf("drafted %v of what was not read", got)
		}
		if err := read(); err != nil {
			t.Fatal(err)
		}
		broken.at = at
		asks := []sched.Ask{{Text: sched.Text{Tokens: l.text}, N: 4}}
		if err := m.Draft(t.Context(), asks); err == nil || len(asks[0].Draft) > 0 {
			t.Errorf("%v, %v of a draft that fails at its step %d", asks[0].Draft, err, at)
		}
		if err := read(); err != nil {
			t.Fatal(err)
		}
		if got := l.ask(m, 0, n, 4); !slices.Equal(got, want) {
			t.Errorf("%v after a failure, want %v", got, want)
		}
	}
	if err := errors.Join(m.Watch(t.Context(), nil), m.Draft(t.Context(), nil)); err != nil {
		t.Error(err)
	}
}
