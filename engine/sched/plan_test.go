package sched

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestPlan(t *testing.T) {
	decode := load{rows: 1, last: true}
	prompt := func(n int) load { return load{rows: n, last: true} }
	late := func(l load, had int, since int64) load { l.had, l.since = had, since; return l }
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
		{"the shortest prompt goes first", []load{prompt(100), prompt(3)}, 16, 16, []int{13, 3}},
		{"and then the older one", []load{prompt(100), prompt(100), prompt(3)}, 16, 16, []int{13, 0, 3}},
		{"the rest goes to the next", []load{prompt(5), prompt(100), prompt(3)}, 16, 16, []int{5, 8, 3}},
		{"unless the oldest has had too little", []load{late(prompt(100), 10, 41), prompt(3)}, 16, 16, []int{16, 0}},
		{"which ends when it has had enough", []load{late(prompt(100), 10, 40), prompt(3)}, 16, 16, []int{13, 3}},
		{"only the oldest", []load{prompt(100), late(prompt(100), 10, 41), prompt(3)}, 16, 16, []int{13, 0, 3}},
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
		{"results go to the first too", []load{scored(20), scored(30)}, 32, 8, []int{8, 0}},
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
			p := planner{costs: new(costs)}
			got := p.plan([]int{}, tt.loads, tt.budget, tt.want)
			if !slices.Equal(got, tt.rows) {
				t.Errorf("got %v, want %v", got, tt.rows)
			}
		})
	}
}

// TestPlanBounds checks what must hold for any loads and costs.
func TestPlanBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		loads := make([]load, rng.IntN(12))
		behind := rng.IntN(1 + len(loads))
		for i := range loads {
			l := load{rows: 1 + rng.IntN(1+rng.IntN(40)), last: rng.IntN(5) > 0, full: rng.IntN(6) == 0, reply: rng.IntN(3) == 0}
			if rng.IntN(3) == 0 {
				l.from = rng.IntN(l.rows)
				l.to = l.from + rng.IntN(l.rows-l.from)
			}
			l.depth, l.background = rng.IntN(2)*rng.IntN(5000), i >= behind
			l.had, l.since = rng.IntN(30), rng.Int64N(200)
			loads[i] = l
		}
		c := new(costs)
		for range rng.IntN(30) {
			of := share{rows: rng.IntN(2) * rng.IntN(100), depth: rng.IntN(100000)}
			c.note(of.rows+1+rng.IntN(5), of, time.Duration(rng.IntN(1e8)))
		}
		p := planner{costs: c, stays: rng.IntN(2) == 0}
		budget, want := 1+rng.IntN(40), 1+rng.IntN(20)
		rows := p.plan(nil, loads, budget, want)
		if again := (&planner{costs: c, stays: p.stays}).plan(nil, loads, budget, want); !slices.Equal(rows, again) {
			t.Fatalf("%v and then %v of the same", rows, again)
		}
		sum, wants, replies, others := 0, 0, 0, false
		waits := [2]bool{} // in the background, and not
		for i, n := range rows {
			l := &loads[i]
			if n < 0 || n > l.rows || l.full && n > 0 {
				t.Fatalf("%d rows for %+v", n, *l)
			}
			sum += n
			wants += l.wants(n)
			if l.first() && !l.background {
				replies += l.rows
			}
			others = others || n > 0 && !l.background
			waits[b2i(l.background)] = waits[b2i(l.background)] || n == 0 && !l.full
		}
		if sum > budget || wants > want {
			t.Fatalf("%d rows of %d, %d results of %d: %v for %+v", sum, budget, wants, want, rows, loads)
		}
		idle := sum < budget && wants < want
		if idle && sum == 0 && (waits[0] || waits[1]) {
			t.Fatalf("nothing runs: %+v", loads)
		}
		for i, n := range rows {
			if l := &loads[i]; idle && l.first() && !l.background && n < l.rows {
				t.Fatalf("%d of %d rows of a reply with %d of %d planned: %+v", n, l.rows, sum, budget, loads)
			}
		}
		if waits[0] && !others && idle {
			t.Fatalf("the background runs and others wait: %v for %+v", rows, loads)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestPlanTime: how many rows of prompts go beside replies, by what was measured.
func TestPlanTime(t *testing.T) {
	const ms = time.Millisecond
	decode := load{rows: 1, last: true}
	prompt := func(n, depth int) load { return load{rows: n, last: true, depth: depth} }
	behind := func(l load) load { l.background = true; return l }
	for _, tt := range []struct {
		name        string
		row, deeper time.Duration // what a row of a prompt takes; with a thousand tokens before it
		stays       bool
		loads       []load
		rows        []int
	}{
		{"a prompt alone", 2 * ms, 0, false, []load{prompt(1000, 0)}, []int{longest * 20 / 2}},
		{"beside a reply", 2 * ms, 0, false, []load{decode, prompt(1000, 0)}, []int{1, 14}},
		{"one that goes on for long", 2 * ms, 0, false, []load{decode, prompt(16000, 0)}, []int{1, 8}},
		{"rows behind many tokens", 2 * ms, 2 * ms, false, []load{decode, prompt(1000, 6000)}, []int{1, 2}},
		{"a row at least", 30 * ms, 0, false, []load{decode, prompt(1000, 0)}, []int{1, 1}},
		{"three prompts beside a reply", 2 * ms, 0, false, []load{decode, prompt(10, 0), prompt(10, 0), prompt(100, 0)}, []int{1, 10, 10, 10}},
		{"the background rests beside a prompt", 2 * ms, 0, false, []load{prompt(400, 0), behind(decode), behind(prompt(500, 0))}, []int{160, 0, 0}},
		{"it has a sixteenth beside a reply", ms / 10, 0, false, []load{decode, behind(prompt(500, 0))}, []int{1, 12}},
		{"which may be nothing", 4 * ms, 0, false, []load{decode, behind(decode), behind(prompt(100, 0))}, []int{1, 0, 0}},
		{"the background alone", 2 * ms, 0, false, []load{behind(prompt(1000, 0))}, []int{160}},
		{"the same where it cannot give up", 2 * ms, 0, true, []load{behind(prompt(1000, 0))}, []int{24}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := new(costs)
			for range 40 {
				for depth := range 8 {
					c.note(1, share{}, 20*ms)
					c.note(2, share{}, 24*ms)
					c.note(21, share{20, 20 * 1000 * depth}, 20*ms+20*(tt.row+tt.deeper*time.Duration(depth)))
				}
			}
			c.mean[21], c.when[21] = 0, 0
			p := planner{costs: c, stays: tt.stays}
			got := p.plan(nil, tt.loads, 4096, 64)
			for i := range got {
				if d := got[i] - tt.rows[i]; d < -1-tt.rows[i]/40 || d > 1+tt.rows[i]/40 || (got[i] == 0) != (tt.rows[i] == 0) {
					t.Errorf("got %v, want %v", got, tt.rows)
					break
				}
			}
		})
	}
}

// TestPlanBeside: in how many of so many steps the background has rows beside others, and that it
// has what is said to be the least.
func TestPlanBeside(t *testing.T) {
	const ms = time.Millisecond
	decode, prompt := load{rows: 1, last: true}, load{rows: 4000, last: true}
	behind := load{rows: 1, last: true, background: true}
	for _, tt := range []struct {
		name   string
		loads  []load
		second time.Duration // what a second row adds to the 20 ms of the first
		steps  int           // of 320, those with one
	}{
		{"a row that takes less than a sixteenth", []load{decode, behind}, 20 * ms / 17, 320},
		{"one that takes an eighth is saved up for", []load{decode, behind}, 20 * ms / 8, 160},
		{"one that takes half is seldom", []load{decode, behind}, 10 * ms, 320 / leastBeside},
		{"so is one beside a prompt", []load{prompt, behind}, 20 * ms / 17, 320 / leastBeside},
		{"and one beside both", []load{decode, prompt, behind}, 20 * ms / 17, 320 / leastBeside},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := new(costs)
			p := planner{costs: c}
			steps := 0
			for range 320 {
				for range 2 {
					c.note(1, share{}, 20*ms)
					c.note(2, share{}, 20*ms+tt.second)
				}
				if rows := p.plan(nil, tt.loads, 64, 64); rows[len(rows)-1] > 0 {
					steps++
				}
			}
			if steps != tt.steps {
				t.Errorf("%d of 320 steps have a row of the background, want %d", steps, tt.steps)
			}
		})
	}
}
