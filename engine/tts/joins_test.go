package tts

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"quern/engine/tts/ttstest"
	"quern/kernels/threads"
)

// onePool has its threads for one utterance at a time.
type onePool struct{ *threads.Pool }

func (p onePool) Do(ctx context.Context, f func(*threads.Pool, func())) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f(p.Pool, func() {})
	return nil
}

// tinyKokoro is the small network of tests with a voice of random numbers.
func tinyKokoro(t *testing.T) Synth {
	dir := t.TempDir()
	for _, name := range []string{"kokoro-tiny.safetensors", "config.json"} {
		data, err := os.ReadFile(filepath.Join("kokoro", "testdata", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var pack []byte
	for k := range 510 * 16 {
		pack = binary.LittleEndian.AppendUint32(pack, math.Float32bits(float32(math.Sin(float64(k)))*0.3))
	}
	if err := os.Mkdir(filepath.Join(dir, "voices"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "voices", "af_bella.bin"), pack, 0o600); err != nil {
		t.Fatal(err)
	}
	pool := threads.NewPool(1) // where others are busy too, two would wait for each other at every step
	t.Cleanup(pool.Close)
	s, err := OpenKokoro(dir, onePool{pool})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// loudEdges is a synthesiser whose sound begins and ends in full: a hum at -30 dBFS.
type loudEdges struct{ plain }

func (loudEdges) Rate() int { return 24000 }
func (s loudEdges) Speak(_ context.Context, symbols []rune, _ string, _ float64, _ uint64) ([]float32, []int, error) {
	samples, spans := []float32{}, []int{0}
	for range symbols {
		spans = append(spans, 1200)
	}
	for i := range 1200 * len(symbols) {
		samples = append(samples, float32(0.03*math.Cos(2*math.Pi*150*float64(i)/24000)))
	}
	return samples, append(spans, 0), nil
}

// TestJoins: no millisecond at a join or in the pause around it stands out in the high
// band, whatever a synthesiser begins and ends with.
func TestJoins(t *testing.T) {
	p, err := NewPronouncer(nil)
	if err != nil {
		t.Fatal(err)
	}
	const text = "Here is the first sentence. [pause:0.5s] Is that the second? Then, where the miller opens the gate and the water " +
		"begins to turn the heavy wheel, between the stones, there is flour. " + `And that is all, he said, and left; nobody spoke for a while, and the night came.`
	for _, s := range []Synth{Formant(), tinyKokoro(t), loudEdges{plain{100}}, eager{plain{100}}} {
		for _, speed := range map[bool][]float64{true: {1}, false: {1, 1.7}}[s.Name() == "kokoro"] {
			var samples []float32
			joins := []int{0}
			for c, err := range Speak(t.Context(), s, p, Request{Text: text, Voice: s.Voices()[0].ID, Speed: speed}) {
				if err != nil {
					t.Fatal(err)
				}
				samples = append(samples, c.Samples...)
				joins = append(joins, len(samples))
			}
			if len(joins) < 3 {
				t.Fatalf("%s: %d joins", s.Name(), len(joins))
			}
			peak := float32(0)
			for _, x := range samples {
				peak = max(peak, x, -x)
			}
			if peak < 0.01 {
				t.Errorf("%s says nothing: its peak is %g", s.Name(), peak)
			}
			if got := ttstest.Clicks(samples, s.Rate(), joins); got > 12 {
				t.Errorf("%s at speed %g: at a join the high band is %.1f dB above what stands around", s.Name(), speed, got)
			}
		}
	}
}
