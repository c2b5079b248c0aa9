package kokoro

import (
	"context"
	"runtime"
	"testing"

	"quern/engine/tts/kokoro/kokorotest"
)

// BenchmarkSpeak makes about six seconds of sound with 82 M random weights.
func BenchmarkSpeak(b *testing.B) {
	set, err := kokorotest.Published(open(b, "kokoro-tiny.safetensors"), false)
	if err != nil {
		b.Fatal(err)
	}
	m, err := New(set, nil, newThreads(b, runtime.NumCPU()))
	if err != nil {
		b.Fatal(err)
	}
	style := make([]float32, m.Style())
	for i := range style {
		style[i] = 0.1
	}
	var seconds float64
	for b.Loop() {
		samples, _, err := m.Speak(context.Background(), []rune("həlˈO wˈɜ"), style, Manner{Speed: 1})
		if err != nil {
			b.Fatal(err)
		}
		seconds += float64(len(samples)) / Rate
	}
	b.ReportMetric(b.Elapsed().Seconds()/seconds, "real-time-factor")
	b.ReportMetric(seconds/float64(b.N), "s-audio/op")
}
