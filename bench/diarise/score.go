package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"quern/bench/internal/stat"
	"quern/engine/asr/diarize"
	"quern/engine/asr/speakers"
)

// A rated conversation is what came of one.
type rated struct {
	seed         uint64
	found        int
	exact, loose speakers.ErrorRate // without a collar, and with one of 0.25 s
	factor       float64            // of real time
}

// score has a model listen to conversations of each kind, one of each seed, and prints how
// wrong it was: the median, and the worst with its seed.
func score(ctx context.Context, m *diarize.Model, voices [][]float32, seconds float64, seed uint64, seeds int) error {
	fmt.Println("| speakers | rate, Hz | noise | found | DER | worst | its seed | missed, s | false alarm, s | confusion, s | collar 0.25 | worst | real-time factor |")
	fmt.Println("|---:|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	kinds := conversations(seconds, seed)
	for i := range kinds {
		var list []rated
		for s := range uint64(seeds) {
			c := kinds[i]
			c.seed = seed + s
			x, truth := c.play(voices)
			begin := time.Now()
			r, err := tell(ctx, m, x)
			if err != nil {
				return err
			}
			list = append(list, rated{c.seed, len(r.Names), speakers.Scoring{}.Rate(truth, r.Turns), speakers.Scoring{Collar: 0.25}.Rate(truth, r.Turns), time.Since(begin).Seconds() / seconds})
		}
		of := func(f func(rated) float64) (median, worst float64) {
			v := stat.Values(list, f)
			return stat.Median(v), slices.Max(v)
		}
		der, most := of(func(r rated) float64 { return 100 * r.exact.DER() })
		loose, mostLoose := of(func(r rated) float64 { return 100 * r.loose.DER() })
		missed, _ := of(func(r rated) float64 { return r.exact.Missed })
		alarm, _ := of(func(r rated) float64 { return r.exact.FalseAlarm })
		confusion, _ := of(func(r rated) float64 { return r.exact.Confusion })
		factor, _ := of(func(r rated) float64 { return r.factor })
		worst := slices.MaxFunc(list, func(a, b rated) int { return int(1e6 * (a.exact.DER() - b.exact.DER())) })
		fewest, largest := list[0].found, list[0].found
		for _, r := range list {
			fewest, largest = min(fewest, r.found), max(largest, r.found)
		}
		found := fmt.Sprint(fewest)
		if largest > fewest {
			found += fmt.Sprintf(" to %d", largest)
		}
		c := kinds[i]
		fmt.Printf("| %d | %d | %s | %s | %.1f %% | %.1f %% | %d | %.2f | %.2f | %.2f | %.1f %% | %.1f %% | %.4f |\n",
			c.speakers, c.rate, c.noiseName(), found, der, most, worst.seed, missed, alarm, confusion, loose, mostLoose, factor)
	}
	return nil
}
