package store_test

import (
	"context"
	"fmt"

	"quern/engine"
	"quern/engine/hub"
	"quern/engine/store"
)

type models struct{}

func (models) Serves(string) string { return "" }
func (models) Removable(id string) (string, error) {
	return "", engine.Errorf(engine.CodeModelNotFound, "model", "model %q does not exist", id)
}
func (models) Retire(string, func() error) error { return nil }

// What is not to be pulled is refused with an error for clients.
func Example() {
	s := store.New(store.Options{Dir: "models", Models: models{}, NoPull: "hub.pull is false",
		Hub: func(func(hub.Progress)) (*hub.Client, error) { return hub.New(hub.Options{}) }})
	defer s.Close()
	for p, err := range s.Pull(context.Background(), "OWNER/NAME:Q4_K_M") {
		fmt.Println(p.State, err)
	}
	// Output:
	//  models are not pulled: hub.pull is false
}
