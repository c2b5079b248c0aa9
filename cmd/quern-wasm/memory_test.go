//go:build !js

package main

import (
	"bytes"
	"testing"
)

// A program imports one function and has a memory of 2 pages; afterwards it imports both,
// the memory as one that is shared, and what stands around them is as it was.
func TestImportMemory(t *testing.T) {
	const (
		header = "\x00asm\x01\x00\x00\x00"
		types  = "\x01\x04\x01\x60\x00\x00"
		code   = "\x0a\x01\x00"
	)
	module := header + types + "\x02\x0a\x01" + "\x04gojs\x01f\x00\x00" + "\x05\x03\x01\x00\x02" + code
	want := header + types + "\x02\x17\x02" + "\x04gojs\x01f\x00\x00" + "\x02go\x03mem\x02\x03\x02\x80\x80\x04" + code
	got, err := importMemory([]byte(module))
	if err != nil || string(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for n := range len(module) - len(code) {
		if _, err := importMemory([]byte(module[:n])); err == nil {
			t.Errorf("the first %d bytes passed for a module", n)
		}
	}
	if _, err := importMemory(bytes.Replace([]byte(module), []byte("\x05\x03\x01"), []byte("\x05\x03\x00"), 1)); err == nil {
		t.Error("a module without a memory passed")
	}
	if _, err := importMemory(bytes.Replace([]byte(module), []byte("\x05\x03\x01\x00\x02"), []byte("\x05\x04\x01\x01\x02\x02"), 1)); err == nil {
		t.Error("a memory that has a maximum passed")
	}
}
