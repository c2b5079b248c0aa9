// Package audiotest helps the tests of the codecs: fixtures, reference decoders
// where the machine has them, and signal-to-noise ratios.
package audiotest

import (
	"encoding/binary"
	"io"
	"math"
	"os"
	"os/exec"
	"testing"

	"quern/bench/fixtures"
)

// Decoder is codecs.Decoder, which this package cannot import.
type Decoder interface {
	Rate() int
	Channels() int
	Read(dst []float32) (int, error)
}

// Fixture returns the path of a file of shared/fixtures/audio, or skips the test.
func Fixture(t testing.TB, name string) string {
	t.Helper()
	return fixtures.Path(t, "audio", name)
}

// ReadFile returns the bytes of path.
func ReadFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ReadAll reads d to its end in blocks of an odd size.
func ReadAll(d Decoder) ([]float32, error) {
	var out []float32
	buf := make([]float32, 1001*d.Channels())
	for {
		n, err := d.Read(buf)
		out = append(out, buf[:n]...)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}

// Reference decodes path to interleaved samples with a program that writes raw
// 32-bit floats to its standard output, or skips the test when there is no such
// program.
func Reference(t testing.TB, program string, args ...string) []float32 {
	t.Helper()
	b := Run(t, program, args...)
	x := make([]float32, len(b)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}

// FFmpeg decodes path with ffmpeg, or skips the test when there is none.
func FFmpeg(t testing.TB, path string) []float32 {
	t.Helper()
	return Reference(t, "ffmpeg", "-v", "error", "-i", path, "-map", "0:a:0", "-f", "f32le", "-")
}

// Program returns the path of a program, "" where there is none or where fixtures.Whole is not
// set: then goldens have to do.
func Program(name string) string {
	if !fixtures.Whole {
		return ""
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// Need returns the path of a program, or skips the test where there is none.
func Need(t testing.TB, name string) string {
	t.Helper()
	path := Program(name)
	if path == "" {
		t.Skipf("no %s, or QUERN_TEST_WHOLE is not set", name)
	}
	return path
}

// Run returns the standard output of a program that the test needs.
func Run(t testing.TB, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(Need(t, program), args...)
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v", program, args, err)
	}
	return b
}

// SNR returns the ratio of want's power to that of got's error, in dB, over
// what both have; 200 when they are equal.
func SNR(got, want []float32) float64 {
	var signal, noise float64
	for i := range min(len(got), len(want)) {
		w, d := float64(want[i]), float64(got[i])-float64(want[i])
		signal += w * w
		noise += d * d
	}
	if noise == 0 {
		return 200
	}
	return 10 * math.Log10(signal/noise)
}

// WriteFile writes b to path.
func WriteFile(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
