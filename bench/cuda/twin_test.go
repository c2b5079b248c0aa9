package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"quern/bench/fixtures"
	"quern/kernels/cuda/driver"
	"quern/kernels/cuda/ptxvm"
	"quern/kernels/quant"
)

// A broken driver's device writes a zero where a kernel has written its first number.
type broken struct {
	*driver.Fake
	kernel string
}

type brokenContext struct {
	driver.Context
	kernel string
}

type brokenStream struct {
	driver.Stream
	kernel string
}

func (b broken) Open(device int) (driver.Context, error) {
	c, err := b.Fake.Open(device)
	return brokenContext{c, b.kernel}, err
}

func (c brokenContext) Stream() (driver.Stream, error) {
	s, err := c.Context.Stream()
	return brokenStream{s, c.kernel}, err
}

func (s brokenStream) Launch(k driver.Kernel, l driver.Launch, args []uint64) error {
	if err := s.Stream.Launch(k, l, args); err != nil || k.(*ptxvm.Kernel).Name != s.kernel {
		return err
	}
	return s.Stream.Zero(driver.Ptr(args[0]), 4)
}

// The first kernel that is wrong on a device is named, and nothing is found wrong of
// two interpreters.
func TestTwins(t *testing.T) {
	fixtures.Interpreter(t)
	if testing.Short() {
		t.Skip("interprets everything twice")
	}
	files := []string{"../../engine/model/testdata/granite.gguf"}
	for _, kernel := range []string{"", "attend_combine"} {
		f := driver.NewFake(1, 1<<30)
		f.List[0].Capability = 80
		var out bytes.Buffer
		err := twinFiles(t.Context(), broken{f, kernel}, files, twinBatches[:5], time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), &out)
		switch {
		case kernel == "" && (err != nil || !strings.Contains(out.String(), `"compared"`)):
			t.Errorf("of two interpreters: %v, %s", err, out.String())
		case kernel != "" && (!errors.Is(err, errDiffers) || !strings.Contains(err.Error(), kernel+", grid") || !strings.Contains(err.Error(), ": dst: value 0 is 0, want")):
			t.Errorf("%s is wrong: %v", kernel, err)
		}
		if live := f.Live(); len(live) > 0 {
			t.Errorf("not released: %v", live)
		}
	}
}

func TestDiffer(t *testing.T) {
	floats := quant.Floats
	for _, tt := range []struct {
		name, of  string
		got, want []byte
		why       string
	}{
		{"rounding", "float32 (rows, n)", floats([]float32{1, 2.00001}), floats([]float32{1, 2}), ""},
		{"one wrong of many", "float32 (rows, n)", floats([]float32{1, -2, 3}), floats([]float32{1, 2, 3}), "value 1 is -2, want 2; 1 of 3 values"},
		{"not a number", "float32 (rows, n)", []byte{0, 0, 0xc0, 0x7f}, floats([]float32{1}), "NaN"},
		{"integers", "int32 (rows)", []byte{1, 0, 0, 0}, []byte{2, 0, 0, 0}, "number 0 is 1, want 2"},
		{"bfloat16", "32-bit words (rows)", []byte{0x80, 0x3f, 0, 0x40}, []byte{0x80, 0x3f, 0x80, 0x3f}, "value 1 is 2, want 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if why := differ(tt.of, tt.got, tt.want); (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
				t.Errorf("differ gives %q, want %q", why, tt.why)
			}
		})
	}
}
