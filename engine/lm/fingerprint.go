package lm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"runtime/debug"

	"quern/formats/weights"
)

// Fingerprint hashes all that replies depend on: the weights (their table
// and the start of each), their number types, and this build.
func Fingerprint(quantization string, sets ...*weights.Set) string {
	h := sha256.New()
	for _, set := range sets {
		for t := range set.All() {
			fmt.Fprintf(h, "%s %v %v %x\n", t.Name, t.Type, t.Shape, t.Data[:min(64, len(t.Data))])
		}
	}
	fmt.Fprintln(h, quantization)
	return Stamp(h)
}

// Stamp ends a fingerprint with what is known of this build.
func Stamp(h hash.Hash) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		fmt.Fprintln(h, info.Main.Version, info.GoVersion)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
				fmt.Fprintln(h, s.Value)
			}
		}
	}
	return "fp_" + hex.EncodeToString(h.Sum(nil)[:6])
}
