package main

import (
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress draws one bar for every model being worked on. On anything but a
// terminal it draws nothing.
type progress struct {
	what string // is done to a model: "loading"
	w    io.Writer
	tty  bool

	mu    sync.Mutex
	pool  *mpb.Progress
	tasks map[string]*task
}

// task is the work on one model. Its bar appears when it has taken a while, so
// that small models load without a flicker.
type task struct {
	done  float64
	bar   *mpb.Bar
	timer *time.Timer
}

const (
	barSteps = 1000
	barAfter = 300 * time.Millisecond
)

// progress returns an empty set of bars on standard error. wait must be called
// when no more work is expected; it clears what is left.
func (a *app) progress(what string) *progress {
	return &progress{what: what, w: a.err, tty: isTerminal(a.err), tasks: map[string]*task{}}
}

// update says that the work on model has come to done, 0 to 1. Work that failed
// stops calling it; wait takes its bar away.
func (p *progress) update(model string, done float64) {
	if !p.tty {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tasks[model]
	if t == nil {
		t = &task{}
		t.timer = time.AfterFunc(barAfter, func() { p.show(model, t) })
		p.tasks[model] = t
	}
	t.done = min(max(done, 0), 1)
	t.draw()
	if done >= 1 {
		t.timer.Stop()
		delete(p.tasks, model)
	}
}

// show makes the bar of t, unless its work has ended.
func (p *progress) show(model string, t *task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tasks[model] != t {
		return
	}
	if p.pool == nil {
		p.pool = mpb.New(mpb.WithOutput(p.w), mpb.WithWidth(40), mpb.WithAutoRefresh())
	}
	t.bar = p.pool.AddBar(barSteps,
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(p.what+" "+plain(model)+" ")),
		mpb.AppendDecorators(decor.Percentage()))
	t.draw()
}

func (t *task) draw() {
	if t.bar != nil {
		t.bar.SetCurrent(int64(t.done * barSteps))
	}
}

// wait clears the bars.
func (p *progress) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.tasks {
		t.timer.Stop()
		if t.bar != nil {
			t.bar.Abort(true)
		}
	}
	if p.pool != nil {
		p.pool.Wait()
	}
	p.pool, p.tasks = nil, map[string]*task{}
}
