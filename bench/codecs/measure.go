package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"time"
)

func floats(b []byte) []float32 {
	x := make([]float32, len(b)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}

// snr is the power of want over that of the difference of got from it, in dB,
// over what both have; exact if they are equal.
func snr(got, want []float32) float64 {
	var signal, noise float64
	for i := range min(len(got), len(want)) {
		w, d := float64(want[i]), float64(got[i])-float64(want[i])
		signal += w * w
		noise += d * d
	}
	if noise == 0 {
		return exact
	}
	return 10 * math.Log10((signal+1e-30)/noise)
}

// compare returns the SNR of got, and by how many frames got begins later than
// want: 0 unless that is below the limit and another shift is much better.
func compare(got, want []float32, channels int, limit float64) (v float64, lag int) {
	v = snr(got, want)
	if v >= limit {
		return v, 0
	}
	const reach, window = 3000, 6000
	best := v + 3
	for d := -reach; d <= reach; d++ {
		a, b := shift(got, want, d*channels)
		if len(a) < window || len(b) < window {
			continue
		}
		if snr(a[:window], b[:window]) <= best {
			continue
		}
		if w := snr(a, b); w > best {
			best, v, lag = w, w, d
		}
	}
	return v, lag
}

// shift drops d values of got, or -d of want.
func shift(got, want []float32, d int) (a, b []float32) {
	if d >= 0 {
		return got[min(d, len(got)):], want
	}
	return got, want[min(-d, len(want)):]
}

// segmental is the mean SNR of the 20 ms segments that are not silent, each
// taken between -10 and 35 dB.
func segmental(got, want []float32, perSecond int) float64 {
	n := perSecond / 50
	sum, count := 0.0, 0
	for i := 0; i+n <= min(len(got), len(want)); i += n {
		power := 0.0
		for _, v := range want[i : i+n] {
			power += float64(v) * float64(v)
		}
		if power < float64(n)*1e-6 {
			continue
		}
		sum += min(35, max(-10, snr(got[i:i+n], want[i:i+n])))
		count++
	}
	return sum / float64(max(count, 1))
}

// cpuTime is the CPU time that a program takes, for itself and in the system.
func cpuTime(name string, args ...string) (time.Duration, error) {
	cmd := exec.Command(name, args...)
	if err := cmd.Run(); err != nil {
		return 0, err
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// loops is how often a short file is done over to be timed.
const loops = 40

// times formats how many times faster than real time loops rounds are, once
// being what one round and the start of the program take. Less than 5 ms between them
// is no measurement.
func times(seconds float64, once, many time.Duration, err error) string {
	if err != nil || many-once < 5*time.Millisecond {
		return "–"
	}
	return fmt.Sprintf("%.0f", seconds*loops/(many-once).Seconds())
}

// ourSpeed times this program on one CPU.
func ourSpeed(seconds float64, args ...string) string {
	self, err := os.Executable()
	if err != nil {
		return "–"
	}
	once, err := cpuTime(self, args...)
	if err != nil {
		return "–"
	}
	many, err := cpuTime(self, append(args, "-times", fmt.Sprint(1+loops))...)
	return times(seconds, once, many, err)
}

// ffmpegSpeed times ffmpeg, which reads the file again and again by itself.
func ffmpegSpeed(seconds float64, path string) string {
	run := func(n int) (time.Duration, error) {
		return cpuTime("ffmpeg", "-v", "quiet", "-threads", "1", "-stream_loop", fmt.Sprint(n), "-i", path, "-map", "0:a:0", "-f", "null", "-")
	}
	once, err := run(0)
	if err != nil {
		return "–"
	}
	many, err := run(loops)
	return times(seconds, once, many, err)
}
