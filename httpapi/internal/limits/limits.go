// Package limits limits each caller of a server: requests and tokens a minute, and
// answers at a time.
package limits

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"quern/httpapi/internal/fault"
)

// A Limit is the limit of one caller; 0 is no limit.
type Limit struct {
	Requests int // a minute
	Tokens   int // a minute, read and made
	Streams  int // answers under way at a time, streamed or not
}

// Limits count the use of callers. The zero value is ready.
type Limits struct {
	Now func() time.Time // nil is the clock

	mu sync.Mutex
	of map[string]*account
}

// An account is what one caller has left. It fills up to the limit in a minute.
type account struct {
	requests, tokens bucket
	streams          int
}

// A bucket fills by as much a minute as it holds. It may be negative: the tokens of an answer are known
// when it has ended.
type bucket struct {
	size, left float64
	at         time.Time
}

// fill is what is there now, of a bucket that from now on holds size. Without a limit nothing is
// noted, so that one that is set later begins full.
func (b *bucket) fill(size int, now time.Time) {
	switch {
	case size == 0:
		*b = bucket{}
		return
	case b.at.IsZero():
		b.left = float64(size)
	case b.size != float64(size): // as much is taken as before
		b.left += float64(size) - b.size
	}
	b.size = float64(size)
	b.left = min(b.left+b.size*max(now.Sub(b.at).Minutes(), 0), b.size)
	b.at = now
}

// until is how long it takes until so much is there.
func (b *bucket) until(n float64) time.Duration {
	if b.left >= n || b.size == 0 {
		return 0
	}
	return time.Duration(math.Ceil((n - b.left) / b.size * float64(time.Minute)))
}

// A Pass is a request that was admitted.
type Pass struct {
	l    *Limits
	of   *account
	once sync.Once
}

// Enter admits a request of the caller of a name, or returns when to try again: a
// *fault.Error. What the caller has left is written to h in OpenAI's headers either way.
func (l *Limits) Enter(caller string, limit Limit, h http.Header) (*Pass, error) {
	if limit == (Limit{}) {
		return nil, nil
	}
	now := time.Now
	if l.Now != nil {
		now = l.Now
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of[caller]
	if a == nil {
		a = &account{}
		if l.of == nil {
			l.of = map[string]*account{}
		}
		l.of[caller] = a
	}
	at := now()
	a.requests.fill(limit.Requests, at)
	a.tokens.fill(limit.Tokens, at)
	err := a.refuse(limit)
	if err == nil {
		if limit.Requests > 0 {
			a.requests.left--
		}
		a.streams++
	}
	tell(h, "requests", &a.requests)
	tell(h, "tokens", &a.tokens)
	if err != nil {
		return nil, err
	}
	return &Pass{l: l, of: a}, nil
}

// refuse is the error of a request above a limit, else nil.
func (a *account) refuse(limit Limit) error {
	over := func(kind string, after time.Duration, format string, args ...any) error {
		e := fault.New(fault.CodeRateLimit, "", format, args...)
		e.Kind, e.After = kind, max(after, time.Second)
		return e
	}
	switch {
	case limit.Requests > 0 && a.requests.left < 1:
		return over("requests", a.requests.until(1), "this key may send %d requests a minute, and has; try again in %v, or have requests_per_minute raised", limit.Requests, wait(a.requests.until(1)))
	case limit.Tokens > 0 && a.tokens.left < 1:
		return over("tokens", a.tokens.until(1), "this key may use %d tokens a minute, and has; try again in %v, or have tokens_per_minute raised", limit.Tokens, wait(a.tokens.until(1)))
	case limit.Streams > 0 && a.streams >= limit.Streams:
		return over("requests", 0, "this key may have %d answers under way at a time, and has; try again when one has ended, or have streams raised", limit.Streams)
	}
	return nil
}

// Spend counts tokens of the request.
func (p *Pass) Spend(tokens int) {
	if p == nil {
		return
	}
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.of.tokens.left -= float64(tokens)
}

// Leave ends the request's being under way. It may be called more than once.
func (p *Pass) Leave() {
	if p == nil {
		return
	}
	p.once.Do(func() {
		p.l.mu.Lock()
		defer p.l.mu.Unlock()
		p.of.streams--
	})
}

// tell writes the headers of a bucket, where there is a limit: how much may be taken at
// once, and how long it takes until the bucket is full.
func tell(h http.Header, what string, b *bucket) {
	if b.size == 0 {
		return
	}
	h.Set("x-ratelimit-limit-"+what, strconv.FormatFloat(b.size, 'f', 0, 64))
	h.Set("x-ratelimit-remaining-"+what, strconv.FormatFloat(max(math.Floor(b.left), 0), 'f', 0, 64))
	h.Set("x-ratelimit-reset-"+what, b.until(b.size).Round(time.Millisecond).String())
}

// wait is a time for a message.
func wait(d time.Duration) time.Duration { return max(d.Round(time.Second), time.Second) }
