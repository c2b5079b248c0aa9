package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
)

// A Line is the last line of a terminal during longer work. It is
// never wider than the terminal, with room for the "^C" that terminals echo, so that it
// can be taken away again. The zero value draws nothing.
type Line struct {
	w     io.Writer
	width func() int // columns; nil draws nothing

	mu    sync.Mutex
	shown int // columns
	drawn time.Time
}

// drawEvery bounds how often the line is drawn.
const drawEvery = 50 * time.Millisecond

// NewLine draws on w, which is as wide as width returns; nil draws nothing.
func NewLine(w io.Writer, width func() int) *Line { return &Line{w: w, width: width} }

// Set shows how much is done, 0 to 1, and of what.
func (s *Line) Set(done float64, what string) {
	if s.width == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown > 0 && time.Since(s.drawn) < drawEvery {
		return
	}
	// Spaces overwrite a longer line: not every terminal of Windows reads escape
	// sequences. A terminal that is gone shows nothing.
	width := s.width()
	if width <= 0 {
		width = usual
	}
	text := statusText(done, what, width-reserve)
	columns := runewidth.StringWidth(text)
	_, _ = io.WriteString(s.w, "\r"+text+strings.Repeat(" ", max(s.shown-columns, 0)))
	s.shown, s.drawn = max(columns, s.shown), time.Now()
}

// usual is the width of a terminal of unknown width, as many emulated ones are.
const usual = 80

// reserve is how many columns stay free for "^C" and the cursor.
const reserve = 4

// statusText is at most width columns: the percentage, a bar if there is room, and
// what is done.
func statusText(done float64, what string, width int) string {
	const bar = 20
	done = min(max(done, 0), 1)
	text := fmt.Sprintf("%3.0f %% ", 100*done)
	if width >= 3*bar {
		full := int(done * bar)
		text += "[" + strings.Repeat("=", full) + strings.Repeat(" ", bar-full) + "] "
	}
	if width <= 0 {
		return ""
	}
	return strings.TrimRight(runewidth.Truncate(text+Plain(what), width, "…"), " ")
}

// Clear removes the line.
func (s *Line) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
}

func (s *Line) wipe() {
	if s.shown > 0 {
		_, _ = io.WriteString(s.w, "\r"+strings.Repeat(" ", s.shown+reserve-1)+"\r")
		s.shown = 0
	}
}

// Write writes lasting text above the line.
func (s *Line) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	return s.w.Write(b)
}

// Progress shows the work on models, of several the one updated last.
type Progress struct {
	what string // is done to a model: "loading"
	line *Line

	mu    sync.Mutex
	tasks map[string]*task
}

// task is the work on one model. It is shown when it has taken a while, so that small
// models load without a flicker.
type task struct {
	done  float64
	shown bool
	timer *time.Timer
}

const showAfter = 300 * time.Millisecond

// NewProgress starts without work; what is done to models, as "loading". Wait must be called
// when no more is expected; it clears the lines that are left.
func NewProgress(line *Line, what string) *Progress {
	return &Progress{what: what, line: line, tasks: map[string]*task{}}
}

// Update sets the progress of the work on model to done, 0 to 1. Work that failed
// stops calling it; Wait takes its line away.
func (p *Progress) Update(model string, done float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tasks[model]
	if t == nil {
		t = &task{}
		t.timer = time.AfterFunc(showAfter, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.tasks[model] == t {
				t.shown = true
				p.line.Set(t.done, p.what+" "+model)
			}
		})
		p.tasks[model] = t
	}
	t.done = done
	switch {
	case done >= 1:
		t.timer.Stop()
		delete(p.tasks, model)
		if t.shown {
			p.line.Clear()
		}
	case t.shown:
		p.line.Set(done, p.what+" "+model)
	}
}

// Wait clears the line.
func (p *Progress) Wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.tasks {
		t.timer.Stop()
	}
	p.tasks = map[string]*task{}
	p.line.Clear()
}
