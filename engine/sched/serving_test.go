package sched

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"quern/engine/graph"
	"quern/engine/token"
)

// A machine says how long steps take: what its rows do, by the table, between whose numbers
// of rows it is a line, and for each what tokens before it cost.
type machine struct {
	rows  []int
	times []time.Duration
	depth time.Duration
}

// twoCores is TinyLlama 1.1B Q4_K_M on two threads of a Zen 4, as measured.
var twoCores = machine{
	rows:  []int{1, 4, 8, 16, 32, 64, 512},
	times: []time.Duration{20 * ms, 24 * ms, 38 * ms, 66 * ms, 119 * ms, 217 * ms, 1736 * ms},
	depth: 950 * time.Nanosecond,
}

// wide is a device that reads a hundred rows in the time of one.
var wide = machine{rows: []int{1, 64, 512}, times: []time.Duration{5 * ms, 6 * ms, 45 * ms}, depth: 10 * time.Nanosecond}

const ms = time.Millisecond

func (m *machine) of(in *graph.Batch) time.Duration {
	n := len(in.Tokens)
	i := max(1, slices.IndexFunc(m.rows, func(r int) bool { return r >= n }))
	took := m.times[i-1] + (m.times[i]-m.times[i-1])*time.Duration(n-m.rows[i-1])/time.Duration(m.rows[i]-m.rows[i-1])
	for _, at := range in.Positions {
		took += m.depth * time.Duration(at)
	}
	return took
}

// An arrival is a request with when it comes.
type arrival struct {
	at     time.Duration
	tokens int
	most   int
	behind bool
}

// A served request is what became of an arrival: when its tokens came.
type served struct {
	arrival
	times []time.Duration
}

func (s *served) first() time.Duration { return s.times[0] - s.at }

// layers is in how many parts a step's time passes, behind each of which it may end.
const layers = 100

// serve runs arrivals in virtual time.
func serve(t *testing.T, m *machine, slots int, list []arrival) []served {
	t.Helper()
	if testing.Short() {
		t.Skip("hours of virtual time, of one goroutine")
	}
	var clock time.Time
	start := clock
	s, e := newFake(t, Options{Blocks: 4000, BlockSize: 32, Budget: 512, MaxWant: 64, Slots: slots, Queue: 10000, Now: func() time.Time { return clock }})
	defer s.shutdown()
	out := make([]served, len(list))
	var open []*Stream
	var of []int
	next := 0
	arrive := func() {
		for ; next < len(list) && list[next].at <= clock.Sub(start); next++ {
			a := list[next]
			out[next].arrival = a
			r := Request{Prompt: make([]token.ID, a.tokens), Max: a.most, NoPromptCache: true, Background: a.behind}
			open, of = append(open, submit(t, s, r)), append(of, next)
		}
	}
	e.flat = true
	var took time.Duration
	e.fail = func(in *graph.Batch) error { took = m.of(in); return nil }
	e.until = func(ctx context.Context) error {
		for range layers {
			clock = clock.Add(took / layers)
			arrive()
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return nil
	}
	for next < len(list) || len(open) > 0 {
		if arrive(); len(open) == 0 {
			clock = start.Add(list[next].at)
			continue
		}
		if !s.turn(t.Context()) {
			t.Fatal("nothing runs")
		}
		for i := 0; i < len(open); i++ {
			over := false
			for len(open[i].events) > 0 {
				ev := <-open[i].events
				open[i].took(&ev)
				if ev.Type == Token {
					out[of[i]].times = append(out[of[i]].times, clock.Sub(start))
				}
				if over = ev.Type == Finish; over {
					break
				}
			}
			if over {
				open, of = slices.Delete(open, i, i+1), slices.Delete(of, i, i+1)
				i--
			}
		}
	}
	return out
}

// poisson are arrivals at so many a second, of prompts of these lengths by turns.
func poisson(seed uint64, n int, rate float64, lengths []int, most int) (list []arrival) {
	rng := rand.New(rand.NewPCG(seed, 2))
	at := time.Duration(0)
	for i := range n {
		at += time.Duration(rng.ExpFloat64() / rate * float64(time.Second))
		list = append(list, arrival{at: at, tokens: lengths[i%len(lengths)], most: most})
	}
	return list
}

func percentile(list []time.Duration, p int) time.Duration {
	slices.Sort(list)
	return list[max(0, (len(list)*p+99)/100-1)]
}

func gaps(list []served, from, to time.Duration) (out []time.Duration) {
	for _, r := range list {
		for i := 1; i < len(r.times); i++ {
			if r.times[i] > from && r.times[i-1] < to {
				out = append(out, r.times[i]-r.times[i-1])
			}
		}
	}
	return out
}

// TestServing: with prompts of 64 and 512 tokens that arrive at random, below saturation, the
// gaps between tokens are alike, and so are the times to the first token of short prompts.
func TestServing(t *testing.T) {
	for _, rate := range []float64{0.1, 0.2, 0.3, 0.4} { // requests a second; 0.6 saturate
		list := serve(t, &twoCores, 16, poisson(1, 300, rate, []int{64, 512}, 128))
		all := gaps(list, 0, math.MaxInt64)
		if p50, p99 := percentile(all, 50), percentile(all, 99); p99 > 3*p50 {
			t.Errorf("rate %v: %v between tokens, 99 of 100 %v: %.2f times", rate, p50, p99, p99.Seconds()/p50.Seconds())
		}
		short := firsts(list, 64)
		if p50, p99 := percentile(short, 50), percentile(short, 99); p99 > 2*max(p50, 360*ms) { // 219 when nothing else runs
			t.Errorf("rate %v: %v to the first token of short prompts, 99 of 100 %v", rate, p50, p99)
		}
		if p99, most := percentile(firsts(list, 512), 99), time.Duration(20*rate*float64(2*time.Second))+3*time.Second; p99 > most {
			t.Errorf("rate %v: %v to the first token of 99 of 100 long prompts, at most %v", rate, p99, most)
		}
	}
}

// TestLongPrompt: one of 16,000 tokens makes the gaps of others no more than twice as long, and
// is read all the same.
func TestLongPrompt(t *testing.T) {
	for _, tt := range []struct {
		name   string
		m      *machine
		others int
		most   time.Duration // until it is read
	}{
		{"beside a reply", &twoCores, 1, 240 * time.Second}, // 173 s alone
		{"beside four", &twoCores, 4, 280 * time.Second},
		{"beside twelve", &twoCores, 12, 400 * time.Second},
		{"where rows cost little", &wide, 12, 8 * time.Second}, // 3 s alone
	} {
		t.Run(tt.name, func(t *testing.T) {
			const at = 5 * time.Second
			list := []arrival{}
			for range tt.others {
				list = append(list, arrival{tokens: 64, most: 3000})
			}
			out := serve(t, tt.m, 16, append(list, arrival{at: at, tokens: 16000, most: 1}))
			end := out[tt.others].times[0]
			before, during := percentile(gaps(out, 0, at), 50), percentile(gaps(out, at, end), 99)
			if during > 2*before || end-at > tt.most {
				t.Errorf("gaps of %v became %v, %.2f times; read after %v, at most %v", before, during, during.Seconds()/before.Seconds(), end-at, tt.most)
			}
		})
	}
}

// TestThroughput: what bounds steps costs little where prompts are all there is, and a tenth
// where replies compete with them.
func TestThroughput(t *testing.T) {
	for _, tt := range []struct {
		name string
		list []arrival
		most time.Duration
	}{
		{"one prompt", []arrival{{tokens: 4096, most: 1}}, 1736*8*ms + 8000*ms + 200*ms}, // whole steps, and what depth costs
		{"eight prompts", slices.Repeat([]arrival{{tokens: 512, most: 1}}, 8), 1736*8*ms + 1000*ms + 200*ms},
		{"sixteen of sixteen slots", poisson(1, 200, 1000, []int{64, 512}, 128), 340 * time.Second}, // 311 s with steps of 512 rows
		{"the same, long prompts", poisson(1, 100, 1000, []int{2000}, 128), 980 * time.Second},      // 907 s
	} {
		if got := last(serve(t, &twoCores, 16, tt.list)); got > tt.most {
			t.Errorf("%s: %v, at most %v", tt.name, got, tt.most)
		}
	}
}

// TestShortFirst: short prompts go before a long one, but not for ever.
func TestShortFirst(t *testing.T) {
	list := []arrival{{tokens: 2000, most: 1}}
	for i := range 300 { // three quarters of what the machine can do
		list = append(list, arrival{at: 100*ms + time.Duration(i)*300*ms, tokens: 64, most: 1})
	}
	out := serve(t, &twoCores, 16, list)
	long := out[0].first()
	if p99 := percentile(firsts(out[1:], 64), 99); p99 > 1500*ms {
		t.Errorf("%v to the first token of 99 of 100 short prompts", p99)
	}
	if least, most := 15*time.Second, 40*time.Second; long < least || long > most {
		t.Errorf("%v to that of the long one; 7.7 s alone, want %v to %v", long, least, most)
	}
	// More short ones than the machine can do: by and by it is the long one's turn.
	for i := range list[1:] {
		list[1+i].at = 100*ms + time.Duration(i)*150*ms
	}
	if long := serve(t, &twoCores, 16, list)[0].first(); long > 40*time.Second {
		t.Errorf("%v to the first token of a long prompt beside too many short ones", long)
	}
}

// TestBeside: a batch in the background takes little from chats, and runs at full speed when
// there are none.
func TestBeside(t *testing.T) {
	for m, rate := range map[*machine]float64{&twoCores: 0.25, &wide: 2.5} {
		var lines []arrival
		for range 2500 {
			lines = append(lines, arrival{tokens: 40, most: 16, behind: true})
		}
		chats := poisson(3, 40, rate, []int{40}, 32)
		alone, mixed := serve(t, m, 16, chats), serve(t, m, 16, append(slices.Clip(lines), chats...))[len(lines):]
		for _, of := range []struct {
			what string
			list func([]served) []time.Duration
		}{
			{"first token", func(l []served) []time.Duration { return firsts(l, 40) }},
			{"gap", func(l []served) []time.Duration { return gaps(l, 0, math.MaxInt64) }},
		} {
			without, with := percentile(of.list(alone), 95), percentile(of.list(mixed), 95)
			if ratio := with.Seconds() / without.Seconds(); ratio > 1.2 {
				t.Errorf("%s, 95 of 100: %v without a batch, %v with: %.2f times", of.what, without, with, ratio)
			}
		}
		// The same lines without chats, in the background and not.
		for i := range lines {
			lines[i].most = 64
		}
		some := slices.Clone(lines[:200])
		behind := serve(t, m, 16, some)
		for i := range some {
			some[i].behind = false
		}
		front := serve(t, m, 16, some)
		if a, b := last(behind), last(front); a > b+b/10 {
			t.Errorf("lines took %v in the background and %v as requests", a, b)
		}
	}
}

// TestBesideReplies: lines end beside replies that never do, where a row costs little and where
// it costs as much as a step, and these hardly notice.
func TestBesideReplies(t *testing.T) {
	dear := machine{rows: []int{1, 64, 512}, times: []time.Duration{20 * ms, 1280 * ms, 10240 * ms}}
	for _, tt := range []struct {
		name  string
		m     *machine
		lines int // in five minutes, at least
	}{
		{"two cores", &twoCores, 60},
		{"where rows cost little", &wide, 60},
		{"where rows are all that costs", &dear, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const end = 5 * time.Minute
			var lines []arrival
			for range 60 {
				lines = append(lines, arrival{tokens: 8, most: 8, behind: true})
			}
			chats := []arrival{}
			for range 2 {
				chats = append(chats, arrival{tokens: 40, most: int(end / tt.m.times[0])})
			}
			alone := serve(t, tt.m, 16, chats)
			mixed := serve(t, tt.m, 16, append(slices.Clip(lines), chats...))
			done := 0
			for _, l := range mixed[:len(lines)] {
				if l.times[len(l.times)-1] < end {
					done++
				}
			}
			without, with := percentile(gaps(alone, 0, end), 95), percentile(gaps(mixed[len(lines):], 0, end), 95)
			if done < tt.lines || with.Seconds() > 1.2*without.Seconds() {
				t.Errorf("%d lines in %v, want %d; 95 of 100 gaps %v without them, %v with", done, end, tt.lines, without, with)
			}
		})
	}
}

// last is when all are through.
func last(list []served) (end time.Duration) {
	for _, r := range list {
		end = max(end, r.times[len(r.times)-1])
	}
	return end
}

// firsts are the times to the first token of prompts of so many tokens.
func firsts(list []served, tokens int) (out []time.Duration) {
	for _, r := range list {
		if r.tokens == tokens {
			out = append(out, r.first())
		}
	}
	return out
}
