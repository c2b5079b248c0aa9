//go:build amd64 && !noasm

package isa

import "testing"

// Signatures are those of the manufacturers' documents.
func TestFetches(t *testing.T) {
	for _, tt := range []struct {
		name, vendor string
		signature    uint32
		family       uint32
		want         bool
	}{
		{"Zen 3", "AuthenticAMD", 0x00a00f11, 0x19, true},
		{"Zen 4", "AuthenticAMD", 0x00a10f11, 0x19, true},
		{"Zen 5", "AuthenticAMD", 0x00b00f21, 0x1a, false},
		{"Sapphire Rapids", "GenuineIntel", 0x000806f8, 6, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := family(tt.signature); got != tt.family {
				t.Errorf("family %#x, want %#x", got, tt.family)
			}
			if got := fetches(tt.vendor, tt.family); got != tt.want {
				t.Errorf("fetches = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestCPUID(t *testing.T) {
	_, b, c, d := cpuid(0)
	for _, v := range dwords(b, d, c) {
		if v < ' ' || v > '~' {
			t.Errorf("vendor %q", dwords(b, d, c))
		}
	}
}
