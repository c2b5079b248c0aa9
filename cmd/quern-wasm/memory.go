//go:build !js

package main

import (
	"encoding/binary"
	"errors"
)

// Sections of a WebAssembly module, and the kind of an import that is a memory.
const (
	importSection = 2
	memorySection = 5
	memoryKind    = 2
)

// A memory that threads share has this flag before its limits, and a maximum: pages of 64 KiB.
const (
	sharedMemory = 3
	most         = 1 << 16
)

var errModule = errors.New("no WebAssembly module with imports and a memory of its own")

// importMemory makes a program of Go import its memory, as go.mem, instead of making it:
// so the kernels, which work in that memory and which the program imports, can be there
// before the program is. It is one that threads share, of at most 4 GiB: kernels in other
// threads work in it too. Nothing else changes.
//
// WebAssembly Core Specification 2.0, 5.5; 3.0, 5.3.10.
func importMemory(module []byte) ([]byte, error) {
	const header = 8
	if len(module) < header || string(module[:4]) != "\x00asm" {
		return nil, errModule
	}
	limits, err := section(module[header:], memorySection)
	if err != nil {
		return nil, err
	}
	if count, n := binary.Uvarint(limits); count != 1 || n == len(limits) || limits[n] != 0 { // 0: no maximum
		return nil, errModule
	} else {
		limits = binary.AppendUvarint(append([]byte{sharedMemory}, limits[n+1:]...), most)
	}
	out := append([]byte(nil), module[:header]...)
	for rest := module[header:]; len(rest) > 0; {
		id, body, after, err := next(rest)
		if err != nil {
			return nil, err
		}
		switch id {
		case memorySection:
		case importSection:
			count, n := binary.Uvarint(body)
			if n <= 0 {
				return nil, errModule
			}
			list := binary.AppendUvarint(nil, count+1)
			list = append(list, body[n:]...)
			list = append(list, "\x02go\x03mem"...)
			list = append(append(list, memoryKind), limits...)
			out = binary.AppendUvarint(append(out, id), uint64(len(list)))
			out = append(out, list...)
		default:
			out = append(out, rest[:len(rest)-len(after)]...)
		}
		rest = after
	}
	return out, nil
}

// section returns the body of a module's section.
func section(rest []byte, want byte) ([]byte, error) {
	for len(rest) > 0 {
		id, body, after, err := next(rest)
		if err != nil {
			return nil, err
		}
		if id == want {
			return body, nil
		}
		rest = after
	}
	return nil, errModule
}

// next splits the first section off.
func next(rest []byte) (id byte, body, after []byte, err error) {
	size, n := binary.Uvarint(rest[1:])
	if n <= 0 || size > uint64(len(rest)-1-n) {
		return 0, nil, nil, errModule
	}
	end := 1 + n + int(size)
	return rest[0], rest[1+n : end], rest[end:], nil
}
