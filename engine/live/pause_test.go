package live_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"quern/engine/live"
)

// TestPause: a piece is written down when its pause is there, and waits for no further sound,
// however long the steps are.
func TestPause(t *testing.T) {
	for _, step := range []float64{0.5, 5, 30} {
		synctest.Test(t, func(t *testing.T) {
			var x sound
			x.say(0, 4, 0.4, 0.06)
			x.silence(0.8)
			feed := live.NewFeed(0)
			var list []live.Update
			go func() {
				for u := range live.Transcribe(t.Context(), &fake{each: 0.4}, feed, live.Options{Step: step, Detector: loud{}}) {
					list = append(list, u)
				}
			}()
			for ; len(x) > 0; x = x[min(tick, len(x)):] {
				if err := feed.Write(t.Context(), x[:min(tick, len(x))]); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			if n := len(list); n == 0 || !list[n-1].Final || joined(list) != strings.TrimLeft(words(0, 4), " ") {
				t.Errorf("steps of %g s: %+v before more sound came", step, list)
			}
			feed.Close(nil)
			synctest.Wait()
		})
	}
}
