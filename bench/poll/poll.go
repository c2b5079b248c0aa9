// Package poll waits in tests for what other goroutines do without a signal. Where
// there is a channel to wait for, or a bubble of testing/synctest, a test uses that.
package poll

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// Until returns once ok holds. It has no limit of its own, which a busy machine could miss: what
// never holds is named a little before go test's -timeout ends everything.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	until(t, ok, func() string { return "never: " + what })
}

// Goroutines returns once no more than most goroutines are left.
func Goroutines(t testing.TB, most int) {
	t.Helper()
	until(t, func() bool { return runtime.NumGoroutine() <= most }, func() string {
		buf := make([]byte, 1<<20)
		return fmt.Sprintf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), most, buf[:runtime.Stack(buf, true)])
	})
}

func until(t testing.TB, ok func() bool, fault func() string) {
	t.Helper()
	const early = 5 * time.Second
	var end time.Time
	if t, limited := t.(interface{ Deadline() (time.Time, bool) }); limited {
		end, _ = t.Deadline()
	}
	for !ok() {
		if !end.IsZero() && time.Until(end) < early {
			t.Fatal(fault())
		}
		time.Sleep(time.Millisecond)
	}
}
