package weights

import "errors"

// Every model file reader wraps one of these two; the format packages name
// them again so that callers need not import this one.
var (
	// ErrFormat marks a file that breaks its format's rules, is cut short, or
	// is no model file at all.
	ErrFormat = errors.New("malformed model file")
	// ErrUnsupported marks a well-formed file that this build does not read.
	ErrUnsupported = errors.New("unsupported model file")
)
