package ollama

import (
	"log/slog"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// A progress is a line of a pull.
type progress struct {
	Status    string `json:"status"`
	Digest    string `json:"digest,omitempty"` // the file
	Total     int64  `json:"total,omitempty"`
	Completed int64  `json:"completed,omitempty"`
}

// statuses are the states of a pull in the dialect's words.
var statuses = map[engine.PullState]string{
	engine.PullStarting:    "pulling manifest",
	engine.PullWaiting:     "waiting for another program that pulls this model",
	engine.PullDownloading: "pulling ",
	engine.PullVerifying:   "verifying sha256 digest",
	engine.PullDone:        "success",
	engine.PullStopped:     "stopped",
}

func newProgress(p engine.Pull) progress {
	out := progress{Status: statuses[p.State]}
	if p.State == engine.PullDownloading {
		out.Status += p.File
		out.Digest, out.Total, out.Completed = p.File, p.FileSize, p.FileDone
	}
	return out
}

// pull answers POST /api/pull: models are named as the hub names them.
func (a api) pull(c *server.Call, o *body.Object) error {
	name := strings.TrimSuffix(readName(o), latest)
	streamed := o.Boolean("stream", true)
	o.Ignore("insecure", "username", "password")
	if err := a.Finish(c, o); err != nil {
		return err
	}
	c.W.Note(slog.String("model", name))
	work := a.Pulling(name)
	if streamed {
		s := a.NewStream(c, lines)
		return server.StreamWork(a.API, c, s, func(p engine.Pull) error { return s.Event(newProgress(p)) }, work)
	}
	var last engine.Pull
	ctx := c.R.Context()
	if err := work(ctx, func(p engine.Pull) error { last = p; return nil }); err != nil {
		return fault.Classify(ctx, err)
	}
	return a.WriteJSON(c, 200, newProgress(last))
}

// remove answers DELETE /api/delete.
func (a api) remove(c *server.Call, o *body.Object) error {
	name := readName(o)
	if err := a.Finish(c, o); err != nil {
		return err
	}
	if m, err := a.find(name); err == nil {
		name = m.Info().ID
	}
	if _, err := a.Options.Store.Remove(c.R.Context(), name); err != nil {
		return err
	}
	return a.Write(c, 200, "application/json", nil)
}
