package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"quern/bench/fixtures"
	gpu "quern/kernels/cuda"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// The stages that run kernels do so on an interpreter too, of other sizes.
func TestProducts(t *testing.T) {
	fixtures.Interpreter(t)
	for _, capability := range []int{80, 90} {
		f := driver.NewFake(1, 1<<30)
		f.List[0].Capability = capability
		var out bytes.Buffer
		if err := checkProducts(f, []matrixSize{{67, 256, 3}}, &out); err != nil {
			t.Error(err)
		}
		if n := strings.Count(out.String(), `"verdict":"ok"`); n != len(gpu.Types) {
			t.Errorf("capability %d: %d of %d types are right: %s", capability, n, len(gpu.Types), out.String())
		}
		out.Reset()
		if err := speedProducts(f, []quant.Type{quant.Q8_0, quant.BF16}, []matrixSize{{64, 64, 2}}, &out); err != nil {
			t.Error(err)
		}
		if n, ways := strings.Count(out.String(), `"tflops"`), len(speedParts)*(capability-80)/10; n != 3+2*ways {
			t.Errorf("capability %d: %d times: %s", capability, n, out.String())
		}
		if live := f.Live(); len(live) > 0 {
			t.Errorf("not released: %v", live)
		}
	}
	if err := checkProducts(&driver.Fake{Unavailable: driver.ErrUnavailable}, nil, nil); !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("without a device: %v", err)
	}
}
