package kokoro

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"quern/formats/weights"
	"quern/kernels/quant"
)

// widths say which side of the small network's tensors stands for which of the
// published one, by the beginning of the tensor's name; the first match counts.
var widths = []struct {
	prefix string
	side   map[int]int
}{
	{"bert_encoder.weight", map[int]int{24: 768}},
	{"bert.", map[int]int{24: 768, 8: 128, 40: 2048}},
	{"decoder.decode.3.norm2", map[int]int{48: 1024, 24: 512, 8: 128}},
	{"decoder.asr_res", map[int]int{6: 64, 24: 512}},
	{"decoder.decode", map[int]int{40: 1024, 48: 1090, 96: 2180, 80: 2048, 24: 512, 8: 128}},
	{"decoder.encode", map[int]int{40: 1024, 26: 514, 52: 1028, 80: 2048, 8: 128}},
	{"decoder.generator", map[int]int{24: 512, 12: 256, 6: 128, 8: 128}},
	{"decoder.generator.conv_post", map[int]int{6: 128}},
	{"", map[int]int{24: 512, 12: 256, 48: 1024, 32: 640, 8: 128}},
}

// published returns a network of the published sizes with random weights.
func published(t testing.TB) *weights.Set {
	rng := rand.New(rand.NewPCG(1, 2))
	var set weights.Set
	for x := range open(t, "kokoro-tiny.safetensors").All() {
		var side map[int]int
		for _, w := range widths {
			if strings.HasPrefix(x.Name, w.prefix) {
				side = w.side
				break
			}
		}
		y := &weights.Tensor{Name: x.Name, Type: quant.F32}
		n, fan := 1, 1
		for i, d := range x.Shape {
			if i == 2 {
				// the taps of a convolution
			} else if to := side[d]; to > 0 && !(i == 0 && x.Name == "bert_encoder.weight") {
				d = to
			} else if i == 0 && strings.HasPrefix(x.Name, "bert_encoder") {
				d = 512
			}
			y.Shape = append(y.Shape, d)
			n *= d
			if i > 0 {
				fan *= d
			}
		}
		w := make([]float32, n)
		for i := range w {
			w[i] = float32(rng.NormFloat64() / math.Sqrt(float64(fan)))
			if strings.HasSuffix(x.Name, "weight_g") || strings.Contains(x.Name, "alpha") || strings.HasSuffix(x.Name, "LayerNorm.weight") {
				w[i] = 1
			}
			if len(x.Shape) == 1 {
				w[i] *= 0.1
			}
		}
		y.Data = quant.Floats(w)
		if err := set.Add(y); err != nil {
			t.Fatal(err)
		}
	}
	return &set
}

// BenchmarkSpeak makes about six seconds of sound with 82 M random weights.
func BenchmarkSpeak(b *testing.B) {
	m, err := New(published(b), nil, newThreads(b, runtime.NumCPU()))
	if err != nil {
		b.Fatal(err)
	}
	style := make([]float32, m.Style())
	for i := range style {
		style[i] = 0.1
	}
	var seconds float64
	for b.Loop() {
		samples, _, err := m.Speak(context.Background(), []rune("həlˈO wˈɜ"), style, 1, 0)
		if err != nil {
			b.Fatal(err)
		}
		seconds += float64(len(samples)) / Rate
	}
	b.ReportMetric(b.Elapsed().Seconds()/seconds, "real-time-factor")
	b.ReportMetric(seconds/float64(b.N), "s-audio/op")
}
