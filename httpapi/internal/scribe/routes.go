// Package scribe answers in the dialect of ElevenLabs' realtime transcription over WebSocket:
// chunks of sound come in, partial_transcript has the text so far of the segment under way, and
// committed_transcript its final text.
//
// The goroutine that reads owns a session. Another transcribes segments, one after the other.
package scribe

import (
	"sync/atomic"

	"quern/engine"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/socket"
)

type api struct {
	*server.API
	open atomic.Int64 // sessions
}

// Routes returns the endpoints of the dialect.
func Routes(s *server.API) []server.Route {
	a := &api{API: s}
	return []server.Route{{Method: "GET", Path: "/v1/speech-to-text/realtime", Handle: a.connect, Work: true}}
}

// connect answers GET /v1/speech-to-text/realtime: it serves a session until that ends.
func (a *api) connect(c *server.Call) error {
	cfg, wrong := readConfig(c.R.URL.Query())
	cfg.model = a.Ours(cfg.named, engine.KindTranscription)
	detector, err := a.Detector(cfg.model)
	if err != nil {
		return err // there is no recogniser
	}
	if a.open.Add(1) > int64(a.Options.Realtime.Sessions) {
		a.open.Add(-1)
		return fault.New(engine.CodeQueueFull, "", "%d sessions are open, the most there may be (realtime.sessions); try again later", a.Options.Realtime.Sessions)
	}
	defer a.open.Add(-1)
	conn, err := socket.Accept(c, a.Options.Realtime.Message)
	if err != nil || conn == nil {
		return err
	}
	defer a.Metrics.Session()()
	s := newSession(a, c, conn, cfg, detector)
	if wrong != nil {
		s.fail("invalid_request", wrong)
		conn.Close(socket.Policy, "invalid_request")
		return nil
	}
	s.run()
	return nil
}
