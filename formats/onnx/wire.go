package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
)

// maxDepth bounds how deep messages nest: graphs in attributes of nodes, types
// in types. Exporters stay below ten.
const maxDepth = 64

// A field is one field of a message: a number (varint, fixed32 or fixed64) or
// the bytes of what has a length.
type field struct {
	num  uint64
	kind byte // wire type
	n    uint64
	b    []byte
}

// Wire types. Groups (3 and 4) have been deprecated since before ONNX existed.
const (
	varint  = 0
	fixed64 = 1
	bytes   = 2
	fixed32 = 5
)

// each calls do with each field of the message that f holds.
func (f field) each(depth int, do func(field) error) error {
	if err := f.want(bytes); err != nil {
		return err
	}
	return fields(f.b, depth, do)
}

// fields calls f with each field of a message in the order of the bytes.
//
// Protocol Buffers, "Encoding".
func fields(msg []byte, depth int, f func(field) error) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: messages nest deeper than %d", ErrFormat, maxDepth)
	}
	for len(msg) > 0 {
		tag, n := binary.Uvarint(msg)
		if n <= 0 || tag>>3 == 0 {
			return fmt.Errorf("%w: no protobuf tag", ErrFormat)
		}
		msg = msg[n:]
		fl := field{num: tag >> 3, kind: byte(tag & 7)}
		switch {
		case fl.kind == varint || fl.kind == bytes:
			if fl.n, n = binary.Uvarint(msg); n <= 0 {
				return fmt.Errorf("%w: a number of field %d is cut short", ErrFormat, fl.num)
			}
			msg = msg[n:]
			if fl.kind == varint {
				break
			}
			if fl.n > uint64(len(msg)) {
				return fmt.Errorf("%w: field %d has %d bytes, %d are left", ErrFormat, fl.num, fl.n, len(msg))
			}
			fl.b, msg = msg[:fl.n:fl.n], msg[fl.n:]
		case fl.kind == fixed64 && len(msg) >= 8:
			fl.n, msg = binary.LittleEndian.Uint64(msg), msg[8:]
		case fl.kind == fixed32 && len(msg) >= 4:
			fl.n, msg = uint64(binary.LittleEndian.Uint32(msg)), msg[4:]
		default:
			return fmt.Errorf("%w: field %d has wire type %d in the last %d bytes", ErrFormat, fl.num, fl.kind, len(msg))
		}
		if err := f(fl); err != nil {
			return err
		}
	}
	return nil
}

func (f field) want(kind byte) error {
	if f.kind != kind {
		return fmt.Errorf("%w: field %d has wire type %d, want %d", ErrFormat, f.num, f.kind, kind)
	}
	return nil
}

func (f field) text(dst *string) error {
	*dst = string(f.b)
	return f.want(bytes)
}

func (f field) int(dst *int64) error {
	*dst = int64(f.n)
	return f.want(varint)
}

func (f field) float(dst *float32) error {
	*dst = math.Float32frombits(uint32(f.n))
	return f.want(fixed32)
}

// numbers appends the values of a repeated number of that wire type, packed or
// not, calling add with each.
func (f field) numbers(kind byte, add func(uint64)) error {
	if f.kind == kind {
		add(f.n)
		return nil
	}
	if err := f.want(bytes); err != nil {
		return err
	}
	for b := f.b; len(b) > 0; {
		switch {
		case kind == varint:
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return fmt.Errorf("%w: a number of field %d is cut short", ErrFormat, f.num)
			}
			add(v)
			b = b[n:]
		case kind == fixed32 && len(b) >= 4:
			add(uint64(binary.LittleEndian.Uint32(b)))
			b = b[4:]
		case kind == fixed64 && len(b) >= 8:
			add(binary.LittleEndian.Uint64(b))
			b = b[8:]
		default:
			return fmt.Errorf("%w: field %d ends within a number", ErrFormat, f.num)
		}
	}
	return nil
}
