package limits

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"quern/httpapi/internal/fault"
)

// clock is a time that tests move.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func (c *clock) after(d time.Duration) { c.t = c.t.Add(d) }

func told(h http.Header, what string) string {
	return h.Get("x-ratelimit-limit-"+what) + " " + h.Get("x-ratelimit-remaining-"+what) + " " + h.Get("x-ratelimit-reset-"+what)
}

func TestLimits(t *testing.T) {
	c := &clock{time.Unix(1000, 0)}
	l := &Limits{Now: c.now}
	limit := Limit{Requests: 60, Tokens: 600}
	enter := func(who string, want string, after time.Duration) *Pass {
		t.Helper()
		h := http.Header{}
		p, err := l.Enter(who, limit, h)
		var e *fault.Error
		if refused := errors.As(err, &e); refused != (after > 0) || refused && (e.After != after || e.Status != 429 || !e.Retry) {
			t.Errorf("%v, %+v; want to wait %v", err, e, after)
		}
		if got := told(h, "requests") + "; " + told(h, "tokens"); got != want {
			t.Errorf("headers %q, want %q", got, want)
		}
		return p
	}
	p := enter("a", "60 59 1s; 600 600 0s", 0)
	p.Spend(601)
	p.Leave()
	p.Leave()
	enter("a", "60 59 1s; 600 0 1m0.1s", time.Second)
	enter("b", "60 59 1s; 600 600 0s", 0) // others have their own
	c.after(time.Second)
	enter("a", "60 59 1s; 600 9 59.1s", 0)
	c.after(time.Hour)
	for i := range 60 {
		enter("a", fmt.Sprintf("60 %d %v; 600 600 0s", 59-i, time.Duration(i+1)*time.Second), 0)
	}
	for range 3 { // what is refused costs nothing
		enter("a", "60 0 1m0s; 600 600 0s", time.Second)
	}
	c.after(-time.Hour) // a clock that is set back takes nothing
	enter("a", "60 0 1m0s; 600 600 0s", time.Second)
	limit.Requests = 70 // a limit that is raised counts at once
	enter("a", "70 9 52.286s; 600 600 0s", 0)
	limit = Limit{Streams: 2}
	one := enter("c", "  ;   ", 0)
	enter("c", "  ;   ", 0)
	enter("c", "  ;   ", time.Second)
	one.Leave()
	one.Leave()
	enter("c", "  ;   ", 0)
	enter("c", "  ;   ", time.Second)
	if p, err := l.Enter("d", Limit{}, nil); p != nil || err != nil {
		t.Errorf("without limits: %v, %v", p, err)
	}
	var none *Pass
	none.Spend(1)
	none.Leave()
}

// What was taken while there was no limit is not owed when one is set.
func TestLimitSetLater(t *testing.T) {
	c := &clock{time.Unix(1000, 0)}
	l := &Limits{Now: c.now}
	for _, limit := range []Limit{{Requests: 60}, {Streams: 5}} {
		for range 3 {
			p, err := l.Enter("a", limit, http.Header{})
			if err != nil {
				t.Fatal(err)
			}
			p.Spend(1e6)
			p.Leave()
		}
	}
	h := http.Header{}
	late, err := l.Enter("a", Limit{Requests: 60, Tokens: 600}, h)
	if got, want := told(h, "tokens"), "600 600 0s"; err != nil || got != want {
		t.Errorf("%v, headers %q, want %q", err, got, want)
	}
	late.Spend(100)
	if _, err := l.Enter("a", Limit{Tokens: 600}, h); err != nil || told(h, "tokens") != "600 500 10s" {
		t.Errorf("%v, headers %q", err, told(h, "tokens"))
	}
}

// In no minute more than twice the limit is let in, and in the long run the limit.
func TestRate(t *testing.T) {
	c := &clock{time.Unix(1000, 0)}
	l := &Limits{Now: c.now}
	rng := rand.New(rand.NewPCG(3, 4))
	const minutes, most = 50, 30
	in := 0
	for c.t.Before(time.Unix(1000+minutes*60, 0)) {
		if _, err := l.Enter("a", Limit{Requests: most}, http.Header{}); err == nil {
			in++
		}
		c.after(time.Duration(rng.IntN(900)) * time.Millisecond)
	}
	if in < minutes*most*95/100 || in > (minutes+1)*most {
		t.Errorf("%d requests in %d minutes of %d", in, minutes, most)
	}
}
