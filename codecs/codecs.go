// Package codecs reads audio of any common format from untrusted bytes, and
// writes what a speech API offers. Content decides what a file is, never its
// name.
//
// Each format is a package of its own below this one. Those satisfy Decoder and
// Encoder without importing this package; the tables here name them.
package codecs

import (
	"errors"
	"fmt"
	"strings"

	"quern/codecs/internal/fault"
)

// A Decoder is a stream of audio.
type Decoder interface {
	Rate() int     // in Hz
	Channels() int // more than two are in the order of WAVE_FORMAT_EXTENSIBLE

	// Read fills dst with whole frames, interleaved, nominally in [-1, 1], and
	// returns the number of samples. dst must hold a frame at least. At the end
	// it returns 0 and io.EOF.
	Read(dst []float32) (int, error)
}

// An Encoder writes a stream of audio.
type Encoder interface {
	// Write takes whole frames, interleaved, nominally in [-1, 1]. Samples beyond
	// are clipped; those that are not finite are refused with an error that wraps
	// pcm.ErrSample, and nothing of x is written.
	Write(x []float32) error

	// Close ends the stream; it does not close what the encoder writes to.
	Close() error
}

// Kinds of error. Every *Error wraps one of these.
var (
	ErrUnsupported = fault.ErrUnsupported
	ErrFormat      = fault.ErrFormat
	ErrEmpty       = errors.New("no audio in it")
	ErrLimit       = errors.New("too large")
)

// Error says that input is no audio that can be decoded, and what it is.
type Error struct {
	Found string // "AMR audio", "MP4 with AC-3"
	Kind  error  // ErrUnsupported, ErrFormat, ErrEmpty or ErrLimit
	Err   error  // the cause; may be nil
}

func (e *Error) Error() string {
	switch {
	case e.Err == nil:
		return fmt.Sprintf("%s: %v", e.Found, e.Kind)
	case strings.HasPrefix(e.Err.Error(), e.Kind.Error()+" "): // "malformed WAV: …"
		return e.Err.Error()
	case errors.Is(e.Err, e.Kind):
		return fmt.Sprintf("%s: %v", e.Found, e.Err)
	}
	return fmt.Sprintf("%s: %v: %v", e.Found, e.Kind, e.Err)
}

func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
