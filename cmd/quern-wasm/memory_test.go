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
		types = "\x01\x04\x01\x60\x00\x00"
		code  = "\x0a\x01\x00"
	)
	program := magic + types + "\x02\x0a\x01" + "\x04gojs\x01f\x00\x00" + "\x05\x03\x01\x00\x02" + code
	want := magic + types + "\x02\x17\x02" + "\x04gojs\x01f\x00\x00" + "\x02go\x03mem\x02\x03\x02\x80\x80\x04" + code
	change := func(program string) (string, error) {
		m, _, err := parse([]byte(program))
		if err != nil {
			return "", err
		}
		m, err = m.importMemory()
		return string(m.bytes()), err
	}
	if got, err := change(program); err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for n := range len(program) - len(code) {
		if _, err := change(program[:n]); err == nil {
			t.Errorf("the first %d bytes passed for a module", n)
		}
	}
	for _, other := range []string{"\x05\x03\x00\x00\x02", "\x05\x04\x01\x01\x02\x02"} { // no memory, and one with a maximum
		if _, err := change(string(bytes.Replace([]byte(program), []byte("\x05\x03\x01\x00\x02"), []byte(other), 1))); err == nil {
			t.Errorf("a memory %q passed", other)
		}
	}
}
