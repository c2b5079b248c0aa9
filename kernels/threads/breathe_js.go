package threads

import (
	"runtime"
	"sync"
	"syscall/js"
	"time"
)

// breathEvery is how long the events of the page or worker wait while regions run: aborted and
// new requests. A breath takes some 20 µs.
const breathEvery = 4 * time.Millisecond

// An eventLoop runs turns of the JavaScript event loop for goroutines that compute; Go
// enters it by itself only when no goroutine can run. Timers would fire after 4 ms;
// messages arrive at once, after the events that wait already.
type eventLoop struct {
	port  js.Value
	turns chan struct{} // one for each message that arrived
	last  time.Time
}

var events = sync.OnceValue(func() *eventLoop {
	c := js.Global().Get("MessageChannel").New()
	l := &eventLoop{port: c.Get("port2"), turns: make(chan struct{}, 1), last: time.Now()}
	c.Get("port1").Set("onmessage", js.FuncOf(func(js.Value, []js.Value) any {
		l.turns <- struct{}{}
		return nil
	}))
	return l
})

// breathe lets other goroutines run and, now and then, the event loop.
func breathe() {
	l := events()
	if time.Since(l.last) < breathEvery { // asks for one of the two clocks that time.Now does
		runtime.Gosched()
		return
	}
	l.port.Call("postMessage", js.Null())
	<-l.turns
	l.last = time.Now()
}
