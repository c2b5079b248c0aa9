package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		name string
		tty  bool
		work func(p *progress)
		want bool // something about the model is drawn
	}{
		{"fast", true, func(p *progress) { p.update("m", 0.1); p.update("m", 1) }, false},
		{"slow in one step", true, func(p *progress) { p.update("m", 0.1); time.Sleep(2 * barAfter) }, true},
		{"slow", true, func(p *progress) {
			p.update("m", 0.1)
			time.Sleep(2 * barAfter)
			p.update("m", 0.5)
			p.update("m", 1)
		}, true},
		{"no terminal", false, func(p *progress) { p.update("m", 0.1); time.Sleep(2 * barAfter) }, false},
		{"nothing", true, func(*progress) {}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out output
				p := &progress{what: "loading", w: &out, tty: tt.tty, tasks: map[string]*task{}}
				tt.work(p)
				p.wait()
				p.wait() // again, as defer does
				if got := strings.Contains(out.String(), "loading m"); got != tt.want {
					t.Errorf("drawn: %v in %q; want %v", got, out.String(), tt.want)
				}
				if len(p.tasks) != 0 || p.pool != nil {
					t.Error("something is left")
				}
			})
		})
	}
}
