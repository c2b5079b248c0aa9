package embed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"quern/engine/graph"
	"quern/engine/lm"
	"quern/engine/token"
)

// texts are n texts of so many tokens.
func texts(n, tokens int) (out [][]token.ID) {
	for range n {
		out = append(out, make([]token.ID, tokens))
	}
	return out
}

// atMost has steps of so many texts.
func atMost(n int) func([]waiting, []token.ID) bool {
	return func(taken []waiting, _ []token.ID) bool { return len(taken) < n }
}

// A step takes texts of each request in turn, so the few of one do not wait for the many of
// another; the next begins with another request.
func TestTurns(t *testing.T) {
	var q queue
	names := map[*request]string{}
	for _, r := range []struct {
		name string
		n    int
	}{{"many ", 9}, {"one ", 1}, {"two ", 2}} {
		names[q.add(t.Context(), 0, texts(r.n, 1))] = r.name
	}
	var got []string
	for {
		taken := q.take(atMost(4))
		if len(taken) == 0 {
			break
		}
		step := ""
		for _, w := range taken {
			step += fmt.Sprint(names[w.of], w.at, " ")
		}
		got = append(got, step)
		q.ran(taken, nil)
	}
	want := []string{"many 0 one 0 two 0 many 1 ", "two 1 many 2 many 3 many 4 ", "many 5 many 6 many 7 many 8 "}
	if !slices.Equal(got, want) {
		t.Errorf("steps %q, want %q", got, want)
	}
	for r, name := range names {
		select {
		case <-r.done:
		default:
			t.Errorf("%sis not done", name)
		}
	}
}

// The first text of a step is taken however long it is, so none waits for ever; one that is too
// long beside others waits for a step that begins with its request.
func TestLongText(t *testing.T) {
	d := &Recorded{EncoderPlan: lm.EncoderPlan{Rows: 1000, Shared: 8, Spec: graph.CacheSpec{BlockSize: 4, Blocks: 3}}}
	d.add(t.Context(), 0, texts(3, 2))
	d.add(t.Context(), 0, texts(1, 900))
	var lengths []int
	for taken := d.take(d.fits); len(taken) > 0; taken = d.take(d.fits) {
		lengths = append(lengths, len(taken)*1000+len(taken[0].tokens()))
	}
	if want := []int{3002, 1900}; !slices.Equal(lengths, want) {
		t.Errorf("steps of %v, want %v", lengths, want)
	}
}

// A failure is that of the requests with texts in the step; cancelled requests are dropped.
func TestFailedStep(t *testing.T) {
	var q queue
	a, b, c := q.add(t.Context(), 0, texts(5, 1)), q.add(t.Context(), 0, texts(2, 1)), q.add(t.Context(), 0, texts(1, 1))
	q.remove(c)
	taken := q.take(atMost(1))
	broken := errors.New("broken")
	q.ran(taken, broken)
	<-a.done
	if !errors.Is(a.err, broken) || b.err != nil {
		t.Errorf("errors %v and %v", a.err, b.err)
	}
	for taken := q.take(atMost(1)); len(taken) > 0; taken = q.take(atMost(1)) {
		if taken[0].of != b {
			t.Error("a step has texts of a request that failed or left")
		}
		q.ran(taken, nil)
	}
	<-b.done
}

// Vectors are the same to the bit whether a request is alone or shares its steps.
func TestShared(t *testing.T) {
	x := recorded(t, 2, 32)
	r := rand.New(rand.NewPCG(1, 1))
	var asked [12][][]token.ID
	var want [len(asked)][][]float32
	for i := range asked {
		for range 1 + r.IntN(6) {
			text := make([]token.ID, 1+r.IntN(50)) // some take two steps
			for k := range text {
				text[k] = token.ID(300 + r.IntN(2000))
			}
			asked[i] = append(asked[i], text)
		}
		var err error
		if want[i], err = x.Run(t.Context(), asked[i], nil); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i := range asked {
		wg.Go(func() {
			ctx := t.Context()
			if i%4 == 3 { // leaves at some time, or not
				var cancel func()
				ctx, cancel = context.WithCancel(ctx)
				go cancel()
			}
			got, err := x.Run(ctx, asked[i], nil)
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			for k := range got {
				if !slices.Equal(got[k], want[i][k]) {
					t.Errorf("text %d of request %d has another vector beside others", k, i)
				}
			}
		})
	}
	wg.Wait()
	if x.Running() != 0 || len(x.requests) != 0 {
		t.Errorf("%d requests run, %d are left", x.Running(), len(x.requests))
	}
}
