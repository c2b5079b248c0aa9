package responses

import (
	"net/http"
	"slices"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
)

// get returns the stored response a request names.
func (a *api) get(c *server.Call) (*entry, object, error) {
	id := c.Params.ByName("id")
	if a.store == nil {
		return nil, object{}, fault.New(fault.CodeNotFound, "", "there is no response %.140q: this server keeps none (responses.store is off)", id)
	}
	return a.store.get(c.R.Context(), c.OwnerID(), id)
}

// retrieve answers GET /v1/responses/{id}: with the response, or the events of one that is
// made in the background.
func (a *api) retrieve(c *server.Call) error {
	q := body.Query{Values: c.R.URL.Query()}
	streamed := q.Boolean("stream")
	after := q.Number("starting_after", -1, -1, 1<<31-1)
	if q.Err != nil {
		return q.Err
	}
	e, o, err := a.get(c)
	switch {
	case err != nil:
		return err
	case !streamed && q.Values.Has("starting_after"):
		return fault.New(engine.CodeInvalidValue, "starting_after", "starting_after needs stream=true")
	case !streamed:
		return a.WriteJSON(c, 200, o)
	case e.job == nil || !e.job.streamed:
		return fault.New(engine.CodeInvalidValue, "stream", "only responses made with \"background\": true and \"stream\": true can be streamed again, by the server that made them and for as long as it has their events in memory; leave stream out")
	}
	if c.R.Method == http.MethodHead { // has no events to wait for
		c.W.Header().Set("Content-Type", stream.ServerEvents.Mime)
		c.W.WriteHeader(http.StatusOK)
		return nil
	}
	return a.follow(c, e.job, after+1)
}

// remove answers DELETE /v1/responses/{id}.
func (a *api) remove(c *server.Call) error {
	e, o, err := a.get(c)
	if err != nil {
		return err
	}
	if err := a.store.remove(c.R.Context(), e); err != nil {
		return err
	}
	if e.job != nil {
		e.job.stop(errCancelled)
	}
	return a.WriteJSON(c, 200, struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}{o.ID, "response", true})
}

// cancel answers POST /v1/responses/{id}/cancel.
func (a *api) cancel(c *server.Call) error {
	e, o, err := a.get(c)
	if err != nil {
		return err
	}
	switch {
	case e.stop != nil:
		if err := e.stop(c.R.Context()); err != nil {
			return err
		}
	case e.job != nil:
		e.job.stop(errCancelled)
		select {
		case <-e.job.done:
		case <-c.R.Context().Done():
			return fault.ErrGone
		}
	case !o.Background:
		return fault.New(engine.CodeInvalidValue, "", "only responses made with \"background\": true can be cancelled; others end when their client leaves")
	}
	if _, now, err := a.get(c); err == nil {
		o = now
	}
	return a.WriteJSON(c, 200, o)
}

// inputItems answers GET /v1/responses/{id}/input_items: the items the response was made from.
func (a *api) inputItems(c *server.Call) error {
	q := body.Query{Values: c.R.URL.Query()}
	most := q.Number("limit", 20, 1, 100)
	order := q.OneOf("order", "desc", "asc")
	if q.Err != nil {
		return q.Err
	}
	if _, _, err := a.get(c); err != nil {
		return err
	}
	items, err := inputsOf(c.R.Context(), a.store, c.OwnerID(), c.Params.ByName("id"))
	if err != nil {
		return err
	}
	if order == "desc" {
		slices.Reverse(items)
	}
	at := func(name string, absent int) (int, error) {
		id := q.Values.Get(name)
		if id == "" {
			return absent, nil
		}
		i := slices.IndexFunc(items, func(k kept) bool { return k.id == id })
		if i < 0 {
			return 0, fault.New(engine.CodeInvalidValue, name, "%s must be the id of one of the items, got %.140q", name, id)
		}
		return i, nil
	}
	after, err := at("after", -1)
	if err != nil {
		return err
	}
	before, err := at("before", len(items))
	if err != nil {
		return err
	}
	page := items[min(after+1, before):before]
	more := len(page) > most
	if more && q.Values.Get("before") != "" && q.Values.Get("after") == "" {
		page = page[len(page)-most:] // those next to it
	}
	page = page[:min(most, len(page))]
	return a.WriteJSON(c, 200, newPage(page, more))
}

// A page is some items of a list.
type page struct {
	Object string  `json:"object"`
	Data   []kept  `json:"data"`
	First  *string `json:"first_id"`
	Last   *string `json:"last_id"`
	More   bool    `json:"has_more"`
}

func newPage(items []kept, more bool) page {
	p := page{Object: "list", Data: orEmpty(items), More: more}
	if n := len(items); n > 0 {
		p.First, p.Last = &items[0].id, &items[n-1].id
	}
	return p
}
