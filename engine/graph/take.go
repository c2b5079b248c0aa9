package graph

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A Row is the logits of one wanted row: all of them, or the largest.
type Row struct {
	// IDs are the tokens of the largest logits: the larger first, of equals the lower
	// number, NaN before all. nil: Logits has that of every token, by its number.
	IDs    []int32
	Logits []float32
}

// A Handout calls a batch's Take from goroutines of its own, for Execs without threads
// of their own. The zero value is ready; using it again
// allocates nothing.
type Handout struct {
	take func(want int, r Row)
	rows []Row
	next atomic.Int64 // of rows
	help func()       // work, by a goroutine of its own
	wg   sync.WaitGroup
}

// worthwhile is how many logits keep a goroutine busy for much longer than it takes
// to start.
const worthwhile = 1 << 16

// Give calls take for each of rows, and returns when all calls have returned.
func (h *Handout) Give(take func(want int, r Row), rows []Row) {
	if h.help == nil {
		h.help = func() {
			defer h.wg.Done()
			h.work()
		}
	}
	h.take, h.rows = take, rows
	h.next.Store(0)
	logits := 0
	for _, r := range rows {
		logits += len(r.Logits)
	}
	for range min(runtime.GOMAXPROCS(0), len(rows), logits/worthwhile) - 1 {
		h.wg.Add(1)
		go h.help()
	}
	h.work()
	h.wg.Wait()
}

// work calls take for rows until none is left.
func (h *Handout) work() {
	for {
		i := int(h.next.Add(1)) - 1
		if i >= len(h.rows) {
			return
		}
		h.take(i, h.rows[i])
	}
}
