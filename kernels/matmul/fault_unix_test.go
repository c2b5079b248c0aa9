//go:build linux || darwin

package matmul

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"

	"quern/kernels/quant"
	"quern/kernels/threads"
)

// TestFault: weights of a mapped file that was cut short have Run panic, whichever kernel reads them.
func TestFault(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	const in, out = 1024, 256
	p := threads.NewPool(2)
	defer p.Close()
	for _, typ := range []quant.Type{quant.F32, quant.F16, quant.BF16, quant.Q8_0, quant.Q4_K, quant.Q6_K, quant.IQ4_NL} {
		size, ok := typ.Size(in)
		if !ok {
			t.Fatal(typ)
		}
		path := filepath.Join(t.TempDir(), "weights")
		if err := os.WriteFile(path, make([]byte, out*size), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		data, err := unix.Mmap(int(f.Fd()), 0, out*size, unix.PROT_READ, unix.MAP_SHARED)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		m := NewMatMul(typ, data, out, in, nil)
		const rows = 40
		x := make([]float32, rows*in)
		run := func(n int) (v any) {
			defer func() { v = recover() }()
			acts := make([]byte, n*quant.ActBytes(m.With(), in))
			for i := range n {
				quant.Quantize(acts[i*len(acts)/n:], m.With(), x[i*in:(i+1)*in], in)
			}
			m.Run(p, make([]float32, n*out), acts, len(acts)/n, n)
			return nil
		}
		for _, cut := range []bool{false, true} {
			if cut {
				if err := os.Truncate(path, int64(os.Getpagesize())); err != nil {
					t.Fatal(err)
				}
			}
			for _, n := range []int{1, 4, rows} {
				v := run(n)
				err, _ := v.(error)
				var fault interface {
					runtime.Error
					Addr() uintptr
				}
				if got := errors.As(err, &fault); got != cut || !cut && v != nil {
					t.Errorf("%v, %d rows, cut short %v: panicked with %v", typ, n, cut, v)
				}
			}
		}
		if err := unix.Munmap(data); err != nil {
			t.Fatal(err)
		}
	}
}
