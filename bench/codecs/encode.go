package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/codecs"
)

// encode writes s with one of the encodings of package codecs.
func encode(w io.Writer, s *sound, name string, bitrate int) (err error) {
	defer must.Catch(&err)
	e := must.Get(codecs.EncodingByName(name))
	enc := must.Get(e.Create(w, s.rate, s.channels, codecs.EncodeOptions{Bitrate: bitrate}))
	must.Do(enc.Write(s.x))
	return enc.Close()
}

func encodeTimes(path, name string, bitrate, times int) (err error) {
	defer must.Catch(&err)
	s := must.Get(decode(path))
	for range times {
		must.Do(encode(io.Discard, s, name, bitrate))
	}
	return nil
}

// An encodeCase is a row of the encoders' table. peer is the command of the other
// encoder, with IN and OUT for its files.
type encodeCase struct {
	file, encoding, ext string
	kbps                int
	peer                []string
	margin              float64 // ours may have this much less segmental SNR
}

var encodeCases = []encodeCase{
	{"m24000.src.wav", "mp3", ".mp3", 32, []string{"lame", "--quiet", "--cbr", "--resample", "24", "-b", "32", "IN", "OUT"}, 3},
	{"m24000.src.wav", "mp3", ".mp3", 48, []string{"lame", "--quiet", "--cbr", "--resample", "24", "-b", "48", "IN", "OUT"}, 3},
	{"m24000.src.wav", "mp3", ".mp3", 64, []string{"lame", "--quiet", "--cbr", "--resample", "24", "-b", "64", "IN", "OUT"}, 3},
	{"m24000.src.wav", "mp3", ".mp3", 128, []string{"lame", "--quiet", "--cbr", "--resample", "24", "-b", "128", "IN", "OUT"}, 3},
	{"s44.src.wav", "mp3", ".mp3", 128, []string{"lame", "--quiet", "--cbr", "-b", "128", "IN", "OUT"}, 3},
	aac("m24000.src.wav", 32),
	aac("m24000.src.wav", 48),
	aac("m24000.src.wav", 64),
	aac("m24000.src.wav", 96),
	aac("m24000.src.wav", 128),
	aac("m16000.src.wav", 64),
	aac("m48.src.wav", 64),
	aac("s44.src.wav", 64),
	aac("s44.src.wav", 128),
	aac("s44.src.wav", 192),
	{"m24000.src.wav", "opus", ".opus", 24, []string{"opusenc", "--quiet", "--music", "--hard-cbr", "--bitrate", "24", "IN", "OUT"}, 3},
	{"m48.src.wav", "opus", ".opus", 64, []string{"opusenc", "--quiet", "--music", "--hard-cbr", "--bitrate", "64", "IN", "OUT"}, 3},
	{"s44.src.wav", "flac", ".flac", 0, []string{"flac", "-s", "-f", "-5", "-o", "OUT", "IN"}, 0},
}

// aac is a row beside ffmpeg's own encoder of AAC. libfdk-aac's is not in Debian.
func aac(file string, kbps int) encodeCase {
	return encodeCase{file, "aac", ".aac", kbps, []string{"ffmpeg", "-v", "error", "-y", "-i", "IN", "-c:a", "aac", "-b:a", fmt.Sprint(1000 * kbps), "OUT"}, 3}
}

// encodeTable prints the encoders' table and tells whether all rows are within
// their limits.
func encodeTable(dir string, speed bool) bool {
	tmp, err := os.MkdirTemp("", "quern-codecs")
	if err != nil {
		fmt.Println("encoders:", err)
		return false
	}
	defer os.RemoveAll(tmp)
	fmt.Println("| source | encoding | kbit/s | bytes | SNR, dB | segmental | peer | bytes | SNR, dB | segmental | × real time | peer's × |")
	fmt.Println("|---|---|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|")
	good := true
	for _, c := range encodeCases {
		row, ok := c.row(dir, tmp, speed)
		fmt.Println(row)
		good = good && ok
	}
	return good
}

func (c *encodeCase) row(dir, tmp string, speed bool) (string, bool) {
	path := filepath.Join(dir, c.file)
	s, err := decode(path)
	if err != nil {
		return fmt.Sprintf("| %s | %s | ! %v |", c.file, c.encoding, err), false
	}
	var buf bytes.Buffer
	if err := encode(&buf, s, c.encoding, 1000*c.kbps); err != nil {
		return fmt.Sprintf("| %s | %s | ! %v |", c.file, c.encoding, err), false
	}
	out := filepath.Join(tmp, "ours"+c.ext)
	if err := os.WriteFile(out, buf.Bytes(), 0o600); err != nil {
		return fmt.Sprintf("| %s | %s | ! %v |", c.file, c.encoding, err), false
	}
	size, v, seg, err := quality(out, s)
	if err != nil {
		return fmt.Sprintf("| %s | %s | ! ours: %v |", c.file, c.encoding, err), false
	}
	mark, good := "", true
	if c.encoding == "flac" && v < exact {
		mark, good = "! ", false
	}
	peer := fmt.Sprintf("no %s | | | ", c.peer[0])
	theirs := ""
	if _, err := exec.LookPath(c.peer[0]); err == nil {
		out := filepath.Join(tmp, "theirs"+c.ext)
		if err := exec.Command(c.peer[0], c.args(path, out)...).Run(); err != nil {
			peer = fmt.Sprintf("%s: %v | | | ", c.peer[0], err)
		} else if size, v, s2, err := quality(out, s); err != nil {
			peer = fmt.Sprintf("%s: %v | | | ", c.peer[0], err)
		} else {
			peer = fmt.Sprintf("%s | %d | %s | %.1f", c.peer[0], size, decibels(v), s2)
			if seg < s2-c.margin {
				mark, good = "! ", false
			}
		}
		if speed {
			theirs = c.peerSpeed(s, path, tmp)
		}
	}
	ours := ""
	if speed {
		ours = ourSpeed(s.seconds(), "-encode", path, "-to", c.encoding, "-bitrate", fmt.Sprint(1000*c.kbps))
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %s | %s%.1f | %s | %s | %s |", c.file, c.encoding, c.kbps, size, decibels(v), mark, seg, peer, ours, theirs), good
}

// args are the peer's arguments for these files.
func (c *encodeCase) args(in, out string) []string {
	return strings.Split(strings.NewReplacer("IN", in, "OUT", out).Replace(strings.Join(c.peer[1:], "\x00")), "\x00")
}

// peerSpeed times the peer on loops times the sound, and on it once.
func (c *encodeCase) peerSpeed(s *sound, path, tmp string) string {
	long := filepath.Join(tmp, "long.wav")
	all := *s
	all.x = nil
	for range 1 + loops {
		all.x = append(all.x, s.x...)
	}
	f, err := os.Create(long)
	if err != nil {
		return "–"
	}
	err = encode(f, &all, "wav", 0)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "–"
	}
	out := filepath.Join(tmp, "speed"+c.ext)
	run := func(in string) (time.Duration, error) {
		return cpuTime(c.peer[0], c.args(in, out)...)
	}
	once, err := run(path)
	if err != nil {
		return "–"
	}
	many, err := run(long)
	return times(s.seconds(), once, many, err)
}

// quality decodes path and compares it with s, at the shift and gain that fit
// best: encoders delay, and some scale.
func quality(path string, s *sound) (size int64, v, seg float64, err error) {
	defer must.Catch(&err)
	info := must.Get(os.Stat(path))
	d := must.Get(decode(path))
	x := d.x
	if d.rate != s.rate { // Opus
		x = must.Get(resampled(path, s))
	}
	x, want := shift(x, s.x, delay(x, s.x, s.channels)*s.channels)
	var xw, xx float64
	for i := range min(len(x), len(want)) {
		xw += float64(x[i]) * float64(want[i])
		xx += float64(x[i]) * float64(x[i])
	}
	// A gain that is one up to rounding stays one, for lossless formats.
	if g := xw / xx; g < 0.9999 || g > 1.0001 {
		x = append([]float32(nil), x...)
		for i := range x {
			x[i] *= float32(g)
		}
	}
	return info.Size(), snr(x, want), segmental(x, want, s.rate*s.channels), nil
}

// resampled decodes path to the rate of s with ffmpeg.
func resampled(path string, s *sound) ([]float32, error) {
	out, err := exec.Command("ffmpeg", "-v", "error", "-i", path, "-f", "f32le", "-ar", fmt.Sprint(s.rate), "-ac", fmt.Sprint(s.channels), "-").Output()
	if err != nil {
		return nil, fmt.Errorf("ffmpeg: %w", err)
	}
	return floats(out), nil
}

// delay finds by how many frames x lags behind want.
func delay(x, want []float32, channels int) int {
	best, at := 0.0, 0
	n := min(len(x), len(want)) / channels / 2
	for d := -2500; d <= 2500; d++ {
		a, b := shift(x, want, d*channels)
		var sum float64
		for i := 0; i < min(n*channels, len(a), len(b)); i += channels {
			sum += float64(a[i]) * float64(b[i])
		}
		if sum > best {
			best, at = sum, d
		}
	}
	return at
}
