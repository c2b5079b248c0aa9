// Package reqlog names requests in logs, and limits the lines of those that fail alike.
package reqlog

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"quern/httpapi/internal/fault"
)

// Of requests that fail alike, so many are logged in so long. The others are
// counted, and the log says how many there were.
const (
	floodBurst  = 10
	floodWindow = 10 * time.Second
)

// Level is the level at which a request with a status is logged. Mistakes of clients
// are information; overload and timeouts are for the operator of
// the server; the rest from 500 on is an error of the server.
func Level(status int) slog.Level {
	switch {
	case status < 500, status == http.StatusNotImplemented:
		return slog.LevelInfo
	case status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return slog.LevelWarn
	}
	return slog.LevelError
}

// An Outcome is the route and the code of failed requests.
type Outcome struct {
	Path   string // route pattern
	Status int
	Code   fault.Code
}

// Floods keeps an overload, or a client that repeats its mistake, from filling the
// log. There are as many outcomes as routes and codes.
type Floods struct {
	Log *slog.Logger

	mu  sync.Mutex
	now map[Outcome]*flood
}

// A flood counts the requests of a window, from its first one.
type flood struct {
	n     int
	timer *time.Timer
}

// Pass reports whether a request with this outcome is logged.
func (f *Floods) Pass(o Outcome) bool {
	if o.Status < 400 || Level(o.Status) == slog.LevelError {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.now[o]
	if s == nil {
		s = &flood{}
		s.timer = time.AfterFunc(floodWindow, func() { f.sum(o, s) })
		if f.now == nil {
			f.now = map[Outcome]*flood{}
		}
		f.now[o] = s
	}
	s.n++
	return s.n <= floodBurst
}

// sum ends a window.
func (f *Floods) sum(o Outcome, s *flood) {
	f.mu.Lock()
	current := f.now[o] == s
	if current {
		delete(f.now, o)
	}
	more := s.n - floodBurst
	f.mu.Unlock()
	if !current || more <= 0 {
		return
	}
	f.Log.Log(context.Background(), Level(o.Status), "more requests ended like those before",
		"more", more, "within", floodWindow, "path", o.Path, "status", o.Status, "code", string(o.Code))
}

// Close ends all windows.
func (f *Floods) Close() {
	f.mu.Lock()
	open := maps.Clone(f.now)
	f.mu.Unlock()
	for o, s := range open {
		s.timer.Stop()
		f.sum(o, s)
	}
}
