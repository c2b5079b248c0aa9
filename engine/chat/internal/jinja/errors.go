package jinja

import (
	"errors"
	"fmt"
	"slices"
)

var (
	// ErrSyntax is wrapped by the error for a malformed template.
	ErrSyntax = errors.New("jinja: malformed template")
	// ErrUnsupported is wrapped by the error for valid Jinja that a chat
	// template has no business using, such as include.
	ErrUnsupported = errors.New("jinja: unsupported")
	// ErrLimit is wrapped by the error for a template or value that is too
	// large, too deep or takes too long.
	ErrLimit = errors.New("jinja: limit reached")
	// ErrRuntime is wrapped by the error for a template that broke while
	// rendering, where Jinja would have raised an exception.
	ErrRuntime = errors.New("jinja: rendering stopped")
	// ErrJSON is wrapped by the error for text ReadJSON cannot read.
	ErrJSON = errors.New("jinja: malformed JSON")
)

// A SyntaxError says what is wrong with a template and on which line. It wraps
// ErrSyntax, ErrUnsupported or ErrLimit.
type SyntaxError struct {
	Line    int
	Message string
	cause   error
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("template line %d: %s", e.Line, e.Message)
}

func (e *SyntaxError) Unwrap() error { return e.cause }

// A RuntimeError is what Jinja would have raised while rendering. Kind is the
// name of Python's or Jinja's exception class. It wraps ErrRuntime.
type RuntimeError struct {
	Line    int // of the innermost statement, 0 if unknown
	Kind    string
	Message string
}

func (e *RuntimeError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("template line %d: %s", e.Line, e.Message)
}

func (e *RuntimeError) Unwrap() error { return ErrRuntime }

// A RaiseError is a refusal in the template's own words: it called
// raise_exception. It wraps ErrRuntime.
type RaiseError struct{ Message string }

func (e *RaiseError) Error() string { return e.Message }

func (e *RaiseError) Unwrap() error { return ErrRuntime }

// A thrown error is what the functions of this package panic with: parsing and
// rendering are deep recursions that the first error ends. Parse, Render and
// ReadJSON return it.
type thrown struct{ error }

// catch sets err to the error thrown. Deferred.
func catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case thrown:
		*err = p.error
	default:
		panic(p)
	}
}

// try returns what f throws as an error.
func try[T any](f func() T) (v T, err error) {
	defer catch(&err)
	return f(), nil
}

// attempt is try around what may throw a RuntimeError of one of these kinds; it is not ok
// then. All else goes on: that a limit is reached, or the request has ended.
func attempt[T any](f func() T, kinds ...string) (v T, ok bool) {
	v, err := try(f)
	if err != nil && !isKind(err, kinds...) {
		panic(thrown{err})
	}
	return v, err == nil
}

func syntaxError(line int, cause error, format string, args ...any) thrown {
	return thrown{&SyntaxError{Line: line, Message: fmt.Sprintf(format, args...), cause: cause}}
}

func raisef(kind, format string, args ...any) thrown {
	return thrown{&RuntimeError{Kind: kind, Message: fmt.Sprintf(format, args...)}}
}

func typeErrorf(format string, args ...any) thrown  { return raisef("TypeError", format, args...) }
func valueErrorf(format string, args ...any) thrown { return raisef("ValueError", format, args...) }
func limitf(format string, args ...any) thrown {
	return thrown{fmt.Errorf("%w: %s", ErrLimit, fmt.Sprintf(format, args...))}
}

// isKind reports whether err is a RuntimeError of one of the given kinds.
func isKind(err error, kinds ...string) bool {
	var e *RuntimeError
	return errors.As(err, &e) && slices.Contains(kinds, e.Kind)
}
