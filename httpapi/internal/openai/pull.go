package openai

import (
	"log/slog"
	"strconv"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
)

// pullObject is how far a pull is. Bytes are of the whole model, with those that were here
// before.
type pullObject struct {
	Type      string           `json:"type,omitempty"` // of events
	Object    string           `json:"object"`
	Model     string           `json:"model"`        // as the hub names it, for another pull
	ID        string           `json:"id,omitempty"` // when it is done: as it is served
	State     engine.PullState `json:"state"`
	Completed int64            `json:"completed"`
	Total     int64            `json:"total"`

	File          string `json:"file,omitempty"`
	FileCompleted int64  `json:"file_completed,omitempty"`
	FileTotal     int64  `json:"file_total,omitempty"`

	Plan *pullPlan `json:"plan,omitempty"`
	Note string    `json:"note,omitempty"`
}

type pullPlan struct {
	Commit        string   `json:"commit"`
	Format        string   `json:"format"`
	Quantization  string   `json:"quantization,omitempty"`
	Chosen        bool     `json:"chosen"` // the request did not name it
	Others        []string `json:"others"`
	Files         int      `json:"files"`
	DownloadBytes int64    `json:"download_bytes"`
}

func newPullObject(p engine.Pull) pullObject {
	o := pullObject{Object: "model.pull", Model: p.Ref, ID: p.Model, State: p.State, Completed: p.Done, Total: p.Size,
		File: p.File, FileCompleted: p.FileDone, FileTotal: p.FileSize}
	if l := p.Plan; l != nil {
		o.Plan = &pullPlan{l.Commit, l.Kind, l.Quant, l.Chosen, list(l.Others), l.Files, l.Fetch}
	}
	if p.State == engine.PullDone && p.Model == "" {
		o.Note = "the files are here, and this server cannot serve them as a model; its log says why"
	}
	return o
}

// pullModel answers POST /v1/models/pull: when the model is here, or with events as it
// comes. A pull may take hours, and has no limit while data arrives.
func (a api) pullModel(c *server.Call, o *body.Object) error {
	streamed := o.Boolean("stream", false)
	name, err := a.modelName(c, o)
	if err != nil {
		return err
	}
	c.W.Note(slog.String("model", name))
	pull := a.Pulling(name)
	if streamed {
		s := a.NewStream(c, stream.ServerEvents)
		return server.StreamWork(a.API, c, s, func(p engine.Pull) error {
			out := newPullObject(p)
			out.Type = "model.pull.progress"
			if p.State == engine.PullDone {
				out.Type = "model.pull.done"
			}
			return s.Event(out)
		}, pull)
	}
	var last engine.Pull
	ctx := c.R.Context()
	if err := pull(ctx, func(p engine.Pull) error { last = p; return nil }); err != nil {
		return fault.Classify(ctx, err)
	}
	return a.WriteJSON(c, 200, newPullObject(last))
}

// listPulls answers GET /v1/pulls.
func (a api) listPulls(c *server.Call) error {
	pulls, err := a.Options.Store.Pulls()
	if err != nil {
		return err
	}
	data := []pullObject{}
	for _, p := range pulls {
		data = append(data, newPullObject(p))
	}
	return a.WriteJSON(c, 200, struct {
		Object string       `json:"object"`
		Data   []pullObject `json:"data"`
	}{"list", data})
}

// stopPull answers DELETE /v1/pulls/MODEL: what has arrived stays unless the query says
// discard=true.
func (a api) stopPull(c *server.Call) error {
	id, given := pathID(c), c.R.URL.Query().Get("discard")
	discard, err := strconv.ParseBool(given)
	if given != "" && err != nil {
		return fault.New(engine.CodeInvalidValue, "discard", "discard must be true or false, got %.40q", given)
	}
	if err := a.Options.Store.Stop(c.R.Context(), id, discard); err != nil {
		return err
	}
	return a.WriteJSON(c, 200, struct {
		Model     string `json:"model"`
		Object    string `json:"object"`
		Stopped   bool   `json:"stopped"`
		Discarded bool   `json:"discarded"`
	}{id, "model.pull", true, discard})
}
