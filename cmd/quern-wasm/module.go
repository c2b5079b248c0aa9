//go:build !js

package main

import (
	"encoding/binary"
	"errors"
)

// Sections of a WebAssembly module.
const (
	typeSection = iota + 1
	importSection
	functionSection
	tableSection
	memorySection
	globalSection
	exportSection
	startSection
	elementSection
	codeSection
	dataSection
)

// Kinds of what is imported or exported.
const (
	functionKind = iota
	tableKind
	memoryKind
	globalKind
)

// Opcodes of the functions that are written here, and of constants.
const (
	opTrap     = 0x00
	opLoop     = 0x03
	opIf       = 0x04
	opEnd      = 0x0b
	opBranchIf = 0x0d
	opCall     = 0x10
	opIndirect = 0x11
	opDrop     = 0x1a
	opGet      = 0x20
	opSet      = 0x21
	opTee      = 0x22
	opStore    = 0x36
	opStore8   = 0x3a
	opConst    = 0x41
	opConst64  = 0x42
	opLess     = 0x49
	opAdd      = 0x6a
	opShift    = 0x76
	opNull     = 0xd0
	opMore     = 0xfc // before the next three
	opInit     = 0x0c
	opGrow     = 0x0f
	opSize     = 0x10
	empty      = 0x40 // type of a block
	i32        = 0x7f
	funcref    = 0x70
)

var errModule = errors.New("no WebAssembly module as Go writes them")

// A module is its sections, in their order. WebAssembly Core Specification 2.0, 5.5.
type module []section

type section struct {
	id   byte
	body []byte
}

const magic = "\x00asm\x01\x00\x00\x00"

// parse splits a module into its sections. Of those that are called by name it returns the
// names of functions, by their numbers, and leaves them out.
func parse(b []byte) (m module, names map[int]string, err error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return nil, nil, errModule
	}
	r := &reader{rest: b[len(magic):]}
	names = map[int]string{}
	for len(r.rest) > 0 && !r.bad {
		if id, body := r.byte(), r.take(r.uint()); id != 0 {
			m = append(m, section{id, body})
		} else if own := (&reader{rest: body}); string(own.take(own.uint())) == "name" {
			own.names(names)
		}
	}
	if r.bad {
		return nil, nil, errModule
	}
	return m, names, nil
}

// names reads the names of functions.
func (r *reader) names(into map[int]string) {
	const functions = 1
	for len(r.rest) > 0 {
		id, part := r.byte(), &reader{rest: r.take(r.uint())}
		for range part.list() {
			if i, name := part.uint(), part.take(part.uint()); id == functions {
				into[i] = string(name)
			}
		}
	}
}

// section returns the body of a section, nil where there is none.
func (m module) section(id byte) []byte {
	for _, s := range m {
		if s.id == id {
			return s.body
		}
	}
	return nil
}

// with returns the module with a section replaced, put in its place, or left out where body is nil.
func (m module) with(id byte, body []byte) module {
	out := module{}
	for _, s := range m {
		if s.id < id {
			out = append(out, s)
		}
	}
	if body != nil {
		out = append(out, section{id, body})
	}
	for _, s := range m {
		if s.id > id {
			out = append(out, s)
		}
	}
	return out
}

func (m module) bytes() []byte {
	out := []byte(magic)
	for _, s := range m {
		out = appendBytes(append(out, s.id), s.body)
	}
	return out
}

// A reader takes a module apart; it is bad after what was not there.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.rest, r.bad = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// uint reads an unsigned number, which no module has above 32 bits.
func (r *reader) uint() int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > 1<<32-1 {
		r.bad = true
		return 0
	}
	r.take(n)
	return int(v)
}

// int reads a signed number.
func (r *reader) int() int64 {
	var v int64
	for shift := 0; shift < 64; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if shift += 7; b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
	r.bad = true
	return 0
}

// list reads how many of something follow, each of at least one byte.
func (r *reader) list() int {
	n := r.uint()
	if n > len(r.rest) {
		r.bad = true
		return 0
	}
	return n
}

func appendUint[T int | uint64](b []byte, v T) []byte { return binary.AppendUvarint(b, uint64(v)) }

func appendInt(b []byte, v int) []byte {
	for ; v < -64 || v > 63; v >>= 7 {
		b = append(b, byte(v)&0x7f|0x80)
	}
	return append(b, byte(v)&0x7f)
}

// appendBytes appends bytes, or a name, behind their number.
func appendBytes[T ~[]byte | ~string](b []byte, more T) []byte {
	return append(appendUint(b, len(more)), more...)
}

// appendConst appends what puts a constant on the stack.
func appendConst(b []byte, v int) []byte { return appendInt(append(b, opConst), v) }
