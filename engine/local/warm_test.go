package local

import (
	"strings"
	"testing"

	"quern/engine"
)

// TestWarm: models of the start have worked before the first request, others have not; one
// that cannot says so.
func TestWarm(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "a", Path: small, Preload: new(true)}, {Name: "v", Path: formantPath, Preload: new(true)}, {Name: "b", Path: small}}})
	if err := e.Preload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	worked := map[string]int64{}
	for _, m := range e.Stats().Models {
		worked[m.Model] = m.GeneratedTokens
	}
	if len(worked) != 2 || worked["a"] == 0 || worked["v"] == 0 {
		t.Errorf("tokens made: %v", worked)
	}
	e.models.Close()
	if err := e.Warm(t.Context()); err == nil || !strings.Contains(err.Error(), `model "a" does not answer`) {
		t.Errorf("of a closed engine: %v", err)
	}
}
