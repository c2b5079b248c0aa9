package asr

import (
	"context"
	"errors"
	"slices"
	"sync"

	"quern/engine/graph"
	"quern/engine/rescue"
	"quern/engine/token"
)

// maxWant is how many rows of logits a step yields: candidates of all windows.
const maxWant = 64

var errClosed = errors.New("asr: the model is closed")

// A sequence is a candidate's share of the cache.
type sequence struct {
	table  []int32 // blocks of its own tokens
	memory []int32 // blocks of its window
}

// A row is a token to go through the decoder.
type row struct {
	id   token.ID
	at   int
	seq  *sequence
	want bool // its logits
}

// A task is decoding in progress. The worker asks for rows, runs them together
// with those of other tasks, and hands back the logits of those wanted, in
// order, until there are no more rows.
type task interface {
	rows() []row
	take(logits [][]float32)
}

// A worker owns the decoder: one goroutine takes every task a step further at a
// time, in one batch. A task's result does not depend on the others.
type worker struct {
	exec  graph.Exec
	cache graph.Cache
	most  int // rows of a step

	mu     sync.Mutex
	wake   *sync.Cond
	fresh  []*job
	closed bool
	done   chan struct{}

	jobs   []*job // only run looks at it
	batch  graph.Batch
	logits [][]float32 // by wanted row
}

type job struct {
	ctx   context.Context
	task  task
	rows  []row // of the next step
	ended chan struct{}
	err   error
}

func startWorker(e graph.Exec, c graph.Cache, most int) *worker {
	w := &worker{exec: e, cache: c, most: most, done: make(chan struct{})}
	w.batch.Take = func(want int, r graph.Row) { w.logits[want] = r.Logits }
	w.wake = sync.NewCond(&w.mu)
	go w.run()
	return w
}

// do runs a task to its end.
func (w *worker) do(ctx context.Context, t task) error {
	j := &job{ctx: ctx, task: t, ended: make(chan struct{})}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed
	}
	w.fresh = append(w.fresh, j)
	w.wake.Signal()
	w.mu.Unlock()
	// The task's memory is in use until the worker lets go of it, so this waits
	// for the worker even when ctx has ended; that takes a layer, or a step
	// shared with others.
	<-j.ended
	return j.err
}

// stop ends the goroutine and waits for it.
func (w *worker) stop() {
	w.mu.Lock()
	w.closed = true
	w.wake.Signal()
	w.mu.Unlock()
	<-w.done
	w.exec.Close()
}

func (w *worker) run() {
	defer close(w.done)
	for {
		w.mu.Lock()
		for len(w.jobs) == 0 && len(w.fresh) == 0 && !w.closed {
			w.wake.Wait()
		}
		for _, j := range w.fresh {
			if err := j.guarded(j.ask); err != nil {
				j.end(err)
			} else {
				w.jobs = append(w.jobs, j)
			}
		}
		w.fresh = w.fresh[:0]
		closed := w.closed
		w.mu.Unlock()
		if closed {
			for _, j := range w.jobs {
				j.end(errClosed)
			}
			w.jobs = nil
			return
		}
		w.step()
	}
}

func (j *job) end(err error) {
	j.err = err
	close(j.ended)
}

// step takes the first jobs that fit one batch a step further. They then stand
// behind the others.
func (w *worker) step() {
	jobs := w.jobs
	w.jobs = nil
	live := jobs[:0]
	for _, j := range jobs {
		switch {
		case j.ctx.Err() != nil:
			j.end(j.ctx.Err())
		case len(j.rows) == 0:
			j.end(nil)
		default:
			live = append(live, j)
		}
	}
	if len(live) == 0 {
		return
	}
	n, rows, want := 0, 0, 0
	for _, j := range live {
		r, k := len(j.rows), wanted(j.rows)
		if n > 0 && (rows+r > w.most || want+k > maxWant) {
			break
		}
		n, rows, want = n+1, rows+r, want+k
	}
	ctx := context.Background()
	if n == 1 {
		ctx = live[0].ctx
	}
	w.assemble(live[:n])
	w.logits = slices.Grow(w.logits[:0], want)[:want]
	err := w.compute(ctx)
	w.jobs = append(w.jobs, live[n:]...)
	at := 0
	for _, j := range live[:n] {
		from := at
		at += wanted(j.rows)
		if err != nil {
			j.end(err)
		} else if err := j.guarded(func() { j.task.take(w.logits[from:at]); j.ask() }); err != nil {
			j.end(err)
		} else {
			w.jobs = append(w.jobs, j)
		}
	}
}

// compute runs the batch. A panic ends the jobs in it, not the process.
func (w *worker) compute(ctx context.Context) (err error) {
	defer rescue.Panic(&err)
	_, err = w.exec.Run(ctx, &w.batch, w.cache)
	return err
}

// ask has a task say its next rows.
func (j *job) ask() { j.rows = j.task.rows() }

// guarded does something with a task, of which a panic ends the job alone.
func (j *job) guarded(do func()) (err error) {
	defer rescue.Panic(&err)
	do()
	return nil
}

func wanted(rows []row) int {
	n := 0
	for i := range rows {
		if rows[i].want {
			n++
		}
	}
	return n
}

func (w *worker) assemble(jobs []*job) {
	b := &w.batch
	b.Reset()
	for _, j := range jobs {
		var last *sequence
		for _, r := range j.rows {
			if r.seq != last {
				last = r.seq
				b.Sequence(r.seq.table, r.seq.memory)
			}
			b.Row(r.id, int32(r.at))
			if r.want {
				b.WantRow(0)
			}
		}
	}
}
