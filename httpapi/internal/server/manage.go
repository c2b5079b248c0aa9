package server

import (
	"context"

	"quern/engine"
	"quern/httpapi/internal/fault"
)

// Manages reports whether the caller may pull and remove models.
func (a *API) Manages(c *Call) bool { return a.Options.Store != nil && c.manages }

// KeyName is the name of the caller's key, "" without keys.
func (c *Call) KeyName() string { return c.W.key }

// Managing is the handler of an endpoint for those who may pull and remove models.
func (a *API) Managing(handle func(*Call) error) func(*Call) error {
	return func(c *Call) error {
		switch {
		case a.Options.Store == nil:
			return fault.New(fault.CodeManage, "", "models are neither pulled nor removed over the API of this server; see the setting manage")
		case !c.manages && len(a.Keys()) > 0:
			return fault.New(fault.CodeManage, "", "this key may not pull or remove models; give it manage: true in the configuration, or set manage: all")
		case !c.manages:
			return fault.New(fault.CodeManage, "", "other machines can reach this server and it has no keys, so models are neither pulled nor removed over the API; configure keys, or set manage: all")
		}
		return handle(c)
	}
}

// Pulling is the work of a pull: it sends how far that is, until it is done.
func (a *API) Pulling(model string) func(ctx context.Context, send func(engine.Pull) error) error {
	return func(ctx context.Context, send func(engine.Pull) error) error {
		for p, err := range a.Options.Store.Pull(ctx, model) {
			if err == nil {
				err = send(p)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}
