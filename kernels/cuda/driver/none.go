//go:build !cuda || !linux

package driver

import "fmt"

// Built reports whether this program can load the driver.
const Built = false

// Open returns the machine's driver. Builds with the tag cuda, on Linux, can load
// it; this one cannot.
func Open() (Driver, error) {
	return nil, fmt.Errorf("%w: this build has no CUDA support (it needs Linux and the build tag cuda)", ErrUnavailable)
}
