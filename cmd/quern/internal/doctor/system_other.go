//go:build !linux

package doctor

import "os"

// volume is not known here.
func volume(string) (id, free uint64, known bool) { return 0, 0, false }

// forget leaves a file in memory.
func forget(*os.File) {}

// OpenFiles is how many files this process may open, which is not known here.
func OpenFiles() uint64 { return 0 }
