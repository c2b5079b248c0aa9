package cpu

// assumedMemory is the memory of a machine of which it is unknown.
const assumedMemory = 8 << 30
