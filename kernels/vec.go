package kernels

// A vector is the assembly of one CPU level. Functions take a multiple of
// lanes; what is left over is done in Go. Nil functions are done in Go.
type vector struct {
	lanes    int
	siluGate func(dst, gate, up *float32, n int)
	expSum   func(x *float32, n int, top float32) float32
}
