//go:build amd64 && !noasm

package kernels

import "quern/kernels/internal/isa"

// exps replaces every x by eˣ, in vectors as far as they go: an element's bits
// depend on its place and the CPU level. The assembly is called by name, not
// through vectors, so that x may lie on the stack.
func exps(x []float32) {
	done := 0
	switch level := isa.Current(); {
	case level >= isa.AVX512:
		if done = len(x) &^ 15; done > 0 {
			expSumAVX512(&x[0], done, 0)
		}
	case level >= isa.AVX2:
		if done = len(x) &^ 7; done > 0 {
			expSumAVX2(&x[0], done, 0)
		}
	}
	for i := done; i < len(x); i++ {
		x[i] = exp(x[i])
	}
}
