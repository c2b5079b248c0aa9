package cpu

// assumedMemory is the memory of a machine that does not say.
const assumedMemory = 8 << 30
