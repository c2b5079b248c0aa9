package realtime

import "context"

// A socket carries text messages both ways. One goroutine reads, one writes.
type socket interface {
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, b []byte) error
	Ping(ctx context.Context) error
	Close(ending) error
}

// An ending is why a socket is closed: a status of RFC 6455 and words for it. The zero
// ending closes it without a word.
type ending struct {
	code   int
	reason string
}

// Statuses of RFC 6455, 7.4.1.
const (
	statusNormal    = 1000
	statusGoingAway = 1001
)
