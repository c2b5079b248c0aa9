package ask

import (
	"context"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// Schema reads a JSON Schema, which vLLM's clients may send as a string.
func Schema(o *body.Object, name string) *engine.Constraint {
	v, ok := o.Get(name)
	if !ok {
		return nil
	}
	c := &engine.Constraint{Form: engine.FormSchema, Param: v.Path()}
	switch v.Kind() {
	case '"':
		c.Source = v.Str()
	case '{', 't', 'f':
		c.Source = string(v.Raw)
	default:
		v.Wrong("a JSON Schema, which is an object")
		return nil
	}
	return c
}

// Grammar reads a grammar in llama.cpp's GBNF; a blank one is none, as clients of
// llama-server send it.
func Grammar(o *body.Object, name string) *engine.Constraint {
	v, ok := o.Get(name)
	if !ok {
		return nil
	}
	c := &engine.Constraint{Form: engine.FormGrammar, Source: v.Str(), Param: v.Path()}
	if strings.TrimSpace(c.Source) == "" {
		return nil
	}
	return c
}

// Constrain has the call's model check the form that is demanded, so that it is refused
// before anything is generated, and warns of keywords that are read as comments.
func Constrain(ctx context.Context, c *server.Call, k *engine.Constraint) error {
	if k == nil {
		return nil
	}
	notes, err := c.Lease.CheckConstraint(ctx, k)
	if err != nil {
		return fault.Classify(ctx, err)
	}
	for _, n := range notes {
		c.Warn(k.Param + ": " + n)
	}
	return nil
}
