package engine

import (
	"context"
	"fmt"
	"time"
)

// A Code is the kind of a failure. The spelling is the one API
// clients see.
type Code string

// The codes the engine returns.
const (
	CodeModelNotFound     Code = "model_not_found"
	CodeModelNotSupported Code = "model_not_supported" // the model exists but is of another kind
	CodeContextLength     Code = "context_length_exceeded"
	CodeTemplate          Code = "template_error"
	CodeMissingParam      Code = "missing_required_parameter" // no model named and no default
	CodeInvalidValue      Code = "invalid_value"              // Param names the field
	CodeUnsupportedParam  Code = "unsupported_parameter"
	CodeToolFormat        Code = "unsupported_format_for_tools" // calls of the model's wire format cannot be enforced
	CodeInvalidSchema     Code = "invalid_schema"               // a Constraint's; Param is its own with a JSON Pointer
	CodeInvalidGrammar    Code = "invalid_grammar"              // a Constraint's
	CodeQueueFull         Code = "queue_full"
	CodeModelLoading      Code = "model_loading" // it is being fetched and will take a while
	CodeVoiceNotFound     Code = "voice_not_found"
	CodeOutOfMemory       Code = "out_of_memory"
	CodeOutOfDisk         Code = "out_of_disk"          // of temporary files, which are removed when their requests end
	CodeStoreFull         Code = "insufficient_storage" // where models are kept; something has to be removed
	CodeModelInUse        Code = "model_in_use"         // it cannot be unloaded or removed now
	CodeModelNotAllowed   Code = "model_not_allowed"    // the hub denies access to it, or it may not be removed
	CodePullStopped       Code = "pull_stopped"         // another client has ended the pull that was followed
	CodeHubUnavailable    Code = "hub_unavailable"
	CodeShuttingDown      Code = "shutting_down"
	CodeLoadTimeout       Code = "load_timeout"
	CodeEngineFailure     Code = "engine_failure"
)

// An Error is a failure that may be shown to clients. Message says what to
// change and never holds paths of this machine.
type Error struct {
	Code       Code
	Param      string // request field at fault, "" when none
	Message    string
	RetryAfter time.Duration // with CodeQueueFull, CodeModelLoading, CodeShuttingDown, and CodeOutOfMemory where it is in use; else 0
	Err        error         // cause, for the log; may be nil
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error of a message.
func Errorf(code Code, param, format string, args ...any) *Error {
	return &Error{Code: code, Param: param, Message: fmt.Sprintf(format, args...)}
}

// After says when to try again.
func (e *Error) After(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// Because sets the cause of e, for the log.
func (e *Error) Because(err error) *Error {
	e.Err = err
	return e
}

// MiB spells a number of bytes, rounded up, for messages.
func MiB(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }

// Stopped is the error that clients get for work that failed with err: the context's error when
// ctx has ended, since then no part of the server failed.
func Stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return Errorf(CodeEngineFailure, "", "the model stopped unexpectedly").Because(err)
}

// ErrShuttingDown is for requests that arrive, or are under way, when the engine closes.
func ErrShuttingDown() *Error {
	return Errorf(CodeShuttingDown, "", "the server is shutting down").After(5 * time.Second)
}
