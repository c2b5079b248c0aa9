// Package drive plays disks that lose power: file systems in files, of which a cut leaves what was
// synced and nothing else. Writes that reached the disk count as on it: a disk that loses its own
// cache is not played.
package drive

import "errors"

// ErrNotHere is of what this machine does not allow.
var ErrNotHere = errors.New("not tried, this machine does not allow it")
