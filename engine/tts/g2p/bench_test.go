package g2p

import (
	"strings"
	"testing"
)

// BenchmarkRunningText reads running text, without numbers and with two in twenty words.
func BenchmarkRunningText(b *testing.B) {
	g, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct{ name, sentence string }{
		{"words", "Every morning the miller opens the gate, and the water begins to turn the heavy wheel. "},
		{"numbers", "The history of the windmill is longer than most people think, and by 1850 there were 10,000 of them in Holland. "},
	} {
		b.Run(bb.name, func(b *testing.B) {
			text := strings.Repeat(bb.sentence, 100)
			g.Phonemize(text, US) // compiles what it needs
			b.ReportAllocs()
			for b.Loop() {
				g.Phonemize(text, US)
			}
			b.ReportMetric(float64(len(strings.Fields(text))*b.N)/b.Elapsed().Seconds(), "words/s")
		})
	}
}
