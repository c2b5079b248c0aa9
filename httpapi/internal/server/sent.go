package server

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// LeastBodyRate is how fast bodies have to come, on average, in bytes a second. Without it a client
// that sends a byte now and then would hold its connection, and of sound that is answered while it
// comes a model, for years. Sound at the speed of speech is faster: Opus at 6 kbit/s is
// three times that.
const LeastBodyRate = 240

// A sentReader reads a body as it is sent. Every read has a deadline: idle after it began,
// or when the body's average falls below LeastBodyRate, whichever is first. The average is over
// the time that was waited for the client, of which grace is free. It keeps the error that
// ended it.
type sentReader struct {
	r     io.Reader
	w     *response
	idle  time.Duration // not positive is any
	grace time.Duration // not positive is any rate
	err   error

	bytes  int64
	waited time.Duration
	slow   bool // the deadline of the latest read is that of the average

	// Of a body that is answered while it is being sent:
	all  atomic.Bool   // it was read to its end
	done chan struct{} // closed when the goroutine that reads it has ended

	mu   sync.Mutex
	over bool // what comes is thrown away, until a deadline that stays
}

func (r *sentReader) Read(p []byte) (int, error) {
	begin := time.Now()
	r.mu.Lock()
	if d := r.patience(); d != 0 && !r.over {
		r.w.rc.SetReadDeadline(begin.Add(d))
	}
	r.mu.Unlock()
	n, err := r.r.Read(p)
	r.waited += time.Since(begin)
	r.bytes += int64(n)
	r.err = err
	return n, err
}

// patience is what the next read may take; 0 is any time.
func (r *sentReader) patience() time.Duration {
	d := max(r.idle, 0)
	r.slow = false
	if r.grace > 0 {
		left := r.grace + time.Duration(r.bytes)*(time.Second/LeastBodyRate) - r.waited
		if d == 0 || left < d {
			r.slow, d = true, max(left, 1)
		}
	}
	return d
}
