package stat

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// MostOthers is the processors others may use of a machine that is not busy. Workers wait for the
// slowest among them, so a part of one thread of another program is enough to spoil a run.
const MostOthers = 0.1

// Others is what programs besides this one and its children use of the processors. What a virtual
// machine is not given is among it.
type Others struct {
	Processors float64 `json:"processors"` // on average, -1 where the system does not say
	When       string  `json:"when"`
}

// A Watch looks at others while something is measured.
type Watch struct {
	at   time.Time
	used time.Duration
	ok   bool
}

// StartWatch begins to look. Children that live now and end before Stop count as others.
func StartWatch() Watch {
	used, ok := usedByOthers(os.ReadFile)
	return Watch{time.Now(), used, ok}
}

// Stop tells what others used meanwhile. Children count as others until they are waited for.
func (w Watch) Stop() Others {
	used, ok := usedByOthers(os.ReadFile)
	if took := time.Since(w.at); ok && w.ok && took > 0 {
		return Others{max(0, (used-w.used).Seconds()/took.Seconds()), "meanwhile"}
	}
	return Others{Processors: -1}
}

// Before is what others use in the seconds before something is measured in processes that are not
// children.
func Before() Others {
	const seconds = 3
	w := StartWatch()
	time.Sleep(seconds * time.Second)
	o := w.Stop()
	o.When = fmt.Sprintf("in the %d s before", seconds)
	return o
}

// Busy reports whether numbers that were measured meanwhile do not count.
func (o Others) Busy() bool { return o.Processors > MostOthers }

// Stamp is what is written beside numbers.
func (o Others) Stamp() string {
	switch {
	case o.Processors < 0:
		return "Used by other programs: not known"
	case o.Busy():
		return fmt.Sprintf("Used by other programs %s: %.2f processors — the machine was busy, so these numbers do not count", o.When, o.Processors)
	}
	return fmt.Sprintf("Used by other programs %s: %.2f processors", o.When, o.Processors)
}

// tick is the unit of Linux's files.
const tick = time.Second / 100

// usedByOthers is the time processors did not idle, without that of this process and of its
// children that ended, as Linux's files say; see proc(5).
func usedByOthers(file func(string) ([]byte, error)) (_ time.Duration, ok bool) {
	all, err := file("/proc/stat")
	own, err2 := file("/proc/self/stat")
	if err != nil || err2 != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(all), "\n")
	machine, process := strings.Fields(first), strings.Fields(string(own[bytes.LastIndexByte(own, ')')+1:])) // behind the name
	if len(machine) < 9 || machine[0] != "cpu" || len(process) < 15 {
		return 0, false
	}
	machine = append(machine[1:4], machine[6:9]...) // user, nice, system; irq, softirq, steal
	var sum int64
	for _, list := range []struct {
		sign  int64
		ticks []string
	}{{1, machine}, {-1, process[11:15]}} { // user and system, of the process and of its children
		for _, s := range list.ticks {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				return 0, false
			}
			sum += list.sign * n
		}
	}
	return time.Duration(sum) * tick, true
}
