package cpu

// Available is what models may use of the 4 GiB that WebAssembly addresses, in bytes: the
// rest is for the program, for what it works on, and for garbage.
func Available() int64 { return 3 << 30 }
