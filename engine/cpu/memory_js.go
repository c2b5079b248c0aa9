package cpu

// Available is the part for models of the 4 GiB that WebAssembly addresses, in bytes: the
// rest is for the program, its buffers, and garbage.
func Available() int64 { return 3 << 30 }
