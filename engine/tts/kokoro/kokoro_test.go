package kokoro

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/formats/safetensors"
	"quern/formats/weights"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// sharedPool is a Pool for tests.
type sharedPool struct{ pool *threads.Pool }

func (t sharedPool) Do(ctx context.Context, f func(*threads.Pool, func())) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f(t.pool, func() {})
	return nil
}

func newThreads(t testing.TB, n int) sharedPool {
	p := threads.NewPool(n)
	t.Cleanup(p.Close)
	return sharedPool{p}
}

func open(t testing.TB, name string) *weights.Set {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	set, err := safetensors.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func tiny(t testing.TB, workers int) *Model {
	t.Helper()
	config, err := os.ReadFile("testdata/config.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(open(t, "kokoro-tiny.safetensors"), config, newThreads(t, workers))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// golden returns tensor name of case a.
func golden(t testing.TB, set *weights.Set, name string) []float32 {
	t.Helper()
	x, ok := set.Tensor(name)
	if !ok {
		t.Fatalf("no tensor %q", name)
	}
	out := make([]float32, x.Elems())
	x.Type.Layout().Decode(out, x.Data)
	return out
}

// numbers returns an integer tensor, which readers keep raw.
func numbers(t testing.TB, set *weights.Set, name string) []int {
	t.Helper()
	for _, raw := range set.Raws() {
		if raw.Name == name {
			out := make([]int, len(raw.Data)/8)
			for i := range out {
				out[i] = int(int64(binary.LittleEndian.Uint64(raw.Data[8*i:])))
			}
			return out
		}
	}
	t.Fatalf("no tensor %q", name)
	return nil
}

// turned returns (channels, time) as rows of time.
func turned(x []float32, channels int) []float32 {
	n := len(x) / channels
	out := make([]float32, len(x))
	for c := range channels {
		for t := range n {
			out[t*channels+c] = x[c*n+t]
		}
	}
	return out
}

// far returns the largest difference relative to the largest golden value.
func far(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var d, top float64
	for i, w := range want {
		d = max(d, math.Abs(float64(got[i]-w)))
		top = max(top, math.Abs(float64(w)))
	}
	return d / top
}

// TestSeams follows the six steps of the fixtures' README.
func TestSeams(t *testing.T) {
	m := tiny(t, 2)
	defer runtime.KeepAlive(m) // its arena is freed with it
	set := open(t, "case_a.safetensors")
	ids, style := numbers(t, set, "input_ids"), golden(t, set, "ref_s")
	const seed = 42
	seams := map[string][]float32{}
	c := &call{ctx: context.Background(), pool: m.pool.(sharedPool).pool, yield: func() {}, arena: m.arena}
	c.trace = func(name string, x plane) { seams[name] = slices.Clone(x.data) }
	samples, durations, err := m.forward(c, ids, style, Manner{Speed: 1, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	if want := numbers(t, set, "pred_dur"); !slices.Equal(durations, want) {
		t.Errorf("durations %v; want %v", durations, want)
	}
	decoded := turned(golden(t, set, "decoder.decode.3"), m.generator.stages[0].up.in)
	f0 := golden(t, set, "predictor.F0_proj")
	for name, want := range map[string][]float32{
		"F0_proj":      f0,
		"N_proj":       golden(t, set, "predictor.N_proj"),
		"text_encoder": turned(golden(t, set, "text_encoder"), 24),
		"decoder":      decoded,
	} {
		if d := far(seams[name], want); d > 1e-4 {
			t.Errorf("%s is off by %.1e; want 1e-4", name, d)
		}
	}

	wave := golden(t, set, "stft.input")
	if d := far(m.generator.source.apply(c, f0, seed), wave); d > 1e-4 {
		t.Errorf("the source is off by %.1e; want 1e-4", d)
	}

	spec, phase := turned(golden(t, set, "stft.har_spec"), 11), turned(golden(t, set, "stft.har_phase"), 11)
	spectrum := m.generator.stft.forward(c, wave)
	worst := 0.0
	for f := 1; f < spectrum.rows-1; f++ { // the ends are mirrors: their phases are rounding noise
		for k := range 11 {
			row := spectrum.data[f*22 : (f+1)*22]
			a, b := spec[f*11+k], phase[f*11+k]
			worst = max(worst, math.Abs(float64(row[k]-a)))
			if a > 1e-3 {
				worst = max(worst, math.Hypot(math.Cos(float64(row[11+k]))-math.Cos(float64(b)), math.Sin(float64(row[11+k]))-math.Sin(float64(b))))
			}
		}
	}
	if worst > 1e-3 {
		t.Errorf("the spectrum is off by %.1e; want 1e-3", worst)
	}

	both := c.arena.plane(spectrum.rows, 22)
	for f := range both.rows {
		copy(both.data[f*22:], spec[f*11:(f+1)*11])
		copy(both.data[f*22+11:], phase[f*11:(f+1)*11])
	}
	x := plane{rows: len(decoded) / 24, cols: 24, data: slices.Clone(decoded)}
	audio, err := m.generator.apply(c, x, both, style[:m.style])
	if err != nil {
		t.Fatal(err)
	}
	want := golden(t, set, "audio")
	if d := far(audio, want); d > 1e-4 {
		t.Errorf("the generator is off by %.1e; want 1e-4", d)
	}

	var xy, xx, yy float64
	for i, y := range want {
		xy += float64(samples[i]) * float64(y)
		xx += float64(samples[i]) * float64(samples[i])
		yy += float64(y) * float64(y)
	}
	if len(samples) != len(want) || xy/math.Sqrt(xx*yy) < 0.99 {
		t.Errorf("end to end: %d samples, correlation %.4f; want %d, 0.99", len(samples), xy/math.Sqrt(xx*yy), len(want))
	}
}

func TestSpeak(t *testing.T) {
	m := tiny(t, 2)
	set := open(t, "case_a.safetensors")
	style := golden(t, set, "ref_s")
	phonemes := []rune("hˈO!")
	samples, spans, err := m.Speak(context.Background(), phonemes, style, Manner{Speed: 1, Seed: 42})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{3 * 600, 4 * 600, 4 * 600, 3 * 600, 3 * 600, 2 * 600}; !slices.Equal(spans, want) {
		t.Errorf("spans %v; want %v", spans, want)
	}
	for workers := 1; workers <= 3; workers++ {
		again, _, err := tiny(t, workers).Speak(context.Background(), phonemes, style, Manner{Speed: 1, Seed: 42})
		if err != nil || !slices.Equal(samples, again) {
			t.Errorf("with %d workers the samples differ (%v)", workers, err)
		}
	}
	// A symbol without a number takes no time.
	_, spans, err = m.Speak(context.Background(), []rune("hˈ⁂O!"), style, Manner{Speed: 1, Seed: 42})
	if err != nil || len(spans) != 7 || spans[3] != 0 {
		t.Errorf("spans with an unknown symbol: %v, %v", spans, err)
	}
}

// TestPitch: the curve of the pitch is raised for the decoder and the source alike, and
// nothing lasts longer or shorter.
func TestPitch(t *testing.T) {
	m := tiny(t, 2)
	set := open(t, "case_a.safetensors")
	ids, style := numbers(t, set, "input_ids"), golden(t, set, "ref_s")
	say := func(pitch float64) (f0, samples []float32, durations []int) {
		c := &call{ctx: context.Background(), pool: m.pool.(sharedPool).pool, yield: func() {}, arena: m.arena}
		c.trace = func(name string, x plane) {
			if name == "F0_proj" {
				f0 = slices.Clone(x.data)
			}
		}
		samples, durations, err := m.forward(c, ids, style, Manner{Speed: 1, Pitch: pitch})
		if err != nil {
			t.Fatal(err)
		}
		m.arena.trim()
		return f0, samples, durations
	}
	usual, samples, durations := say(0)
	for pitch, by := range map[float64]float64{12: 2, -12: 0.5, 7: 1.4983} {
		f0, moved, lasting := say(pitch)
		if !slices.Equal(lasting, durations) || len(moved) != len(samples) {
			t.Errorf("%g semitones: durations %v; want %v", pitch, lasting, durations)
		}
		if slices.Equal(moved, samples) {
			t.Errorf("%g semitones are not heard", pitch)
		}
		for i := range f0 {
			if want := float64(usual[i]) * by; math.Abs(float64(f0[i])-want) > 1e-3*math.Abs(want) {
				t.Fatalf("%g semitones: the pitch of frame %d is %g; want %g", pitch, i, f0[i], want)
			}
		}
	}
}

func TestSpeakErrors(t *testing.T) {
	m := tiny(t, 1)
	style := make([]float32, m.Style())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tt := range []struct {
		name     string
		ctx      context.Context
		phonemes string
		style    []float32
		speed    float64
		pitch    float64
	}{
		{"cancelled", ctx, "hˈO", style, 1, 0},
		{"too long", context.Background(), string(slices.Repeat([]rune{'a'}, MaxSymbols+1)), style, 1, 0},
		{"short style", context.Background(), "hˈO", style[1:], 1, 0},
		{"no speed", context.Background(), "hˈO", style, 0, 0},
		{"NaN", context.Background(), "hˈO", style, math.NaN(), 0},
		{"an octave and more", context.Background(), "hˈO", style, 1, -12.5},
		{"no pitch", context.Background(), "hˈO", style, 1, math.NaN()},
	} {
		if _, _, err := m.Speak(tt.ctx, []rune(tt.phonemes), tt.style, Manner{Speed: tt.speed, Pitch: tt.pitch}); err == nil {
			t.Errorf("%s: no error", tt.name)
		}
	}
}

func TestNewErrors(t *testing.T) {
	config, err := os.ReadFile("testdata/config.json")
	if err != nil {
		t.Fatal(err)
	}
	full := open(t, "kokoro-tiny.safetensors")
	// Every tensor is needed and must have its shape.
	i := 0
	for missing := range full.All() {
		if i++; i%13 != 0 {
			continue // a sample is enough
		}
		var without, bent weights.Set
		for x := range full.All() {
			if x != missing {
				_ = without.Add(x)
				_ = bent.Add(x)
				continue
			}
			n := x.Elems()
			_ = bent.Add(&weights.Tensor{Name: x.Name, Type: x.Type, Shape: []int{n, 1, 1, 1}, Data: x.Data})
		}
		_, err := New(&without, config, nil)
		optional := missing.Name == "bert.pooler.bias" || missing.Name == "bert.pooler.weight"
		if err == nil && !optional && filepath.Ext(missing.Name) != ".bias" {
			t.Errorf("without %s: no error", missing.Name)
		}
		if err != nil && !errors.Is(err, weights.ErrFormat) {
			t.Errorf("without %s: %v does not wrap ErrFormat", missing.Name, err)
		}
		if _, err := New(&bent, config, nil); err != nil && !errors.Is(err, weights.ErrFormat) {
			t.Errorf("with a bent %s: %v does not wrap ErrFormat", missing.Name, err)
		}
	}
	for _, config := range []string{"{", `{"n_token":-1}`, `{"plbert":{"num_attention_heads":7,"num_hidden_layers":4}}`, `{"istftnet":{"gen_istft_n_fft":3}}`} {
		if _, err := New(full, []byte(config), nil); !errors.Is(err, weights.ErrFormat) {
			t.Errorf("config %s: %v; want ErrFormat", config, err)
		}
	}
}

// A damaged file is refused when it is loaded, or its samples when they are made:
// no sample is NaN or infinite.
func TestDamagedWeights(t *testing.T) {
	config, err := os.ReadFile("testdata/config.json")
	if err != nil {
		t.Fatal(err)
	}
	full := open(t, "kokoro-tiny.safetensors")
	style := golden(t, open(t, "case_a.safetensors"), "ref_s")
	damaged := func(hurt *weights.Tensor, v float32) *weights.Set {
		set := new(weights.Set)
		for x := range full.All() {
			if x == hurt {
				data := bytes.Clone(x.Data)
				switch x.Type {
				case quant.F32:
					binary.LittleEndian.PutUint32(data[len(data)/8*4:], math.Float32bits(v))
				case quant.F16:
					binary.LittleEndian.PutUint16(data[len(data)/4*2:], quant.F32ToF16(v))
				default:
					t.Fatalf("%s is %v", x.Name, x.Type)
				}
				x = &weights.Tensor{Name: x.Name, Type: x.Type, Shape: x.Shape, Data: data}
			}
			_ = set.Add(x)
		}
		return set
	}
	i, caught := 0, 0
	for x := range full.All() {
		if i++; !fixtures.Whole && i%7 != 0 && i%26 != 0 {
			continue
		}
		v := float32(math.NaN())
		if i%2 == 0 {
			v = float32(math.Inf(-1))
		}
		_, err := New(damaged(x, v), config, nil)
		unused := strings.HasPrefix(x.Name, "bert.pooler.")
		if !unused && (!errors.Is(err, weights.ErrFormat) || !strings.Contains(err.Error(), x.Name)) {
			t.Errorf("%s with %v: %v, want it refused by name", x.Name, v, err)
		}
		if i%13 != 0 {
			continue // a sample is enough
		}
		m, err := New(damaged(x, 1e38), config, newThreads(t, 1))
		if err != nil {
			continue // one that cannot be normalised
		}
		samples, _, err := m.Speak(context.Background(), []rune("hˈO!"), style, Manner{Speed: 1, Seed: 42})
		if err == nil && notFinite(samples) >= 0 || err != nil && !errors.Is(err, weights.ErrFormat) {
			t.Errorf("%s with 1e38: sample %d is not finite, %v", x.Name, notFinite(samples), err)
		}
		if err != nil {
			caught++
		}
	}
	if caught == 0 {
		t.Error("no weight of 1e38 made samples that are not finite: nothing was tested")
	}
	if _, err := NewVoice([]float32{0, float32(math.NaN())}, 2); !errors.Is(err, weights.ErrFormat) {
		t.Errorf("a voice of NaN: %v", err)
	}
}

func TestVoice(t *testing.T) {
	data := make([]float32, 510*4)
	for i := range data {
		data[i] = float32(i / 4)
	}
	v, err := NewVoice(data, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ n, row int }{{0, 0}, {1, 0}, {2, 1}, {510, 509}, {9999, 509}} {
		if got := v.Style(tt.n)[0]; got != float32(tt.row) {
			t.Errorf("row for %d symbols: %g; want %d", tt.n, got, tt.row)
		}
	}
	old, err := NewVoice(make([]float32, 511*4), 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Mix([]*Voice{v, old}, []float64{0.5, 0.5}); err == nil {
		t.Error("packs of different shapes mix")
	}
	half, err := Mix([]*Voice{v, v}, []float64{0.75, -0.25})
	if err != nil || half.Style(3)[0] != 1 {
		t.Errorf("a mixture of 0.75 and -0.25: %v, %v; want row 2 by a half", half.Style(3), err)
	}
	if _, err := NewVoice(data[1:], 4); !errors.Is(err, weights.ErrFormat) {
		t.Errorf("a ragged pack: %v", err)
	}
}
