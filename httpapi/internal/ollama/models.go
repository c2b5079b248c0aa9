package ollama

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// A details describes a model's file.
type details struct {
	Parent       string   `json:"parent_model"`
	Format       string   `json:"format"`
	Family       string   `json:"family"`
	Families     []string `json:"families"`
	Parameters   string   `json:"parameter_size"` // "": not known without reading the file
	Quantization string   `json:"quantization_level"`
}

func newDetails(m engine.ModelInfo) details {
	d := details{Parent: m.AliasOf, Format: m.Format, Family: m.Architecture, Families: []string{}, Quantization: m.Quantization}
	if d.Family != "" {
		d.Families = append(d.Families, d.Family)
	}
	return d
}

// A listed model is one of /api/tags, and, when it is loaded, of /api/ps.
type listed struct {
	Name     string  `json:"name"`
	Model    string  `json:"model"`
	Modified string  `json:"modified_at,omitempty"`
	Size     int64   `json:"size"`
	Digest   string  `json:"digest"` // of the file's description: it changes with the file
	Details  details `json:"details"`

	*loaded
}

type loaded struct {
	Expires string `json:"expires_at"`
	VRAM    int64  `json:"size_vram"`
	Context int    `json:"context_length"`
}

func (a api) modified(m engine.ModelInfo) string {
	if m.Created.IsZero() {
		m.Created = a.Started
	}
	return m.Created.UTC().Format(time.RFC3339)
}

func (a api) listed(m engine.ModelInfo) listed {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s %d %s %s", m.ID, m.SizeBytes, a.modified(m), m.Quantization))
	return listed{Name: m.ID, Model: m.ID, Modified: a.modified(m), Size: m.SizeBytes, Digest: hex.EncodeToString(digest[:]), Details: newDetails(m)}
}

// textual are the kinds of models that the dialect has.
func textual(m engine.ModelInfo) bool {
	return slices.Contains([]engine.Kind{engine.KindChat, engine.KindCompletion, engine.KindEmbedding}, m.Kind)
}

func (a api) tags(c *server.Call) error {
	out := []listed{}
	for _, m := range a.Options.Engine.Models() {
		if textual(m) {
			out = append(out, a.listed(m))
		}
	}
	return a.WriteJSON(c, 200, map[string]any{"models": out})
}

// never is the expiry of a model that is never unloaded: as far away as Ollama's.
func never() time.Time { return time.Now().Add(math.MaxInt64) }

// running lists the models that are loaded, and when each is unloaded if no request uses it.
func (a api) running(c *server.Call) error {
	out := []listed{}
	for _, m := range a.Options.Engine.Models() {
		if textual(m) && m.Status == "loaded" && m.AliasOf == "" && m.Base == "" {
			l := a.listed(m)
			l.Modified = ""
			until := m.Expires
			if until.IsZero() {
				until = never()
			}
			l.loaded = &loaded{Expires: until.Format(time.RFC3339Nano), Context: m.ContextLength}
			out = append(out, l)
		}
	}
	return a.WriteJSON(c, 200, map[string]any{"models": out})
}

// capabilities are those of a model in the dialect's words.
func capabilities(m engine.ModelInfo, d engine.Details) []string {
	out := []string{"completion"}
	switch m.Kind {
	case engine.KindEmbedding:
		return []string{"embedding"}
	case engine.KindChat:
		out = append(out, "tools")
	}
	if d.Infill {
		out = append(out, "insert")
	}
	if d.Thinks {
		out = append(out, "thinking")
	}
	return out
}

// parameterSize spells a number of parameters, "7.2B"; "" when it is not known.
func parameterSize(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1e9, "B"}, {1e6, "M"}, {1e3, "K"}} {
		if n >= unit.size {
			return fmt.Sprintf("%.1f%s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return ""
}

// parameters spells a model's own sampling values, one a line.
func parameters(s engine.Sampling) string {
	var b strings.Builder
	for _, p := range []struct {
		name  string
		value *float32
	}{{"temperature", s.Temperature}, {"top_p", s.TopP}, {"min_p", s.MinP}, {"repeat_penalty", s.RepeatPenalty}} {
		if p.value != nil {
			fmt.Fprintf(&b, "%-30s %v\n", p.name, *p.value)
		}
	}
	if s.TopK != nil {
		fmt.Fprintf(&b, "%-30s %d\n", "top_k", *s.TopK)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (a api) show(c *server.Call, o *body.Object) error {
	name := readName(o)
	o.Ignore("verbose", "system", "template", "options")
	if err := a.Finish(c, o); err != nil {
		return err
	}
	found, err := a.find(name)
	if err != nil {
		return err
	}
	d, err := server.Promptly(a.API, c, found.Describe)
	if err != nil {
		return err
	}
	m := found.Info()
	known := map[string]any{"general.architecture": m.Architecture}
	if d.Parameters > 0 {
		known["general.parameter_count"] = d.Parameters
	}
	if m.ContextLength > 0 {
		known[m.Architecture+".context_length"] = m.ContextLength
	}
	about := newDetails(m)
	about.Parameters = parameterSize(d.Parameters)
	return a.WriteJSON(c, 200, struct {
		Modelfile    string         `json:"modelfile"`
		Parameters   string         `json:"parameters"`
		Template     string         `json:"template"`
		Details      details        `json:"details"`
		Info         map[string]any `json:"model_info"`
		Capabilities []string       `json:"capabilities"`
		Modified     string         `json:"modified_at"`
	}{Parameters: parameters(d.Sampling), Template: d.Template, Details: about, Info: known, Capabilities: capabilities(m, d), Modified: a.modified(m)})
}

func (a api) version(c *server.Call) error {
	return a.WriteJSON(c, 200, map[string]string{"version": a.Options.Version})
}
