//go:build !amd64 || noasm

package vec

// exps replaces every x by eˣ.
func exps(x []float32) {
	for i, v := range x {
		x[i] = ExpScalar(v)
	}
}

func maskMaxFast(_, _ []float32, _ float32, _ *float32) int { return 0 }

// Prefetch does nothing here.
func Prefetch([]byte) {}
