package g2p

import (
	"fmt"
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
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				g.Phonemize(text, US)
			}
			b.ReportMetric(float64(len(strings.Fields(text))*b.N)/b.Elapsed().Seconds(), "words/s")
		})
	}
}

// BenchmarkHostile reads texts that many patterns begin to match and few do.
func BenchmarkHostile(b *testing.B) {
	g, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, unit := range []string{"7", "$", `\(`, "a.b", "(", "a", `\`, "/a", "1/", "A.", "$x^{"} {
		for _, size := range []int{1 << 15, 1 << 17} {
			b.Run(fmt.Sprintf("%s/%dKB", strings.ReplaceAll(unit, "/", "slash"), size>>10), func(b *testing.B) {
				text := strings.Repeat(unit, size/len(unit))
				b.SetBytes(int64(size))
				for b.Loop() {
					g.Phonemize(text, US)
				}
			})
		}
	}
}
