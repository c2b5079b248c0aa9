package vad

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/codecs"
	"quern/engine/asr/audio"
	"quern/formats"
	"quern/formats/ggml"
	"quern/formats/weights"
	"quern/kernels/quant"
)

type vadGolden struct {
	Official []float64 `json:"ggml_official_context"`
	Tensors  []float64 `json:"safetensors_official_context"`
	First    []float64 `json:"first_encoder_output_official"`
}

// recorded is eleven seconds of speech.
func recorded(t testing.TB) []float32 {
	t.Helper()
	f, err := os.Open(fixtures.Path(t, "whisper", "jfk.wav"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sound, err := codecs.Open(f, codecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mono, err := codecs.NewMono(sound, audio.Rate)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 12*audio.Rate)
	n, err := audio.NewReader(mono)(context.Background(), x)
	if err != io.EOF {
		t.Fatal(err)
	}
	return x[:n]
}

// probabilities of every window of x, the last one filled with silence.
func probabilities(l Listener, x []float32) []float64 {
	var list []float64
	for at := 0; at < len(x); at += Hop {
		var w [Hop]float32
		copy(w[:], x[at:])
		list = append(list, float64(l.Hear(w[:])))
	}
	return list
}

func TestSileroGolden(t *testing.T) {
	var g vadGolden
	text, err := os.ReadFile(fixtures.Path(t, "vad", "vad_golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	x := recorded(t)
	for _, tt := range []struct {
		path string
		open func(string) (*weights.Set, error)
		want []float64
	}{
		{"silero-v6.2.0-ggml.bin", ggml.Open, g.Official},
		{"silero_vad_16k.safetensors", formats.Open, g.Tensors},
	} {
		set, err := tt.open(fixtures.Path(t, "vad", tt.path))
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		d, err := NewSilero(set)
		if err != nil {
			t.Fatal(err)
		}
		got := probabilities(d.Listen(), x)
		if len(got) != len(tt.want) {
			t.Fatalf("%s: %d windows, want %d", tt.path, len(got), len(tt.want))
		}
		worst := 0.0
		for i, p := range got {
			worst = max(worst, math.Abs(p-tt.want[i]))
		}
		t.Logf("%s: largest difference %.1e", tt.path, worst)
		if !(worst < 1e-5) {
			t.Errorf("%s: probabilities differ by %g", tt.path, worst)
		}
	}
}

// stretches returns where the gate lets x through, in hundredths of a second.
func stretches(t *testing.T, x []float32, d Detector, o Options) [][2]int {
	t.Helper()
	o, err := o.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	src := audio.Samples(x)
	g := NewGate(audio.NewReader(&src), d, o)
	buf := make([]float32, 1000)
	for {
		_, _, err := g.Read(context.Background(), buf)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var list [][2]int
	for _, p := range g.pieces {
		list = append(list, [2]int{int(math.Round(float64(p.from) / 160)), int(math.Round(float64(p.from+p.n) / 160))})
	}
	return list
}

// With whisper.cpp's settings the gate finds the stretches of its own tool, but
// for the windows that its other use of the network decides otherwise.
func TestSileroStretches(t *testing.T) {
	set, err := ggml.Open(fixtures.Path(t, "vad", "silero-v6.2.0-ggml.bin"))
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	d, err := NewSilero(set)
	if err != nil {
		t.Fatal(err)
	}
	x := recorded(t)
	var got [][2]int
	for _, s := range stretches(t, x, d, Options{MinSilence: 0.1, Pad: 0.03}) {
		// whisper.cpp joins what is less than 200 ms apart.
		if n := len(got); n > 0 && s[0]-got[n-1][1] < 20 {
			got[n-1][1] = s[1]
			continue
		}
		got = append(got, s)
	}
	want := [][2]int{{32, 227}, {327, 441}, {538, 768}, {816, 1062}}
	t.Logf("%v, whisper.cpp %v", got, want)
	ok := len(got) == len(want)
	for i := 0; ok && i < len(got); i++ {
		ok = max(got[i][0]-want[i][0], want[i][0]-got[i][0], got[i][1]-want[i][1], want[i][1]-got[i][1]) <= 7
	}
	if !ok {
		t.Errorf("speech at %v, want about %v", got, want)
	}
	if got := stretches(t, x, EnergyDetector{}, Options{}); len(got) == 0 || got[0][0] > 32 || got[len(got)-1][1] < 1040 {
		t.Errorf("by energy speech is at %v; it lasts from 32 to 1062", got)
	} else {
		t.Logf("by energy: %v", got)
	}
}

func Sine(seconds, level float64) []float32 {
	x := make([]float32, int(seconds*audio.Rate))
	for i := range x {
		x[i] = float32(level * math.Sin(float64(i)*0.3))
	}
	return x
}

func Hiss(seconds, level float64) []float32 {
	x := make([]float32, int(seconds*audio.Rate))
	rng := rand.New(rand.NewPCG(1, 7))
	for i := range x {
		x[i] = float32(level * (2*rng.Float64() - 1))
	}
	return x
}

func TestEnergyDetector(t *testing.T) {
	quiet := make([]float32, 2*audio.Rate)
	for _, tt := range []struct {
		name string
		x    []float32
		want [][2]int // within a tenth of a second
	}{
		{"silence", quiet, nil},
		{"faint noise", Hiss(5, 0.001), nil},
		{"a tone in silence", slices.Concat(quiet, Sine(1, 0.1), quiet), [][2]int{{180, 320}}},
		{"a click", slices.Concat(quiet, Sine(0.05, 0.5), quiet), nil},
		{"a tone in noise", slices.Concat(Hiss(3, 0.001), Sine(1, 0.1), Hiss(3, 0.001)), [][2]int{{280, 420}}},
	} {
		got := stretches(t, tt.x, EnergyDetector{}, Options{})
		ok := len(got) == len(tt.want)
		for i := 0; ok && i < len(got); i++ {
			ok = max(got[i][0]-tt.want[i][0], tt.want[i][0]-got[i][0], got[i][1]-tt.want[i][1], tt.want[i][1]-got[i][1]) <= 12
		}
		if !ok {
			t.Errorf("%s: speech at %v, want about %v", tt.name, got, tt.want)
		}
	}
}

// Where everything is speech all of a sound passes, also one that is shorter than speech is.
func TestEverything(t *testing.T) {
	for _, n := range []int{0, 1, Hop - 1, Hop, 3000, audio.Rate} {
		x := make(audio.Samples, n)
		o, err := Options{}.Resolved()
		if err != nil {
			t.Fatal(err)
		}
		g := NewGate(audio.NewReader(&x), Everything{}, o)
		if got, err := g.Fill(t.Context(), make([]float32, n+1)); got != n || err != io.EOF {
			t.Errorf("of %d samples %d pass; %v", n, got, err)
		}
	}
}

func TestSourceSample(t *testing.T) {
	pieces := []Piece{{1000, 0, 100}, {5000, 100, 50}}
	for _, tt := range []struct {
		n    int
		end  bool
		want int
	}{
		{0, false, 1000}, {99, false, 1099}, {100, false, 5000}, {100, true, 1100}, {101, true, 5001}, {150, true, 5050}, {160, false, 5060},
	} {
		if got := SourceSample(pieces, tt.n, tt.end); got != tt.want {
			t.Errorf("sample %d (end %v) is %d, want %d", tt.n, tt.end, got, tt.want)
		}
	}
}

// A detector needs every tensor, in its size: a file that lacks one is refused.
func TestSileroTensors(t *testing.T) {
	sizes := map[string]int{
		"stft_conv.weight": 2 * sileroBins * sileroFFT, "conv1.weight": 128 * sileroBins * 3, "conv1.bias": 128,
		"conv2.weight": 64 * 128 * 3, "conv2.bias": 64, "conv3.weight": 64 * 64 * 3, "conv3.bias": 64, "conv4.weight": 128 * 64 * 3, "conv4.bias": 128,
		"lstm_cell.weight_ih": 4 * 128 * 128, "lstm_cell.weight_hh": 4 * 128 * 128, "lstm_cell.bias_ih": 4 * 128, "lstm_cell.bias_hh": 4 * 128,
		"final_conv.weight": 128, "final_conv.bias": 1,
	}
	with := func(change string, n int) error {
		set := new(weights.Set)
		for name, elems := range sizes {
			if name == change {
				elems = n
			}
			if elems == 0 {
				continue
			}
			if err := set.Add(&weights.Tensor{Name: name, Type: quant.F32, Shape: []int{elems}, Data: make([]byte, 4*elems)}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := NewSilero(set)
		return err
	}
	if err := with("", 0); err != nil {
		t.Errorf("all tensors: %v", err)
	}
	for name := range sizes {
		for _, n := range []int{0, 7} {
			if err := with(name, n); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s of %d numbers: %v, want ErrFormat naming it", name, n, err)
			}
		}
	}
}

// A detector reads a stream piece by piece.
func ExampleEnergyDetector() {
	l := EnergyDetector{}.Listen()
	quiet, loud := make([]float32, Hop), make([]float32, Hop)
	for i := range loud {
		quiet[i], loud[i] = float32(i%2)*1e-3, float32(i%2)*0.2
	}
	for range 10 {
		l.Hear(quiet)
	}
	fmt.Println(l.Hear(quiet) > 0.5, l.Hear(loud) > 0.5)
	// Output:
	// false true
}

func TestForget(t *testing.T) {
	g := &Gate{pieces: []Piece{{100, 0, 50}, {300, 50, 50}, {900, 100, 10}}}
	g.Forget(60)
	if len(g.pieces) != 2 || SourceSample(g.pieces, 60, false) != 310 || SourceSample(g.pieces, 105, false) != 905 {
		t.Errorf("left %v", g.pieces)
	}
	if g.Forget(1000); len(g.pieces) != 1 {
		t.Errorf("left %v; the last piece stays", g.pieces)
	}
}

// What a second of speech costs each detector, of 31 hops.
func BenchmarkHear(b *testing.B) {
	silero, err := OpenSilero(fixtures.Path(b, "vad", "silero-v6.2.0-ggml.bin"))
	if err != nil {
		b.Fatal(err)
	}
	x := recorded(b)
	for _, tt := range []struct {
		name string
		by   Detector
	}{{"silero", silero}, {"energy", EnergyDetector{}}} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			l, at := tt.by.Listen(), 0
			for b.Loop() {
				l.Hear(x[at : at+Hop])
				if at += Hop; at+Hop > len(x) {
					at = 0
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N)*audio.Rate/Hop, "µs/s")
		})
	}
}
