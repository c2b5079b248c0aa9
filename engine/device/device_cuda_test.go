//go:build cuda && linux

package device

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"quern/kernels/cuda/driver"
)

// Without a GPU "auto" is the CPU, and one line of the log says why; "cuda" is
// refused.
func TestAutoWithoutGPU(t *testing.T) {
	if _, err := driver.Open(); err == nil {
		t.Skip("this machine has a CUDA driver")
	}
	var text bytes.Buffer
	o := Options{Threads: 1, Log: slog.New(slog.NewTextHandler(&text, nil))}
	b, name, err := Open("auto", o)
	if err != nil || name != "cpu" {
		t.Fatalf("auto opened %q: %v", name, err)
	}
	defer b.Close()
	if got := text.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "no usable driver") {
		t.Errorf("the log says %q", got)
	}
	if _, _, err := Open("cuda", o); err == nil || !strings.Contains(err.Error(), "no usable driver") {
		t.Errorf("cuda opened: %v", err)
	}
}
