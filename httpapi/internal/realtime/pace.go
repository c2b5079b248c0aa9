package realtime

import (
	"context"
	"time"
)

// A pace lets so many events a second through, and twice that at once.
type pace struct {
	rate  float64
	saved float64 // events that may pass now
	last  time.Time
}

func newPace(rate int, now time.Time) *pace {
	return &pace{rate: float64(rate), saved: 2 * float64(rate), last: now}
}

// next returns how long the next event has to wait.
func (p *pace) next(now time.Time) time.Duration {
	p.saved = min(p.saved+now.Sub(p.last).Seconds()*p.rate, 2*p.rate)
	p.last = now
	p.saved--
	if p.saved >= 0 {
		return 0
	}
	return time.Duration(-p.saved / p.rate * float64(time.Second))
}

// wait waits until the next event may pass.
func (p *pace) wait(ctx context.Context) error {
	d := p.next(time.Now())
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
