package ollama

import (
	"strings"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// readName reads the model a request names, by the field or its older name.
func readName(o *body.Object) string {
	if name := o.Str("model"); name != "" {
		o.Ignore("name")
		return name
	}
	if name := o.Str("name"); name != "" {
		return name
	}
	if v, ok := o.Need("model"); ok {
		v.Invalid("must not be empty")
	}
	return ""
}

// latest is the tag that the dialect's programs add to names without one.
const latest = ":latest"

// find is the model of a name.
func (a api) find(name string, kinds ...engine.Kind) (engine.Model, error) {
	m, err := a.Options.Engine.Find(name, kinds...)
	if err != nil && strings.HasSuffix(name, latest) {
		if again, other := a.Options.Engine.Find(strings.TrimSuffix(name, latest), kinds...); other == nil {
			return again, nil
		}
	}
	return m, err
}

// open makes the model of a name resident for the rest of the call.
func (a api) open(c *server.Call, name string, kinds ...engine.Kind) (engine.ModelInfo, error) {
	if m, err := a.find(name, kinds...); err == nil {
		name = m.Info().ID
	}
	return a.Prepare(c, name, kinds...)
}
