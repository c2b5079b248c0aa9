package terminal

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mattn/go-runewidth"
)

func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		name string
		tty  bool
		work func(p *Progress)
		want []string // percentages drawn
	}{
		{"fast", true, func(p *Progress) { p.Update("m", 0.1); p.Update("m", 1) }, nil},
		{"slow in one step", true, func(p *Progress) { p.Update("m", 0.1); time.Sleep(2 * showAfter) }, []string{"10"}},
		{"slow", true, func(p *Progress) {
			p.Update("m", 0.1)
			time.Sleep(2 * showAfter)
			p.Update("m", 0.5)
			p.Update("m", 0.51) // too soon to be drawn
			p.Update("m", 1)
		}, []string{"10", "50"}},
		{"no terminal", false, func(p *Progress) { p.Update("m", 0.1); time.Sleep(2 * showAfter) }, nil},
		{"nothing", true, func(*Progress) {}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				line := &Line{w: &out}
				if tt.tty {
					line.width = func() int { return 30 }
				}
				p := NewProgress(line, "loading")
				tt.work(p)
				p.Wait()
				p.Wait() // again, as defer does
				want := ""
				for _, percent := range tt.want {
					want += "\r " + percent + " % loading m"
				}
				if want != "" {
					want += wiped(" 10 % loading m")
				}
				if out.String() != want {
					t.Errorf("drawn %q; want %q", out.String(), want)
				}
				if len(p.tasks) != 0 {
					t.Error("something is left")
				}
			})
		})
	}
}

// wiped is what takes a line away.
func wiped(line string) string { return "\r" + strings.Repeat(" ", len(line)+reserve-1) + "\r" }

// A line that stays goes above the one that is drawn, and a short line over a long one.
func TestStatusLineWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := &Line{w: &out, width: func() int { return 40 }}
		s.Set(0.5, "loading m")
		if _, err := s.Write([]byte("a warning\n")); err != nil {
			t.Fatal(err)
		}
		s.Set(0.6, "loading m")
		s.Clear()
		s.Set(0.7, "loading model")
		time.Sleep(drawEvery)
		s.Set(0.8, "all")
		if want := "\r 50 % loading m" + wiped(" 50 % loading m") + "a warning\n\r 60 % loading m" + wiped(" 60 % loading m") +
			"\r 70 % loading model\r 80 % all          "; out.String() != want {
			t.Errorf("drawn %q; want %q", out.String(), want)
		}
	})
}

func TestStatusText(t *testing.T) {
	for width := range 120 {
		for _, what := range []string{"loading a-rather-long-name-of-a-model-Q4_K_M.gguf", "世界世界世界世界世界世界", "\x1b[2J"} {
			text := statusText(0.314, what, width)
			if n := runewidth.StringWidth(text); n > width || strings.Contains(text, "\x1b") || width > 6 && !strings.HasPrefix(text, " 31 %") {
				t.Errorf("%d columns of %d: %q", n, width, text)
			}
		}
	}
}

// TestWidthNotTold: a terminal that does not tell its columns is as wide as most.
func TestWidthNotTold(t *testing.T) {
	var out bytes.Buffer
	NewLine(&out, func() int { return 0 }).Set(0.5, "12 of 24 lines")
	if got := out.String(); !strings.Contains(got, "50") || !strings.Contains(got, "12 of 24 lines") {
		t.Errorf("%q", got)
	}
}
