package residency

import (
	"errors"
	"path/filepath"
	"strings"

	"quern/engine"
	"quern/engine/catalog"
	"quern/engine/rescue"
	"quern/formats/weights"
)

// loadError is the error that clients get of a failed load: the one place where errors of readers
// become engine's. Messages of our own readers have a path only before a colon, which is cut off;
// those of the operating system name paths anywhere, and are not shown.
func loadError(n *catalog.Entry, err error) error {
	var known *engine.Error
	if errors.As(err, &known) {
		return known
	}
	why := "the server's log says why"
	if errors.Is(err, rescue.ErrFault) {
		why = rescue.ErrFault.Error()
	}
	if errors.Is(err, weights.ErrFormat) || errors.Is(err, weights.ErrUnsupported) {
		why = err.Error()
		var paths []string
		if a := n.About(); a != nil {
			paths = append(paths, a.Path)
		}
		for _, a := range n.Options.Adapters {
			paths = append(paths, a.Path)
		}
		for _, path := range paths {
			if path != "" {
				why = strings.ReplaceAll(why, path+": ", "")
				why = strings.ReplaceAll(why, filepath.Dir(path)+string(filepath.Separator), "")
			}
		}
	}
	return engine.Errorf(engine.CodeEngineFailure, "", "model %q cannot be loaded: %s", n.ID, why).Because(err)
}
