package sched_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quern/engine/cpu"
	"quern/engine/draft"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/sched"
	"quern/engine/token"
	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// A drafting is a model with a layer that drafts.
type drafting struct {
	lm  model.LM
	mtp *model.MTP
}

// openDrafting opens a model whose blocks add next to nothing to the embedding, so that its layer,
// which has the model's own embedding and head, is often right.
func openDrafting(t *testing.T, name string) drafting {
	t.Helper()
	set, err := gguf.Open("../model/testdata/made/" + name + "/model.gguf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	damped := &weights.Set{Source: set.Source, Meta: set.Meta}
	for w := range set.All() {
		if strings.Contains(w.Name, "nextn.shared_head_head") || strings.Contains(w.Name, "nextn.embed_tokens") {
			continue
		}
		if strings.Contains(w.Name, "attn_output") || strings.Contains(w.Name, "ffn_down") || strings.Contains(w.Name, "ssm_out") {
			x := make([]float32, w.Elems())
			w.Type.Layout().Decode(x, w.Data)
			data := make([]byte, 0, 4*len(x))
			for _, v := range x {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(0.02*v))
			}
			w = &weights.Tensor{Name: w.Name, Type: quant.F32, Shape: w.Shape, Data: data}
		}
		if err := damped.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	var d drafting
	if d.lm, err = model.Open(damped); err == nil {
		d.mtp, err = model.OpenMTP(d.lm)
	}
	if err == nil {
		err = damped.Fill()
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// pass is what a step computes.
func (d drafting) pass(b *graph.Builder) []graph.Value {
	all := d.mtp.Rows(b)
	return []graph.Value{d.lm.Logits(b, b.Take(all, b.Wanted())), all}
}

// drafter is the layer with as many blocks.
func (d drafting) drafter(t *testing.T, rows, slots, blocks, size, aside int) *draft.MTP {
	t.Helper()
	b := graph.NewBuilder(rows, slots)
	made, logits := d.mtp.Next(b)
	p, err := b.Compile(logits, made)
	if err != nil {
		t.Fatal(err)
	}
	be := cpu.Open(2)
	exec, err := be.Compile(t.Context(), p, graph.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	cache, err := be.NewCache(p.CacheSpec(blocks, size, 1, quant.F32))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		exec.Close()
		cache.Close()
		be.Close()
	})
	return draft.NewMTP(draft.MTPOptions{Exec: exec, Cache: cache, Blocks: blocks, BlockSize: size, Rows: rows, Places: slots, Context: 96, Width: d.lm.Config().Hidden, Aside: aside})
}

var mtpModels = []string{"glm4moe", "glm-4.7-flash", "qwen35moe"}

// TestMTPChangesNothing: random requests, greedy and drawn, with stops, masks, penalties and
// several replies, in a batch that preempts and beside others that are cancelled, get the replies that
// they get without drafts, to the bit of every log-probability, when the model's own layer drafts.
func TestMTPChangesNothing(t *testing.T) {
	const each = 48
	for at, name := range mtpModels {
		t.Run(name, func(t *testing.T) {
			const size, slots = 4, 6
			d := openDrafting(t, name)
			requests := randomRequests(rand.New(rand.NewPCG(uint64(at), 8)), each, d.lm.Config().Vocab)
			requests, want := sound(requests, answers(t, start(t, d.lm, 400, 0, size, 2), requests))
			var drafted, came, preempted int // these depend on which requests are in the same step, and on when others are cancelled
			for _, tt := range []struct{ rows, blocks, aside int }{{16, 40, 8}, {6, 40, 1}, {16, 7, 3}} {
				drafters := []sched.Drafter{d.drafter(t, tt.rows, slots, tt.blocks, size, tt.aside)}
				if tt.aside == 1 {
					drafters = append(drafters, draft.NewLookup(slots, 96))
				}
				s := startPass(t, d.pass, 24, 0, size, slots, func() time.Time { return time.Time{} }, drafters...)
				leave := leavers(t, s, requests)
				got := answers(t, s, requests)
				leave()
				for k := range want {
					if fmt.Sprint(got[k]) != fmt.Sprint(want[k]) {
						t.Fatalf("%+v: reply %d is\n%v, without drafts\n%v", tt, k, got[k], want[k])
					}
				}
				st := s.Stats()
				t.Logf("%+v: %d of %d drafted tokens came, %d of the first; %d preemptions", tt, st.AcceptedTokens, st.DraftTokens, st.AcceptedAt[0], st.Preemptions)
				drafted, came, preempted = drafted+int(st.DraftTokens), came+int(st.AcceptedTokens), preempted+int(st.Preemptions)
			}
			if came < each/4 || drafted < came+10 || preempted == 0 {
				t.Errorf("not much happened: %d of %d drafted tokens came, %d preemptions", came, drafted, preempted)
			}
		})
	}
}

// sound leaves out requests of which a reply failed, as its mask came to an end: that ends the others,
// wherever they are.
func sound(requests []sched.Request, all []answer) (rest []sched.Request, want []answer) {
	for _, r := range requests {
		own := all[:r.N]
		if all = all[r.N:]; !slices.ContainsFunc(own, func(a answer) bool { return a.err != nil }) {
			rest, want = append(rest, r), append(want, own...)
		}
	}
	return rest, want
}

// leavers are some of the requests again, whose readers leave after their first token.
func leavers(t *testing.T, s late, requests []sched.Request) (wait func()) {
	var all sync.WaitGroup
	for i := range requests {
		if i%4 > 0 {
			continue
		}
		ctx, leave := context.WithCancel(t.Context())
		st, err := s.Submit(ctx, requests[i])
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer leave()
			for e := range st.Events() {
				if e.Type == sched.Token {
					leave()
				}
			}
		})
	}
	return all.Wait
}

// A witness is a Drafter that looks at what steps are said to have made.
type witness struct {
	guesser
	t     *testing.T
	rows  map[string]string // by tokens up to one: what the model made of it
	next  map[int]int       // by place
	again int               // rows seen again
}

// Watch implements sched.Watcher.
func (w *witness) Watch(_ context.Context, seen []sched.Seen) error {
	for i := range seen {
		s := &seen[i]
		n := len(s.Made) / w.width()
		if n == 0 || s.From+n >= len(s.Tokens) {
			w.t.Errorf("%d rows from token %d on, of %d tokens", n, s.From, len(s.Tokens))
		}
		if next, ok := w.next[s.Place]; ok && s.From > next {
			w.t.Errorf("rows from token %d on, after %d", s.From, next)
		}
		for k := range n {
			key, made := fmt.Sprint(s.Tokens[:s.From+k+1]), fmt.Sprint(s.Made[k*w.width():(k+1)*w.width()])
			if old, ok := w.rows[key]; ok && old != made {
				w.t.Errorf("token %d: another row was made of the same text", s.From+k)
			}
			w.rows[key] = made
		}
		w.again += max(0, w.next[s.Place]-s.From)
		w.next[s.Place] = max(w.next[s.Place], s.From+n)
	}
	return nil
}

func (w *witness) width() int { return 32 }

// Forget implements sched.Drafter.
func (w *witness) Forget(place int) { delete(w.next, place) }

// TestWatch: a Watcher sees each token that stands once, in order, with the row that the model makes of it
// however texts are cut into steps and whatever was drafted in vain; but for states, whose
// rows are computed again.
func TestWatch(t *testing.T) {
	for _, name := range mtpModels {
		t.Run(name, func(t *testing.T) {
			d := openDrafting(t, name)
			const size, slots = 4, 6
			requests := randomRequests(rand.New(rand.NewPCG(3, 9)), 30, d.lm.Config().Vocab)
			requests, want := sound(requests, answers(t, start(t, d.lm, 400, 0, size, 2), requests))
			w := &witness{t: t, rows: map[string]string{}, next: map[int]int{}}
			w.wrong, w.vocab, w.rng = 0.3, d.lm.Config().Vocab, rand.New(rand.NewPCG(4, 4))
			for _, a := range want {
				w.replies = append(w.replies, a.tokens)
			}
			got := answers(t, startPass(t, d.pass, 24, 0, size, slots, func() time.Time { return time.Time{} }, w), requests)
			for k := range want {
				if !slices.Equal(got[k].tokens, want[k].tokens) {
					t.Fatalf("reply %d is %v, want %v", k, got[k].tokens, want[k].tokens)
				}
			}
			if len(w.rows) < 300 || (w.again > 0) != (d.lm.Config().State > 0) {
				t.Errorf("%d rows, %d again", len(w.rows), w.again)
			}
		})
	}
}

// A Drafter that watches an engine that does not say what it makes fails its requests, not the
// process.
func TestWatchNothing(t *testing.T) {
	d := openDrafting(t, "glm4moe")
	w := &witness{t: t, rows: map[string]string{}, next: map[int]int{}}
	s := start(t, d.lm, 40, 0, 4, 2, w)
	got := answers(t, s, []sched.Request{{Prompt: []token.ID{1, 2, 3}, N: 1, Max: 4}})
	if err := got[0].err; err == nil || !strings.Contains(err.Error(), "what the model makes of its rows") {
		t.Errorf("%v", err)
	}
}
