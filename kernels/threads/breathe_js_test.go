package threads

import (
	"syscall/js"
	"testing"
)

// Events come while one goroutine computes: the regions run until one has.
func TestPoolEvents(t *testing.T) {
	p := NewPool(1)
	defer p.Close()
	came := false
	f := js.FuncOf(func(js.Value, []js.Value) any {
		came = true
		return nil
	})
	defer f.Release()
	js.Global().Call("setTimeout", f, 0)
	r := &Region{F: func(int, int) {}}
	for !came {
		p.Run(1, r)
	}
}
