package aac

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// finite reports whether all of x are numbers.
func finite(x []float32) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

func FuzzReader(f *testing.F) {
	for _, name := range []string{"mono16.aac", "noise32.aac", "noisepair32.aac", "joint44.aac", "six24.aac"} {
		b := load(f, name)
		f.Add(b[:min(len(b), 2000)])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("error without a sentinel: %v", err)
			}
			return
		}
		buf := make([]float32, 4096)
		for {
			n, err := r.Read(buf)
			if !finite(buf[:n]) {
				t.Fatal("not a number")
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				if !errors.Is(err, ErrUnsupported) {
					t.Fatalf("error without a sentinel: %v", err)
				}
				return
			}
		}
	})
}

// The input is the length of a configuration, the configuration, and units that
// follow their lengths.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"mono16.aac", "noise32.aac", "noisepair32.aac", "joint44.aac", "six24.aac"} {
		b := load(f, name)
		h, _ := parseHeader(b)
		_, us := units(f, b)
		seed := []byte{2, objectLC<<3 | byte(h.rateIndex>>1), byte(h.rateIndex<<7 | h.channels<<3)}
		for _, u := range us[:3] {
			seed = append(append(seed, byte(len(u)>>8), byte(len(u))), u...)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || int(data[0]) >= len(data) {
			return
		}
		d, err := NewDecoder(data[1:][:data[0]])
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("error without a sentinel: %v", err)
			}
			return
		}
		data = data[1+data[0]:]
		var pcm []float32
		for len(data) >= 2 {
			n := min(int(data[0])<<8|int(data[1]), len(data)-2)
			pcm, err = d.Decode(pcm[:0], data[2:][:n])
			switch {
			case err == nil && len(pcm) != d.Frames()*d.Channels():
				t.Fatalf("%d values, want %d frames of %d channels", len(pcm), d.Frames(), d.Channels())
			case err != nil && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrUnsupported):
				t.Fatalf("error without a sentinel: %v", err)
			case !finite(pcm):
				t.Fatal("not a number")
			}
			data = data[2+n:]
		}
	})
}
