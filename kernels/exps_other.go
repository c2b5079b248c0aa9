//go:build !amd64 || noasm

package kernels

// exps replaces every x by eˣ.
func exps(x []float32) {
	for i, v := range x {
		x[i] = exp(v)
	}
}
