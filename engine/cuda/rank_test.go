package cuda

import (
	"cmp"
	"context"
	"fmt"
	"math"
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

// Rows with masks are ranked by what those allow, beside others and in steps that are recorded;
// rows that come whole are as they are. A mask may be made while the step runs.
func TestMaskedRankings(t *testing.T) {
	t.Parallel()
	p, spec := every(t, quant.F32, 1)
	f := driver.NewFake(1, gigabyte)
	r := newRunner(t, open(t, f, AllLayers), p, spec)
	counts := counted(f)
	for step, tt := range []struct {
		top    []int
		masked []int32
	}{{[]int{1, 1, 1}, []int32{0, 2}}, {[]int{1, 1, 1}, []int32{0, 1, 2}}, {[]int{1, 1, 1}, nil}, {[]int{1, 1, 1}, []int32{1}},
		{[]int{1, 5, 0}, []int32{1}}, {[]int{0, 5, 1}, []int32{0, 1, 2}}, {[]int{1, 5, 1}, []int32{1, 2}}, {[]int{0, 0, 1}, []int32{0}}, {[]int{1, 1, 3}, nil}} {
		in := &graph.Batch{Tables: [][]int32{{0}, {1}, {2}}}
		for s := range 3 {
			in.Tokens, in.Positions = append(in.Tokens, int32(s+step)), append(in.Positions, 0)
			in.Seq, in.Want = append(in.Seq, int32(s)), append(in.Want, int32(s))
		}
		logits := r.run(in)
		rankings := make([]graph.Row, 3)
		asked := 0
		in.Top, in.Take = tt.top, func(i int, row graph.Row) { rankings[i] = row }
		length := func(row int) int { return max(0, (vocab+31)/32-row) }
		allowed := func(row, id int) bool { return row == 0 && id%2 == 0 || row == 1 && id%3 == step%3 && id < vocab/2 }
		in.Masked, in.Allow = tt.masked, func(i int) []uint32 {
			asked++
			words := make([]uint32, length(i)) // past the end all is barred
			for id := range 32 * len(words) {
				if allowed(i, id) {
					words[id/32] |= 1 << (id % 32)
				}
			}
			return words
		}
		if _, err := r.exec.Run(context.Background(), in, r.cache); err != nil {
			t.Fatal(err)
		}
		ranked := 0
		for i, n := range tt.top {
			row := slices.Clone(logits[i*vocab : (i+1)*vocab])
			if n == 0 {
				sameBits(t, fmt.Sprintf("step %d, row %d", step, i), rankings[i].Logits, row)
				continue
			}
			if slices.Contains(tt.masked, int32(i)) {
				ranked++
				for id := range row {
					if !allowed(i, id) || id/32 >= length(i) {
						row[id] = float32(math.Inf(-1))
					}
				}
			}
			want := make([]int32, vocab)
			for id := range want {
				want[id] = int32(id)
			}
			slices.SortFunc(want, func(a, b int32) int { return cmp.Or(cmp.Compare(row[b], row[a]), cmp.Compare(a, b)) })
			k := rankings[i]
			if len(k.IDs) < n {
				t.Fatalf("step %d: row %d has a ranking of %d, want %d", step, i, len(k.IDs), n)
			}
			for j, id := range k.IDs {
				if id != want[j] || k.Logits[j] != row[id] {
					t.Fatalf("step %d: row %d ranks %v with %v, want %v", step, i, k.IDs, k.Logits, want)
				}
			}
		}
		if asked != ranked {
			t.Errorf("step %d: %d masks were asked for, want %d", step, asked, ranked)
		}
	}
	if counts["bar"] != 6 || f.Replays == 0 {
		t.Errorf("launches %v, %d replays; want 6 of bar, and replays", counts, f.Replays)
	}
}

// whole is an Exec that is not told which logits suffice.
type whole struct{ graph.Exec }

func (x whole) Run(ctx context.Context, in *graph.Batch, kv graph.Cache) ([][]float32, error) {
	all := *in
	all.Top, all.Masked = nil, nil
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
			{},
			{Temperature: 1, TopK: 3, Seed: 8},
			{Temperature: 1, Seed: 9},
		} {
			req := sched.Request{Prompt: []int32{int32(3 + k), 5, int32(1 + k)}, Max: 5, Sample: params}
			if k >= 3 {
				req.Mask = func() sample.Mask { return &thirds{n: k} }
			}
			st, err := s.Submit(ctx, req)
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
	if counts[0]["top"] == 0 || counts[0]["bar"] == 0 || counts[1]["top"]+counts[1]["argmax"]+counts[1]["bar"] != 0 {
		t.Errorf("launches from rankings %v, from logits %v", counts[0], counts[1])
	}
}

// thirds is a mask that allows every third token, from another one on each time.
type thirds struct{ n int }

func (m *thirds) Bits() ([]uint32, error) {
	words := make([]uint32, 100)
	for id := range 32 * int32(len(words)) {
		if m.Allows(id) {
			words[id/32] |= 1 << (id % 32)
		}
	}
	return words, nil
}

func (m *thirds) Allows(id int32) bool          { return int(id)%3 == m.n%3 }
func (m *thirds) Forced(dst, _ []int32) []int32 { return dst }
func (m *thirds) Accept(id int32) error         { m.n++; return nil }
func (m *thirds) MayEnd() bool                  { return false }
func (m *thirds) Ended() bool                   { return false }
