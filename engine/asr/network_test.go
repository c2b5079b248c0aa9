package asr

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"quern/engine/asr/audio"
	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/token"
)

// jfk is the log-mel spectrogram of eleven seconds of speech as the reference
// pads it for one window: with frames of silence. Where the speech is absent it
// is the reference's own.
func jfk(t testing.TB, bands int) []float32 {
	if bands == 80 && !exists(filepath.Join("..", "..", "..", "shared", "fixtures", "whisper", "jfk.wav")) {
		want := golden(t, shared(t, "whisper/features.safetensors"))
		first, tail := transpose(want("mel80.first1110"), 80, 1110), want("mel80.tail_constant")
		return append(first, slices.Repeat(tail, 80*(3000-1110))...)
	}
	f := audio.NewSpectrogram(audio.NewMelBank(bands), audio.NewReader(&silent{audio.Samples(wave(t, shared(t, "whisper/jfk.wav"))), 30 * audio.Rate}))
	n, err := f.Need(context.Background(), 3000)
	if err != nil || n != 3000 {
		t.Fatal(n, err)
	}
	x := make([]float32, 3000*bands)
	f.Window(x, 0, 3000)
	return x
}

// silent is a source with silence behind it.
type silent struct {
	audio.Samples
	zeros int
}

func (s *silent) Read(dst []float32) (int, error) {
	if len(s.Samples) > 0 || s.zeros == 0 {
		return s.Samples.Read(dst)
	}
	n := min(len(dst), s.zeros)
	clear(dst[:n])
	s.zeros -= n
	return n, nil
}

func TestFeatures(t *testing.T) {
	shared(t, "whisper/jfk.wav") // which testdata has not
	want := golden(t, shared(t, "whisper/features.safetensors"))
	for _, bands := range []int{80, 128} {
		name := map[int]string{80: "mel80", 128: "mel128"}[bands]
		first, tail := want(name+".first1110"), want(name + ".tail_constant")[0] // (bands, frames)
		x := jfk(t, bands)
		worst := 0.0
		for f := range 3000 {
			for b := range bands {
				w := tail
				if f < 1110 {
					w = first[b*1110+f]
				}
				worst = max(worst, math.Abs(float64(x[f*bands+b]-w)))
			}
		}
		t.Logf("%d bands: largest difference %.1e", bands, worst)
		if worst > 1e-4 {
			t.Errorf("%d bands: features differ by %g", bands, worst)
		}
	}
	filters, bins := audio.MelFilters(80)
	golden := want("mel80.filters")
	for b := range 80 {
		if d := distance(filters[b*bins:(b+1)*bins], golden[b*bins:(b+1)*bins]); d > 1e-5 {
			t.Errorf("filter %d differs by %g", b, d)
		}
	}
}

func TestEncoder(t *testing.T) {
	m := open(t, shared(t, "whisper/hf_tiny"), exact)
	want := golden(t, shared(t, "whisper/hf_tiny_golden.safetensors"))
	features := jfk(t, 80)

	// Each stage is the result of a Program of its own.
	for i, name := range []string{"conv1_gelu", "conv2_gelu", "block0", "block1"} {
		b := graph.NewBuilder(1500, 1)
		var parts []part
		recordEncoder(b, &m.config, m.params, func(p part) { parts = append(parts, p) })
		p, err := b.Compile(parts[i].value)
		if err != nil {
			t.Fatal(err)
		}
		be := cpu.Open(2)
		defer be.Close()
		e, err := be.Compile(t.Context(), p, graph.Watch{})
		if err != nil {
			t.Fatal(err)
		}
		in := &graph.Batch{Positions: make([]int32, 1500), Seq: make([]int32, 1500), Features: features}
		for i := range in.Positions {
			in.Positions[i] = int32(i)
		}
		out, err := e.Run(context.Background(), in, nil)
		if err != nil {
			t.Fatal(err)
		}
		g := want("enc." + name + ".first64")
		if i < 2 { // the golden convolutions are (channels, frames)
			g = transpose(g, 64, 64)
		}
		d := distance(out[0][:len(g)], g)
		t.Logf("%s: %.1e", name, d)
		if !(d < 1e-4) {
			t.Errorf("%s differs by %g", name, d)
		}
	}
	w, err := m.encodeWith(context.Background(), features, 1, func(x []float32) {
		first, every := want("enc.out.first600"), want("enc.out.stride50")
		if d := distance(x[:len(first)], first); !(d < 1e-4) {
			t.Errorf("first 600 states differ by %g", d)
		}
		var picked []float32
		for i := 0; i < 1500; i += 50 {
			picked = append(picked, x[i*64:(i+1)*64]...)
		}
		d := distance(picked, every)
		t.Logf("states: %.1e", d)
		if !(d < 1e-4) {
			t.Errorf("every 50th state differs by %g", d)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()

	var prompt []token.ID
	var g struct {
		Prompt []token.ID `json:"prompt_ids"`
	}
	goldenJSON(t, shared(t, "whisper/hf_tiny_golden.json"), &g)
	prompt = g.Prompt
	var logits []float32
	if err := w.run(context.Background(), w.probe(prompt, func(rows [][]float32) {
		for _, r := range rows {
			logits = append(logits, r...)
		}
	})); err != nil {
		t.Fatal(err)
	}
	d := distance(logits[:len(want("dec.logits"))], want("dec.logits"))
	t.Logf("logits: %.1e", d)
	if !(d < 1e-4) {
		t.Errorf("logits differ by %g", d)
	}
}

func transpose(x []float32, rows, cols int) []float32 {
	y := make([]float32, len(x))
	for i := range rows {
		for j := range cols {
			y[j*rows+i] = x[i*cols+j]
		}
	}
	return y
}
