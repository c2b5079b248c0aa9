package ttstest_test

import (
	"fmt"
	"math"

	"quern/engine/tts/ttstest"
)

// A tone that is cut off clicks, and one that fades does not.
func ExampleClicks() {
	cut, faded := make([]float32, 24000), make([]float32, 24000)
	for i := range 12000 {
		x := 0.01 * math.Cos(2*math.Pi*200*float64(i)/24000)
		cut[i] = float32(x)
		faded[i] = float32(x * math.Sin(math.Pi/2*min(1, float64(12000-i)/200)))
	}
	fmt.Println(ttstest.Clicks(cut, 24000, []int{12000}) > 20, ttstest.Clicks(faded, 24000, []int{12000}) < 6)
	// Output:
	// true true
}
