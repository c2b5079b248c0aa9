package conformer

import (
	"testing"

	"quern/engine/asr/audio"
)

// OpenFile opens a model for tests outside of the package.
func OpenFile(t testing.TB, path string) *Model { return open(t, path, OpenOptions{}) }

// Signal is a signal of the fixtures.
func Signal(t testing.TB, name string) audio.Samples { return sound(t, name) }

// ToyCanary writes a tiny Canary.
func ToyCanary(t testing.TB) string { return toyCanary(t, false) }
