//go:build !unix

package stat

import "time"

// CPUTime is not known here.
func CPUTime() time.Duration { return 0 }

// ThreadTime is not known here.
func ThreadTime() time.Duration { return 0 }
