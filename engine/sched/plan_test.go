package sched

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPlan(t *testing.T) {
	decode := load{rows: 1, last: true}
	prompt := func(n int) load { return load{rows: n, last: true} }
	reply := func(n int) load { return load{rows: n, last: true, reply: true} }
	scored := func(n int) load { return load{rows: n, to: n - 1, last: true} }
	behind := load{rows: 1, last: true, full: true}
	for _, tt := range []struct {
		name         string
		loads        []load
		budget, want int
		rows         []int
	}{
		{"nothing", nil, 8, 8, []int{}},
		{"decoding only", []load{decode, decode, decode}, 8, 8, []int{1, 1, 1}},
		{"decoding comes first", []load{prompt(100), decode, decode}, 8, 8, []int{6, 1, 1}},
		{"one prompt takes all there is", []load{prompt(100)}, 8, 8, []int{8}},
		{"one prompt takes what it needs", []load{prompt(5)}, 8, 8, []int{5}},
		{"a short prompt behind a long one", []load{prompt(100), prompt(3)}, 16, 16, []int{13, 3}},
		{"long prompts share by age", []load{prompt(100), prompt(100), prompt(100)}, 16, 16, []int{8 + 2, 4, 2}},
		{"the rest goes to the oldest that has use for it", []load{prompt(5), prompt(100), prompt(3)}, 16, 16, []int{5, 8, 3}},
		{"one row for a prompt among many", []load{decode, decode, decode, prompt(9)}, 4, 4, []int{1, 1, 1, 1}},
		{"no row left", []load{decode, decode, prompt(9)}, 2, 2, []int{1, 1, 0}},
		{"readers behind", []load{behind, decode, {rows: 9, last: true, full: true}}, 8, 8, []int{0, 1, 0}},
		{"only readers behind", []load{behind, behind}, 8, 8, []int{0, 0}},
		{"no budget", []load{decode, prompt(3)}, 0, 8, []int{0, 0}},
		{"no results left for the last row", []load{decode, prompt(4)}, 8, 1, []int{1, 3}},
		{"no results left at all", []load{decode, {rows: 1, last: true}}, 8, 1, []int{1, 0}},
		{"a part of a prompt has no results", []load{decode, prompt(20)}, 8, 1, []int{1, 7}},
		{"every row of a scored prompt has one", []load{scored(20)}, 16, 6, []int{6}},
		{"scored whole", []load{scored(5)}, 16, 6, []int{5}},
		{"scored but for the last row", []load{scored(5)}, 16, 4, []int{4}},
		{"results are shared by age too", []load{scored(20), scored(20)}, 32, 8, []int{4 + 2, 2}},
		{"rows scored before need no result", []load{{rows: 10, from: 6, to: 9, last: true}}, 16, 1, []int{7}},
		{"and go without", []load{{rows: 10, from: 6, to: 9, last: true}, decode}, 16, 1, []int{6, 1}},
		{"rows of replies come first too", []load{prompt(100), reply(4), decode}, 8, 8, []int{3, 4, 1}},
		{"each reply has a row before any has more", []load{reply(9), decode, reply(3)}, 5, 8, []int{3, 1, 1}},
		{"replies only, by age", []load{reply(3), reply(9), reply(9)}, 9, 8, []int{3, 5, 1}},
		{"a row for few of many", []load{reply(3), reply(3), reply(3)}, 2, 8, []int{1, 1, 0}},
		{"no results left for the last row of a reply", []load{decode, reply(4)}, 8, 1, []int{1, 3}},
		{"a reply whose reader is behind", []load{{rows: 4, last: true, reply: true, full: true}, prompt(9)}, 8, 8, []int{0, 8}},
		{"nothing to generate", []load{{rows: 10}}, 16, 1, []int{10}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := plan([]int{}, tt.loads, tt.budget, tt.want)
			if !slices.Equal(got, tt.rows) {
				t.Errorf("got %v, want %v", got, tt.rows)
			}
		})
	}
}

// TestPlanBounds checks what must hold for any loads.
func TestPlanBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		loads := make([]load, rng.IntN(12))
		for i := range loads {
			l := load{rows: 1 + rng.IntN(1+rng.IntN(40)), last: rng.IntN(5) > 0, full: rng.IntN(6) == 0, reply: rng.IntN(3) == 0}
			if rng.IntN(3) == 0 {
				l.from = rng.IntN(l.rows)
				l.to = l.from + rng.IntN(l.rows-l.from)
			}
			loads[i] = l
		}
		budget, want := 1+rng.IntN(40), 1+rng.IntN(20)
		rows := plan(nil, loads, budget, want)
		sum, wants, idle := 0, 0, 0
		for i, n := range rows {
			l := &loads[i]
			if n < 0 || n > l.rows || l.full && n > 0 {
				t.Fatalf("%d rows for %+v", n, *l)
			}
			sum += n
			wants += l.wants(n)
			if n < l.rows && !l.full {
				idle++
			}
		}
		if sum > budget || wants > want {
			t.Fatalf("%d rows of %d, %d results of %d: %v for %+v", sum, budget, wants, want, rows, loads)
		}
		if idle > 0 && sum < budget && wants < want {
			t.Fatalf("%d rows of %d and %d results of %d while %d wait: %v for %+v", sum, budget, wants, want, idle, rows, loads)
		}
	}
}
