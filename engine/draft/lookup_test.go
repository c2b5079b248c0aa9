package draft_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"quern/engine/draft"
	"quern/engine/sched"
	"quern/engine/token"
)

func ids(s string) (list []token.ID) {
	for _, c := range s {
		list = append(list, token.ID(c))
	}
	return list
}

// TestLookup: what is drafted behind a text, and how it is ranked.
func TestLookup(t *testing.T) {
	for _, tt := range []struct {
		name               string
		prediction, prompt string
		reply              string
		n                  int
		want               string
		rank               int
	}{
		{name: "nothing stood before", prompt: "abcdefg", reply: "h", n: 4},
		{name: "one token alike is none", prompt: "abcdefg", reply: "xb", n: 4},
		{name: "a pair", prompt: "abcdefg", reply: "xcd", n: 3, want: "efg"},
		{name: "as many as are asked for", prompt: "abcdefg", reply: "xcd", n: 2, want: "ef", rank: 0},
		{name: "the longest", prompt: "abcd1 xbcd2 bcd3", reply: "abcd", n: 1, want: "1", rank: 1},
		{name: "of equals the last", prompt: "abc1 abc2", reply: "xabc", n: 1, want: "2", rank: 1},
		{name: "five are alike", prompt: "abcdef123", reply: "-bcdef", n: 3, want: "123", rank: 2},
		{name: "nine are alike", prompt: "abcdefghijk123", reply: "abcdefghi", n: 3, want: "jk1", rank: 3},
		{name: "in the reply", prompt: "x", reply: "abc1abc", n: 2, want: "1a", rank: 1},
		{name: "what repeats goes on", prompt: "x", reply: "ababab", n: 5, want: "ababa", rank: 1},
		{name: "one token over and over", prompt: "x", reply: "aaaa", n: 5, want: "aaaaa", rank: 1},
		{name: "a prediction from its beginning", prediction: "the whole", prompt: "say", reply: "t", n: 3, want: "he ", rank: 2},
		{name: "a prediction after a difference", prediction: "the whole", prompt: "say", reply: "a wh", n: 3, want: "ole", rank: 1},
		{name: "a prediction that is over", prediction: "the", prompt: "say", reply: "the", n: 3, want: "say", rank: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := draft.NewLookup(2, 100)
			x := sched.Text{Tokens: ids(tt.prompt + tt.reply), Prompt: len(tt.prompt), Prediction: ids(tt.prediction)}
			n, rank := l.Offer(1, x, tt.n)
			var got []token.ID
			if n > 0 {
				asks := []sched.Ask{{Place: 1, Text: x, N: n}}
				if err := l.Draft(t.Context(), asks); err != nil {
					t.Fatal(err)
				}
				got = asks[0].Draft
			}
			if !slices.Equal(got, ids(tt.want)) || rank != tt.rank {
				t.Errorf("got %q of rank %d, want %q of rank %d", string(got), rank, tt.want, tt.rank)
			}
		})
	}
}

// TestLookupOracle: token by token, with texts longer than the window and places that are used
// again, a draft is what follows the tokens it was ranked by.
func TestLookupOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l := draft.NewLookup(1, 200)
	found := 0
	for round := range 20 {
		x := sched.Text{Prompt: 5}
		for range rng.IntN(30) {
			x.Prediction = append(x.Prediction, token.ID(rng.IntN(6)))
		}
		for range 5 {
			x.Tokens = append(x.Tokens, token.ID(rng.IntN(6)))
		}
		for range 700 {
			x.Tokens = append(x.Tokens, token.ID(rng.IntN(2+round%5)))
			n, rank := l.Offer(0, x, 1+rng.IntN(8))
			if n == 0 {
				continue
			}
			found++
			asks := []sched.Ask{{Text: x, N: n}}
			if err := l.Draft(t.Context(), asks); err != nil {
				t.Fatal(err)
			}
			all := slices.Concat(x.Prediction, x.Tokens)
			alike := []int{2, 3, 5, 9}[rank]
			known := slices.Concat(all[max(0, len(all)-alike):], asks[0].Draft)
			if len(x.Tokens) > x.Prompt+16 && !contains(slices.Concat(all, asks[0].Draft[:n-1]), known) {
				t.Fatalf("after %v: %v of rank %d never stood there", all, asks[0].Draft, rank)
			}
		}
		l.Forget(0)
	}
	if found < 5000 {
		t.Errorf("%d drafts", found)
	}
}

func contains(all, part []token.ID) bool {
	for i := range len(all) - len(part) + 1 {
		if slices.Equal(all[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// TestLookupAllocatesNothing once a place was used.
func TestLookupAllocatesNothing(t *testing.T) {
	l := draft.NewLookup(1, 1000)
	x := sched.Text{Tokens: make([]token.ID, 0, 5000), Prompt: 1}
	asks := []sched.Ask{{Draft: make([]token.ID, 0, 8)}}
	one := func() {
		x.Tokens = append(x.Tokens, token.ID(len(x.Tokens)%7))
		n, _ := l.Offer(0, x, 8)
		asks[0].Text, asks[0].N, asks[0].Draft = x, n, asks[0].Draft[:0]
		if err := l.Draft(t.Context(), asks); err != nil {
			t.Fatal(err)
		}
	}
	one()
	if n := testing.AllocsPerRun(3000, one); n != 0 {
		t.Errorf("%v allocations a token", n)
	}
}

func BenchmarkLookup(b *testing.B) {
	l := draft.NewLookup(1, 1<<15)
	x := sched.Text{Tokens: make([]token.ID, 1, 1<<15), Prompt: 1}
	rng := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		if len(x.Tokens) == cap(x.Tokens) {
			x.Tokens = x.Tokens[:1]
			l.Forget(0)
		}
		x.Tokens = append(x.Tokens, token.ID(rng.IntN(50)))
		l.Offer(0, x, 8)
	}
}
