package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
)

// longFiles are encodings of the same sound, as ffmpeg makes them.
var longFiles = []struct {
	name string
	args []string
}{
	{"stereo.wav", nil},
	{"stereo.mp3", []string{"-b:a", "128k"}},
	{"stereo.m4a", []string{"-c:a", "aac", "-b:a", "128k"}},
	{"stereo.opus", []string{"-c:a", "libopus", "-b:a", "96k"}},
	{"voice.webm", []string{"-c:a", "libopus", "-b:a", "24k", "-ac", "1"}},
	{"vorbis.ogg", []string{"-c:a", "libvorbis", "-q:a", "3"}},
	{"stereo.flac", nil},
}

// long decodes files of so many seconds, as they are and as recognisers read them, mono at 16 kHz,
// by turns with ffmpeg: audio time over CPU time of whole programs.
func long(dir string, seconds float64) (err error) {
	defer must.Catch(&err)
	tmp := must.Get(os.MkdirTemp("", "quern-codecs"))
	defer os.RemoveAll(tmp)
	self := must.Get(os.Executable())
	fmt.Printf("%s\n\n| file, %.0f s | × real time | ffmpeg's × | ratio | mono, 16 kHz | ffmpeg's × | ratio |\n|---|---:|---:|---:|---:|---:|---:|\n", stat.Before().Stamp(), seconds)
	for _, f := range longFiles {
		path := filepath.Join(tmp, f.name)
		args := append([]string{"-v", "error", "-y", "-stream_loop", "-1", "-i", filepath.Join(dir, "s44.src.wav"), "-t", fmt.Sprint(seconds)}, f.args...)
		must.Do(exec.Command("ffmpeg", append(args, path)...).Run())
		theirs := []string{"ffmpeg", "-v", "error", "-nostdin", "-threads", "1", "-i", path, "-map", "0:a:0"}
		commands := [4][]string{
			{self, "-decode", path},
			append(theirs[:len(theirs):len(theirs)], "-f", "f32le", "-y", os.DevNull),
			{self, "-mono", "-decode", path},
			append(theirs[:len(theirs):len(theirs)], "-ac", "1", "-ar", "16000", "-f", "f32le", "-y", os.DevNull),
		}
		const runs = 3
		var taken [len(commands)][]time.Duration
		for range runs {
			for i, c := range commands {
				taken[i] = append(taken[i], must.Get(cpuTime(c[0], c[1:]...)))
			}
		}
		var speeds [len(commands)]float64
		for i := range speeds {
			speeds[i] = stat.Median(stat.Values(taken[i], func(d time.Duration) float64 { return seconds / max(d.Seconds(), 1e-3) }))
		}
		fmt.Printf("| %s | %.0f | %.0f | %.2f | %.0f | %.0f | %.2f |\n", f.name, speeds[0], speeds[1], speeds[0]/speeds[1], speeds[2], speeds[3], speeds[2]/speeds[3])
	}
	return nil
}
