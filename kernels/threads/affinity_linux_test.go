package threads

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Leaving a CPU leaves where a thread may run as it was.
func TestLeave(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Skip(err)
	}
	for cpu := range before.Count() + 1 {
		leave(cpu - 1)
		if now := cpuNow(); now < 0 || !before.IsSet(now) {
			t.Errorf("on CPU %d after leaving %d", now, cpu-1)
		}
		if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
			t.Fatalf("may run on %d CPUs after leaving %d, on %d before (%v)", after.Count(), cpu-1, before.Count(), err)
		}
	}
}
