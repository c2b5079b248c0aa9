package weights

import "errors"

// Every reader of models wraps one of these two, or its own by way of Malformed and
// Unsupported; the format packages name them again so that callers need not import this
// one.
var (
	// ErrFormat marks a file that breaks its format's rules, is cut short, or
	// is no model file at all.
	ErrFormat = errors.New("malformed model file")
	// ErrUnsupported marks a well-formed file that this build does not read.
	ErrUnsupported = errors.New("unsupported model file")
)

// A fault is one of the two in the words of a package.
type fault struct {
	text string
	kind error
}

// Malformed returns a package's ErrFormat for what it reads: "malformed tokenizer".
func Malformed(what string) error { return &fault{"malformed " + what, ErrFormat} }

// Unsupported returns a package's ErrUnsupported for what it reads.
func Unsupported(what string) error { return &fault{"unsupported " + what, ErrUnsupported} }

func (e *fault) Error() string { return e.text }
func (e *fault) Unwrap() error { return e.kind }
