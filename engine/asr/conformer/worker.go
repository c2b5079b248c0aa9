package conformer

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"quern/engine/onnx"
	"quern/engine/rescue"
)

var (
	errClosed  = errors.New("conformer: the model is closed")
	errNumbers = errors.New("conformer: what the model computes are no numbers; its file may be damaged")
)

// A worker owns the graphs of a model: one goroutine takes windows of requests by turns, with
// those waiting that may share their run.
//
// Goyal, Vin and Cheng, "Start-time fair queueing", 1996, with windows of one length: what is
// spoken live waits for a window of each file, and not for all that files have waiting.
type worker struct {
	m *Model

	mu     sync.Mutex
	wake   *sync.Cond
	queue  []*window
	turn   int // of the window that was taken last
	closed bool
	done   chan struct{}

	runs atomic.Int64 // of the encoder
}

func startWorker(m *Model) *worker {
	k := &worker{m: m, done: make(chan struct{})}
	k.wake = sync.NewCond(&k.mu)
	go k.run()
	return k
}

func (k *worker) stop() {
	k.mu.Lock()
	k.closed = true
	k.wake.Broadcast()
	k.mu.Unlock()
	<-k.done
}

// submit queues a window, whose done is closed when it has its tokens or an error.
func (k *worker) submit(w *window) {
	w.done = make(chan struct{})
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		w.err = errClosed
		close(w.done)
		return
	}
	w.turn = k.turn + 1
	if r := w.request; r != nil {
		w.turn = max(w.turn, r.turn+1)
		r.turn = w.turn
	}
	k.queue = append(k.queue, w)
	slices.SortStableFunc(k.queue, func(a, b *window) int { return cmp.Compare(a.turn, b.turn) })
	k.wake.Signal()
}

// take waits for windows and returns those of the next run; none when the model is closed.
func (k *worker) take() (batch []*window) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.queue) == 0 {
		if k.closed {
			return nil
		}
		k.wake.Wait()
	}
	var rest []*window
	for _, w := range k.queue {
		if len(batch) == 0 || k.m.together(batch, w) {
			batch = append(batch, w)
		} else {
			rest = append(rest, w)
		}
	}
	k.queue, k.turn = rest, batch[0].turn
	return batch
}

func (k *worker) run() {
	defer close(k.done)
	for {
		batch := k.take()
		if batch == nil {
			return
		}
		err := k.do(batch)
		if err != nil && len(batch) > 1 && errors.Is(err, onnx.ErrMemory) {
			for _, w := range batch { // one after the other they may fit
				w.tokens = nil
				w.err = k.do([]*window{w})
			}
			err = nil
		}
		for _, w := range batch {
			if err != nil {
				w.err = err
			}
			if w.err == nil && slices.ContainsFunc(w.tokens, func(s spoken) bool { return math.IsNaN(s.logprob) || math.IsInf(s.logprob, 0) }) {
				w.err = errNumbers
			}
			if w.ctx.Err() != nil {
				w.err = w.ctx.Err()
			}
			w.features, w.states = nil, nil
			close(w.done)
		}
	}
}

// do encodes and decodes windows. It stops when the last of their requests has ended.
func (k *worker) do(batch []*window) (err error) {
	defer rescue.Panic(&err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var left atomic.Int64
	left.Store(int64(len(batch)))
	for _, w := range batch {
		defer context.AfterFunc(w.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})()
	}
	k.runs.Add(1)
	if err := k.m.encoder.run(ctx, batch); err != nil {
		return err
	}
	var live []*window
	for _, w := range batch {
		if w.ctx.Err() == nil {
			live = append(live, w)
		}
	}
	return k.m.decoder.decode(ctx, live)
}
