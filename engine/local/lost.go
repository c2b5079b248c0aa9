package local

import (
	"time"

	"quern/engine"
	"quern/engine/graph"
)

// watch shows how far the upload of an entry's weights to the device is, and has its
// model unloaded when the device loses it.
func (e *Engine) watch(n *entry) graph.Watch {
	return graph.Watch{
		Placed: func(done, total int64) {
			e.progress(n.id, loadFilled+(loadCompiled-loadFilled)*float64(done)/float64(max(1, total)))
		},
		Lost: func(error) { e.lose(n) },
	}
}

// lose has a model unloaded that its device has lost, as soon as the requests that
// use it have failed. The next one loads it again.
func (e *Engine) lose(n *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n.model == nil || n.lost {
		return
	}
	n.lost = true
	e.log.Error("model lost with its device", "model", n.id)
	if n.users == 0 {
		e.unload(n, "on", "device failure")
	}
}

func errLost(id string) error {
	return &engine.Error{Code: engine.CodeModelLoading, RetryAfter: time.Second,
		Message: "model \"" + id + "\" was lost with its device and is about to be loaded again; try again"}
}
