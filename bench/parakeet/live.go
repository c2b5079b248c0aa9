package main

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
	"quern/engine"
	"quern/engine/asr/audio"
	"quern/engine/asr/conformer"
	"quern/engine/live"
)

// A recogniser is a model as package live asks for it.
type recogniser struct{ *conformer.Model }

func (r recogniser) Transcribe(ctx context.Context, q engine.TranscribeRequest) iter.Seq2[engine.Segment, error] {
	return r.Model.Transcribe(ctx, q.Source, q.TranscribeOptions)
}

// delays are the seconds from the moment that sound came to that at which text of it did.
type delays struct {
	mu             sync.Mutex
	partial, final []float64
	cost           live.Cost
	held           int // samples that were not taken, at most
}

// liveSessions transcribes the sound of several speakers while they speak, as fast as they do,
// and prints how late their texts come, and the memory that takes.
func liveSessions(dir string, sessions int, o options) (err error) {
	defer must.Catch(&err)
	m, done, err := open(dir, o.threads)
	must.Do(err)
	defer done()
	must.Get(hear(m, sound(o.seconds))) // warms up
	before, _ := stat.Resident()
	var d delays
	var wg sync.WaitGroup
	errs := make([]error, sessions)
	for i := range sessions {
		wg.Go(func() { errs[i] = d.session(m, i, o.seconds) })
	}
	wg.Wait()
	for _, err := range errs {
		must.Do(err)
	}
	now, peak := stat.Resident()
	fmt.Printf("| %d | %d | %.2f | %s | %s | %.1f | %.0f, %.0f, %.0f |\n", sessions, d.cost.Pieces, d.cost.Seconds/o.seconds/float64(sessions), spread(d.partial), spread(d.final),
		float64(d.held)/audio.Rate, before, now, peak)
	return nil
}

// spread is the median, the 95th percentile and the worst of times.
func spread(x []float64) string {
	if len(x) == 0 {
		return "none"
	}
	slices.Sort(x)
	return fmt.Sprintf("%.2f, %.2f, %.2f", stat.Median(x), x[(len(x)-1)*95/100], x[len(x)-1])
}

// session is one speaker, who begins a little after those before.
func (d *delays) session(m *conformer.Model, number int, seconds float64) error {
	const tick = audio.Rate / 10
	feed := live.NewFeed(0)
	begin := time.Now().Add(time.Duration(number) * 370 * time.Millisecond)
	go func() {
		for at := 0; at < int(seconds*audio.Rate); at += tick {
			time.Sleep(time.Until(begin.Add(time.Duration(at+tick) * time.Second / audio.Rate)))
			x := make([]float32, tick)
			for i := range x {
				x[i] = turn(at+i, number)
			}
			_ = feed.Write(context.Background(), x) // which has room
			d.mu.Lock()
			d.held = max(d.held, feed.Held())
			d.mu.Unlock()
		}
		feed.Close(nil)
	}()
	var cost live.Cost
	for u, err := range live.Transcribe(context.Background(), recogniser{m}, feed, live.Options{Cost: &cost}) {
		if err != nil {
			return err
		}
		late := time.Since(begin).Seconds() - u.Heard
		d.mu.Lock()
		if u.Final {
			d.final = append(d.final, late)
		} else {
			d.partial = append(d.partial, late)
		}
		d.mu.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cost.Runs, d.cost.Seconds, d.cost.Pieces = d.cost.Runs+cost.Runs, d.cost.Seconds+cost.Seconds, d.cost.Pieces+cost.Pieces
	return nil
}

// turn is sound of a speaker at a sample: a voiced tone with the swell of syllables for 7 s, and
// 1 s of silence.
func turn(at, number int) float32 {
	const spoken, all = 7 * audio.Rate, 8 * audio.Rate
	at += number * audio.Rate / 3
	if at%all >= spoken {
		return 0
	}
	t := float64(at) / audio.Rate
	pitch := 110 * (1 + 0.1*float64(number%8))
	x := 0.0
	for k := 1.0; k < 20; k++ {
		x += math.Sin(2*math.Pi*pitch*k*t) / k
	}
	return float32(0.08 * x * (0.55 - 0.45*math.Cos(2*math.Pi*4*t)))
}
