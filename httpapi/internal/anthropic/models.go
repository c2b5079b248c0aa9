package anthropic

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"quern/engine"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// IsClient reports whether a request is of the dialect's clients, at a path that others have too.
func IsClient(r *http.Request) bool { return r.Header.Get("anthropic-version") != "" }

// Pages of the list of models.
const (
	pageOf   = 20
	mostPage = 1000
)

type model struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Name    string `json:"display_name"`
	Created string `json:"created_at"`
}

func newModel(a *server.API, m engine.ModelInfo) model {
	created := m.Created
	if created.IsZero() {
		created = a.Started
	}
	return model{"model", m.ID, m.ID, created.UTC().Format(time.RFC3339)}
}

// GetModel answers GET /v1/models/ID for the dialect's clients.
func GetModel(a *server.API, c *server.Call) error {
	m, err := a.Options.Engine.Find(strings.TrimPrefix(c.Params.ByName("id"), "/"), engine.KindChat)
	if err != nil {
		return err
	}
	return a.WriteJSON(c, http.StatusOK, newModel(a, m.Info()))
}

// ListModels answers GET /v1/models for the dialect's clients: the models that chat.
func ListModels(a *server.API, c *server.Call) error {
	var all []model
	for _, m := range a.Options.Engine.Models() {
		if m.Kind != engine.KindChat {
			continue
		}
		all = append(all, newModel(a, m))
	}
	page, more, err := pageOfModels(all, c.R)
	if err != nil {
		return err
	}
	out := struct {
		Data  []model `json:"data"`
		More  bool    `json:"has_more"`
		First *string `json:"first_id"`
		Last  *string `json:"last_id"`
	}{Data: page, More: more}
	if len(page) > 0 {
		out.First, out.Last = &page[0].ID, &page[len(page)-1].ID
	} else {
		out.Data = []model{}
	}
	return a.WriteJSON(c, http.StatusOK, out)
}

// pageOfModels is the page of all that a query asks for, and whether there are more that way.
func pageOfModels(all []model, r *http.Request) (page []model, more bool, err error) {
	q := r.URL.Query()
	limit := pageOf
	if s := q.Get("limit"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil || limit < 1 || limit > mostPage {
			return nil, false, fault.New(engine.CodeInvalidValue, "limit", "limit must be between 1 and %d, got %.40q", mostPage, s)
		}
	}
	at := func(name string) (int, error) {
		id := q.Get(name)
		i := slices.IndexFunc(all, func(m model) bool { return m.ID == id })
		if i < 0 {
			return 0, fault.New(engine.CodeInvalidValue, name, "%s must be the id of a model, got %.100q", name, id)
		}
		return i, nil
	}
	switch {
	case q.Get("before_id") != "":
		i, err := at("before_id")
		if err != nil {
			return nil, false, err
		}
		from := max(i-limit, 0)
		return all[from:i], from > 0, nil
	case q.Get("after_id") != "":
		i, err := at("after_id")
		if err != nil {
			return nil, false, err
		}
		all = all[i+1:]
	}
	n := min(limit, len(all))
	return all[:n], n < len(all), nil
}
