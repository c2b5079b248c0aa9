package live

import (
	"context"
	"io"
	"sync"

	"quern/engine"
)

// A Feed is a queue of sound from one writer to one transcription: mono samples at
// engine.HearingRate.
type Feed struct {
	most       int           // samples it holds; 0: the writer bounds it
	more, room chan struct{} // hold a token when there may be some

	mu    sync.Mutex
	audio []float32
	err   error // why no more comes; nil while it may
}

// NewFeed makes a feed that holds so many samples; 0 is no limit.
func NewFeed(most int) *Feed {
	return &Feed{most: most, more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Write adds samples, which it copies. It waits while the feed is full.
func (f *Feed) Write(ctx context.Context, x []float32) error {
	for {
		f.mu.Lock()
		n := len(x)
		if f.most > 0 {
			n = min(n, max(f.most-len(f.audio), 0))
		}
		f.audio = append(f.audio, x[:n]...)
		f.mu.Unlock()
		if n > 0 {
			signal(f.more)
		}
		if x = x[n:]; len(x) == 0 {
			return nil
		}
		select {
		case <-f.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends the feed: nil at the end of the sound, or why it breaks off. Samples written
// before are transcribed.
func (f *Feed) Close(err error) {
	if err == nil {
		err = io.EOF
	}
	f.mu.Lock()
	if f.err == nil {
		f.err = err
	}
	f.mu.Unlock()
	signal(f.more)
}

// Held is how many samples no transcription has taken yet.
func (f *Feed) Held() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.audio)
}

// Drain discards sound until the feed is closed.
func (f *Feed) Drain(ctx context.Context) {
	for {
		if _, err := f.read(ctx, 1); err != nil {
			return
		}
	}
}

// read waits for at least so many samples and returns all there are; with the last of
// them, why there are no more.
func (f *Feed) read(ctx context.Context, least int) ([]float32, error) {
	if f.most > 0 {
		least = min(least, f.most)
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f.mu.Lock()
		if err := f.err; len(f.audio) >= least || err != nil {
			x := f.audio
			f.audio = nil
			f.mu.Unlock()
			signal(f.room)
			return x, err
		}
		f.mu.Unlock()
		select {
		case <-f.more:
		case <-ctx.Done():
		}
	}
}

// Source is the feed for recognisers of live sound, in place of Transcribe. Reading
// waits for some, and no longer than ctx lasts.
func (f *Feed) Source(ctx context.Context) engine.Source {
	var rest []float32
	var end error
	return source(func(dst []float32) (int, error) {
		if len(rest) == 0 && end == nil {
			rest, end = f.read(ctx, 1)
		}
		n := copy(dst, rest)
		if rest = rest[n:]; len(rest) > 0 {
			return n, nil
		}
		return n, end
	})
}

type source func([]float32) (int, error)

func (s source) Read(dst []float32) (int, error) { return s(dst) }
