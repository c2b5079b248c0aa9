package aac

import "testing"

// BenchmarkDecode decodes speech beside noise, 44.1 kHz stereo at 128 kbit/s.
// The metric is how many seconds of audio a second decodes.
func BenchmarkDecode(b *testing.B) {
	d, units := units(b, load(b, "stereo44.aac"))
	var pcm []float32
	values := 0
	b.ReportAllocs()
	for b.Loop() {
		for _, u := range units {
			var err error
			if pcm, err = d.Decode(pcm[:0], u); err != nil {
				b.Fatal(err)
			}
			values += len(pcm)
		}
	}
	b.ReportMetric(float64(values)/2/44100/b.Elapsed().Seconds(), "x")
}

func BenchmarkNewDecoder(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewDecoder([]byte{0x12, 0x10}); err != nil {
			b.Fatal(err)
		}
	}
}
