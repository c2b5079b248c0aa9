package diskspace

import "golang.org/x/sys/windows"

// Free returns the bytes a user may still write to the disk of dir, −1 when
// unknown.
func Free(dir string) int64 {
	p, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return -1
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(p, &free, nil, nil); err != nil {
		return -1
	}
	return int64(min(free, 1<<62))
}
