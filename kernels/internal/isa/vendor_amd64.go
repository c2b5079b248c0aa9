//go:build amd64 && !noasm

package isa

// amd is what AMD's CPUs answer to the first leaf of CPUID.
const amd = "AuthenticAMD"

// FetchesAhead reports whether this CPU fetches one stream of weights ahead by itself as well
// as it can be fetched. On AMD's (Zen 4) instructions that fetch 2 KB ahead cost a sixth of
// the speed of Q8_0 from memory; Intel's (Sapphire Rapids) read Q4_K a quarter faster with them.
func FetchesAhead() bool {
	var v [12]byte
	vendor(&v)
	return string(v[:]) == amd
}

func vendor(v *[12]byte)
