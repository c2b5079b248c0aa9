package audio_test

import (
	"context"
	"fmt"
	"math"

	"quern/engine/asr/audio"
)

// A second of a tone of 1 kHz has a hundred frames, each loudest in the bands about it.
func ExampleSpectrogram() {
	tone := make(audio.Samples, audio.Rate)
	for i := range tone {
		tone[i] = float32(math.Sin(2 * math.Pi * 1000 * float64(i) / audio.Rate))
	}
	const bands = 80
	s := audio.NewSpectrogram(audio.NewMelBank(bands), audio.NewReader(&tone))
	n, err := s.Need(context.Background(), 3000)
	if err != nil {
		panic(err)
	}
	x := make([]float32, n*bands)
	s.Window(x, 0, n)
	frame, loudest := x[n/2*bands:(n/2+1)*bands], 0
	for b, v := range frame {
		if v > frame[loudest] {
			loudest = b
		}
	}
	fmt.Println(n, "frames, loudest in band", loudest)
	// Output:
	// 100 frames, loudest in band 26
}
