package cuda

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"quern/engine/graph"
	"quern/engine/sample"
	"quern/engine/sched"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// Rankings are those of the logits, in recorded steps too, and rows they do not
// suffice for come whole.
func TestRankings(t *testing.T) {
	t.Parallel()
	p, spec := every(t, quant.F32, 1)
	f := driver.NewFake(1, gigabyte)
	r := newRunner(t, open(t, f, AllLayers), p, spec)
	table := [][]int32{{0}, {1}, {2}}
	counts := counted(f)
	for step, top := range [][]int{{1, 1, 1}, {1, 5, 0}, {1, 5, 1}, {vocab, 1, 300}, {1, vocab - 1, 0}} {
		in := &graph.Batch{Tables: table}
		for s := range 3 {
			in.Tokens, in.Positions = append(in.Tokens, int32(s+step)), append(in.Positions, 0)
			in.Seq, in.Want = append(in.Seq, int32(s)), append(in.Want, int32(s))
		}
		logits := r.run(in)
		rankings := make([]graph.Row, len(top))
		in.Top, in.Take = top, func(i int, row graph.Row) { rankings[i] = row }
		out, err := r.exec.Run(context.Background(), in, r.cache)
		if err != nil || out[0] != nil {
			t.Fatalf("results %v beside what was taken, %v", out[0], err)
		}
		for i, n := range top {
			row := logits[i*vocab : (i+1)*vocab]
			k := rankings[i]
			if n == 0 || n >= vocab {
				if k.IDs != nil {
					t.Errorf("step %d: row %d has a ranking, want none", step, i)
				}
				sameBits(t, fmt.Sprintf("step %d, row %d", step, i), k.Logits, row)
				continue
			}
			if len(k.IDs) < n || len(k.IDs) != len(k.Logits) {
				t.Fatalf("step %d: row %d has a ranking of %d and %d, want %d", step, i, len(k.IDs), len(k.Logits), n)
			}
			want := make([]int32, vocab)
			for id := range want {
				want[id] = int32(id)
			}
			slices.SortFunc(want, func(a, b int32) int { return cmp.Or(cmp.Compare(row[b], row[a]), cmp.Compare(a, b)) })
			for j, id := range k.IDs {
				if id != want[j] || k.Logits[j] != row[id] {
					t.Fatalf("step %d: row %d ranks %v, want %v", step, i, k.IDs, want)
				}
			}
		}
	}
	if counts["argmax"] == 0 || counts["top"] == 0 || f.Replays == 0 {
		t.Errorf("launches %v, %d replays; want argmax, top and replays", counts, f.Replays)
	}
}

// whole is an Exec that is not told which logits suffice.
type whole struct{ graph.Exec }

func (x whole) Run(ctx context.Context, in *graph.Batch, kv graph.Cache) ([][]float32, error) {
	all := *in
	all.Top = nil
	return x.Exec.Run(ctx, &all, kv)
}

// A scheduler gives the same replies from rankings as from logits, to requests of
// all kinds together.
func TestRankedReplies(t *testing.T) {
	t.Parallel()
	_, m := load(t, "llama-bias-linear.gguf")
	p, spec := program(t, m, 8, 8)
	spec.Blocks, spec.BlockSize = 32, 8
	var replies [2][][]int32
	counts := make([]map[string]int, 2)
	for i := range replies {
		f := driver.NewFake(1, gigabyte)
		r := newRunner(t, open(t, f, AllLayers), p, spec)
		counts[i] = counted(f)
		x := r.exec
		if i == 1 {
			x = whole{x}
		}
		s, err := sched.New(sched.Options{Exec: x, Cache: r.cache, Blocks: spec.Blocks, BlockSize: spec.BlockSize, Budget: p.Rows, MaxWant: p.Want, Slots: 64, Queue: 64})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Run(ctx)
		}()
		var streams []*sched.Stream
		for k, params := range []sample.Params{
			{},
			{Temperature: 1, TopK: 8, TopP: 0.95, Seed: 7},
			{RepeatPenalty: 1.5},
			{Logprobs: true, Top: 2},
		} {
			st, err := s.Submit(ctx, sched.Request{Prompt: []int32{int32(3 + k), 5, int32(1 + k)}, Max: 5, Sample: params})
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, st)
		}
		for _, st := range streams {
			var ids []int32
			for ev, err := range st.Events() {
				if err != nil {
					t.Fatal(err)
				}
				if ev.Type == sched.Token {
					ids = append(ids, ev.Token.ID)
				}
			}
			replies[i] = append(replies[i], ids)
		}
		stop()
		<-done
	}
	if fmt.Sprint(replies[0]) != fmt.Sprint(replies[1]) {
		t.Errorf("replies from rankings %v, from logits %v", replies[0], replies[1])
	}
	if counts[0]["top"] == 0 || counts[1]["top"]+counts[1]["argmax"] != 0 {
		t.Errorf("launches from rankings %v, from logits %v", counts[0], counts[1])
	}
}
