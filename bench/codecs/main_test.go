package main

import (
	"math"
	"testing"
	"time"
)

// tone is n samples of a sine that does not repeat soon.
func tone(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(float64(i*i) * 1e-5))
	}
	return x
}

func TestCompare(t *testing.T) {
	x := tone(20000)
	scaled := tone(20000)
	for i := range scaled {
		scaled[i] *= 1.01
	}
	for _, tt := range []struct {
		name string
		got  []float32
		snr  float64
		lag  int
	}{
		{"the same", x, exact, 0},
		{"one per cent louder", scaled, 40, 0},
		{"late", append(make([]float32, 100), x...), exact, 100},
		{"early", x[7:], exact, -7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, lag := compare(tt.got, x, 1, 90)
			if math.Abs(v-tt.snr) > 0.01 || lag != tt.lag {
				t.Errorf("compare = %.2f dB at %d, want %.2f at %d", v, lag, tt.snr, tt.lag)
			}
		})
	}
}

func TestSegmental(t *testing.T) {
	x := tone(16000)
	clear(x[15000:]) // silence does not count
	got := append([]float32(nil), x...)
	for i := range got[:8000] { // half of it at 20 dB, the rest exact: 35
		got[i] *= 1.1
	}
	if v := segmental(got, x, 16000); math.Abs(v-27) > 0.5 {
		t.Errorf("segmental = %.2f dB, want about 27", v)
	}
}

func TestTimes(t *testing.T) {
	for _, tt := range []struct {
		once, many time.Duration
		want       string
	}{
		{100 * time.Millisecond, 500 * time.Millisecond, "300"},
		{100 * time.Millisecond, 101 * time.Millisecond, "–"},
		{100 * time.Millisecond, 90 * time.Millisecond, "–"},
	} {
		if got := times(3, tt.once, tt.many, nil); got != tt.want {
			t.Errorf("times(%v, %v) = %q, want %q", tt.once, tt.many, got, tt.want)
		}
	}
}
