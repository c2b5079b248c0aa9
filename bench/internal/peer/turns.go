package peer

import (
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
)

// Times are the milliseconds of quern's runs and of the peer's: of the clock, and of CPUs.
type Times struct{ Wall, CPU [2][]float64 }

// pause parts the runs: a peer's workers go on spinning some 30 ms after theirs, and a run
// right after has one CPU less.
const pause = 120 * time.Millisecond

// InTurn times runs of quern's, each followed by one of the peer's, which tells its own times.
func InTurn(runs int, ours func() error, theirs func() (wall, cpu float64, err error)) (t Times, err error) {
	defer must.Catch(&err)
	for range runs {
		time.Sleep(pause)
		start, used := time.Now(), stat.CPUTime()
		must.Do(ours())
		t.add(0, time.Since(start).Seconds()*1e3, (stat.CPUTime()-used).Seconds()*1e3)
		time.Sleep(pause)
		wall, cpu, err := theirs()
		must.Do(err)
		t.add(1, wall, cpu)
	}
	return t, nil
}

func (t *Times) add(who int, wall, cpu float64) {
	t.Wall[who], t.CPU[who] = append(t.Wall[who], wall), append(t.CPU[who], cpu)
}
