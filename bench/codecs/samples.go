package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"

	"quern/bench/internal/must"
	"quern/codecs"
)

// writeSamples writes to dir what chromium.mjs plays: two seconds of a chord in
// the encodings a browser gets, and samples.json that tells their length.
func writeSamples(dir string) (err error) {
	defer must.Catch(&err)
	const rate, seconds = 24000, 2
	x := make([]float32, rate*seconds)
	for i := range x {
		t := float64(i) / rate
		x[i] = float32(0.2 * (math.Sin(2*math.Pi*220*t) + math.Sin(2*math.Pi*330*t)))
	}
	must.Do(os.MkdirAll(dir, 0o755))
	for _, s := range []struct {
		name, encoding string
		streamed       bool
	}{
		{"speech.mp3", "mp3", true},
		{"speech.wav", "wav", false},
		{"streamed.wav", "wav", true},
		{"speech.aac", "aac", true},
		{"speech.m4a", "m4a", false},
		{"streamed.m4a", "m4a", true},
	} {
		must.Do(writeSample(filepath.Join(dir, s.name), s.encoding, x, rate, s.streamed))
	}
	b := must.Get(json.Marshal(map[string]int{"seconds": seconds}))
	return os.WriteFile(filepath.Join(dir, "samples.json"), b, 0o644)
}

func writeSample(path, encoding string, x []float32, rate int, streamed bool) (err error) {
	defer must.Catch(&err)
	e := must.Get(codecs.EncodingByName(encoding))
	f := must.Get(os.Create(path))
	defer f.Close()
	// The file can seek; only Write is passed on, so that the header stays as it is sent.
	enc := must.Get(e.Create(onlyWriter{f}, rate, 1, codecs.EncodeOptions{Streamed: streamed}))
	must.Do(enc.Write(x))
	must.Do(enc.Close())
	return f.Close()
}

type onlyWriter struct{ f *os.File }

func (w onlyWriter) Write(b []byte) (int, error) { return w.f.Write(b) }
