package llama

import (
	"cmp"
	"math"
	"strconv"

	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// found is the model a request asks about, which need not be loaded.
type found struct {
	info    engine.ModelInfo
	details engine.Details
	stats   engine.ModelStats // of one that is loaded
}

// slots is how many sequences the model decodes together.
func (m *found) slots() int {
	if m.stats.Slots > 0 {
		return m.stats.Slots
	}
	return m.details.Slots
}

// find finds the model that the query names.
func (a api) find(c *server.Call) (*found, error) {
	model, err := a.Options.Engine.Find(c.R.URL.Query().Get("model"), engine.KindChat, engine.KindCompletion)
	if err != nil {
		return nil, err
	}
	m := &found{info: model.Info()}
	if m.details, err = server.Promptly(a.API, c, model.Describe); err != nil {
		return nil, err
	}
	id := cmp.Or(m.info.Base, m.info.ID)
	for _, s := range a.Options.Engine.Stats().Models {
		if s.Model == id {
			m.stats = s
		}
	}
	return m, nil
}

// anySeed is the seed that stands for one that is drawn.
const anySeed = math.MaxUint32

// slot is one of the sequences that a model can decode together.
type slot struct {
	ID          int  `json:"id"`
	Context     int  `json:"n_ctx"`
	Speculative bool `json:"speculative"`
	Processing  bool `json:"is_processing"`
}

// props answers GET /props: the description of a model.
func (a api) props(c *server.Call) error {
	m, err := a.find(c)
	if err != nil {
		return err
	}
	s := newSettings(&request{sampling: ask.Sampling{MaxTokens: -1, Seed: anySeed}}, m.details.Sampling)
	s.Stream = true
	type defaults struct {
		slot
		Params settings `json:"params"`
	}
	return a.WriteJSON(c, 200, struct {
		Defaults   defaults        `json:"default_generation_settings"`
		Slots      int             `json:"total_slots"`
		Alias      string          `json:"model_alias"`
		Path       string          `json:"model_path"` // not the path, which is private
		Template   string          `json:"chat_template"`
		BOS        string          `json:"bos_token"`
		EOS        string          `json:"eos_token"`
		Modalities map[string]bool `json:"modalities"`
		Build      string          `json:"build_info"`
		Sleeping   bool            `json:"is_sleeping"` // it is loaded when it is asked
		SlotsPath  bool            `json:"endpoint_slots"`
		PropsPath  bool            `json:"endpoint_props"`
		Metrics    bool            `json:"endpoint_metrics"`
	}{
		defaults{slot{Context: m.info.ContextLength}, s}, m.slots(), m.info.ID, m.info.ID, m.details.Template, m.details.BOS, m.details.EOS,
		map[string]bool{"vision": false, "audio": false}, "quern " + a.Options.Version, m.info.Status != "loaded", true, false, true,
	})
}

// slots answers GET /slots. Sequences have no slot of their own here: as many are busy as
// there are sequences in work.
func (a api) slots(c *server.Call) error {
	m, err := a.find(c)
	if err != nil {
		return err
	}
	n := m.slots()
	if fail, _ := strconv.ParseBool(c.R.URL.Query().Get("fail_on_no_slot")); fail && m.stats.Running >= n {
		return fault.New(engine.CodeQueueFull, "", "all %d slots of model %q are busy", n, m.info.ID)
	}
	out := make([]slot, n)
	for i := range out {
		out[i] = slot{ID: i, Context: m.info.ContextLength, Processing: i < m.stats.Running}
	}
	return a.WriteJSON(c, 200, out)
}

// adapters answers GET /lora-adapters: those of a model, of which the one it is called with counts.
func (a api) adapters(c *server.Call) error {
	model, err := a.Options.Engine.Find(c.R.URL.Query().Get("model"), engine.KindChat, engine.KindCompletion)
	if err != nil {
		return err
	}
	m := model.Info()
	type adapter struct {
		ID    int     `json:"id"`
		Path  string  `json:"path"`
		Scale float64 `json:"scale"`
		Model string  `json:"model"` // what requests call it
	}
	out := []adapter{}
	for _, i := range a.Options.Engine.Models() {
		if i.Base == "" || i.Base != cmp.Or(m.Base, m.ID) {
			continue
		}
		one := adapter{ID: len(out), Path: i.Adapter, Model: i.ID}
		if i.ID == m.ID {
			one.Scale = 1
		}
		out = append(out, one)
	}
	return a.WriteJSON(c, 200, out)
}
