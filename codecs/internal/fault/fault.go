// Package fault has the two kinds of error that decoders have for their input.
package fault

import (
	"errors"
	"io"
)

// Every error for input that cannot be decoded wraps one of these, by way of its
// package's own.
var (
	ErrFormat      = errors.New("malformed")
	ErrUnsupported = errors.New("not supported") // valid, but nothing that is decoded
)

// An Error is a package's own of one of the kinds.
type Error struct {
	text string
	kind error
}

// Malformed returns a package's error for input that is none of what it decodes:
// "malformed AAC".
func Malformed(what string) error { return &Error{"malformed " + what, ErrFormat} }

// Unsupported returns a package's error for input, or options, that are valid and
// that it has no code for: "unsupported kind of AAC".
func Unsupported(what string) error { return &Error{"unsupported " + what, ErrUnsupported} }

func (e *Error) Error() string { return e.text }
func (e *Error) Unwrap() error { return e.kind }

// NoEOF turns the end of the input into an unexpected one.
func NoEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
