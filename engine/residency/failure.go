package residency

import (
	"errors"
	"path/filepath"
	"strings"

	"quern/engine"
	"quern/engine/catalog"
	"quern/formats/weights"
)

// loadError is what clients hear of a failed load: the one place where errors of readers
// become engine's. Messages of our own readers say what is wrong with a file, and where it
// is only before a colon; the system's messages name paths.
func loadError(n *catalog.Entry, err error) error {
	var known *engine.Error
	if errors.As(err, &known) {
		return known
	}
	why := "the server's log says why"
	if errors.Is(err, weights.ErrFormat) || errors.Is(err, weights.ErrUnsupported) {
		why = err.Error()
		if a := n.About(); a != nil && a.Path != "" {
			why = strings.ReplaceAll(why, a.Path+": ", "")
			why = strings.ReplaceAll(why, filepath.Dir(a.Path)+string(filepath.Separator), "")
		}
	}
	return engine.Errorf(engine.CodeEngineFailure, "", "model %q cannot be loaded: %s", n.ID, why).Because(err)
}
