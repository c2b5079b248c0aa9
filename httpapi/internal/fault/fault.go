// Package fault is the failures that clients get: one table of the status and type of
// each code.
package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"quern/engine"
	"quern/httpapi/spool"
)

// A Code names a failure in an answer's error object.
type Code = engine.Code

// The codes that are not the engine's.
const (
	CodeInvalidJSON        Code = "invalid_json"
	CodeInvalidType        Code = "invalid_type"
	CodeUnsupportedContent Code = "unsupported_content"
	CodeInvalidKey         Code = "invalid_api_key"
	CodeOrigin             Code = "origin_not_allowed"
	CodeHost               Code = "host_not_allowed"
	CodeManage             Code = "permission_denied" // the caller may not change which models there are
	CodeUnknownURL         Code = "unknown_url"
	CodeMethod             Code = "method_not_allowed"
	CodeTooLarge           Code = "request_too_large"
	CodeInternal           Code = "internal_error"
	CodeRequestTimeout     Code = "request_timeout"
	CodeTooLong            Code = "string_above_max_length"
	CodeUnsupportedAudio   Code = "unsupported_audio"
	CodeOutputFormat       Code = "output_format_not_supported"
	CodeNotImplemented     Code = "not_implemented"
	CodeUpgrade            Code = "upgrade_required"
	CodeNotFound           Code = "not_found"
	CodePreviousNotFound   Code = "previous_response_not_found"
	CodeRateLimit          Code = "rate_limit_exceeded"
	CodeStoreAway          Code = "storage_unavailable"
	CodeOver               Code = "batch_over"
)

// A codeClass is the status and type of a code.
type codeClass struct {
	Status int
	Kind   string
	// Retry is for the statuses clients retry by themselves: whether that can
	// help. Where it cannot the answer says so.
	Retry bool
}

var codeClasses = map[Code]codeClass{
	CodeInvalidJSON:              {400, "invalid_request_error", false},
	engine.CodeMissingParam:      {400, "invalid_request_error", false},
	CodeInvalidType:              {400, "invalid_request_error", false},
	engine.CodeInvalidValue:      {400, "invalid_request_error", false},
	engine.CodeUnsupportedParam:  {400, "invalid_request_error", false},
	engine.CodeToolFormat:        {400, "invalid_request_error", false},
	CodeUnsupportedContent:       {400, "invalid_request_error", false},
	engine.CodeModelNotSupported: {400, "invalid_request_error", false},
	engine.CodeVoiceNotFound:     {400, "invalid_request_error", false},
	CodeTooLong:                  {400, "invalid_request_error", false},
	CodeUnsupportedAudio:         {400, "invalid_request_error", false},
	engine.CodeContextLength:     {400, "invalid_request_error", false},
	engine.CodeTemplate:          {400, "invalid_request_error", false},
	engine.CodeInvalidSchema:     {400, "invalid_request_error", false},
	engine.CodeInvalidGrammar:    {400, "invalid_request_error", false},
	CodeInvalidKey:               {401, "invalid_request_error", false},
	CodeOrigin:                   {403, "permission_error", false},
	CodeHost:                     {403, "permission_error", false},
	CodeManage:                   {403, "permission_error", false},
	engine.CodeModelNotAllowed:   {403, "permission_error", false},
	engine.CodeModelNotFound:     {404, "invalid_request_error", false},
	CodeUnknownURL:               {404, "invalid_request_error", false},
	CodeNotFound:                 {404, "invalid_request_error", false},
	CodePreviousNotFound:         {404, "invalid_request_error", false},
	CodeMethod:                   {405, "invalid_request_error", false},
	engine.CodeModelInUse:        {409, "invalid_request_error", false},
	engine.CodePullStopped:       {409, "invalid_request_error", false},
	CodeTooLarge:                 {413, "invalid_request_error", false},
	CodeUpgrade:                  {426, "invalid_request_error", false},
	CodeOutputFormat:             {422, "invalid_request_error", false},
	CodeRateLimit:                {429, "rate_limit_error", true},
	CodeInternal:                 {500, "server_error", false},
	engine.CodeEngineFailure:     {500, "server_error", false},
	CodeNotImplemented:           {501, "server_error", false},
	engine.CodeQueueFull:         {503, "overloaded_error", true},
	engine.CodeShuttingDown:      {503, "overloaded_error", true},
	engine.CodeModelLoading:      {503, "overloaded_error", true},
	engine.CodeOutOfMemory:       {503, "overloaded_error", false},
	engine.CodeHubUnavailable:    {503, "server_error", false},
	engine.CodeOutOfDisk:         {503, "overloaded_error", false},
	CodeOver:                     {409, "invalid_request_error", false},
	CodeStoreAway:                {503, "server_error", true},
	engine.CodeStoreFull:         {507, "server_error", false},
	CodeRequestTimeout:           {504, "timeout_error", false},
	engine.CodeLoadTimeout:       {504, "timeout_error", false},
}

// An Error is a failure in the form that clients get.
type Error struct {
	codeClass
	Code    Code
	Param   string
	Message string
	After   time.Duration // Retry-After
	Cause   error         // for the log
	Unread  bool          // the body was not read to its end
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New makes the failure of a code; param is the field at fault, "" when none.
func New(c Code, param, format string, args ...any) *Error {
	return &Error{codeClass: codeClasses[c], Code: c, Param: param, Message: fmt.Sprintf(format, args...)}
}

// ErrGone: the client left before it was answered.
var ErrGone = errors.New("client left")

// StatusGone is the status of such a request in the log and the metrics.
const StatusGone = 499

// Classify returns the error that the client gets for err, which came from work under
// ctx: an *Error, or ErrGone when the client has left.
func Classify(ctx context.Context, err error) error {
	var ae *Error
	var ee *engine.Error
	var de *spool.Error
	switch {
	case errors.Is(err, ErrGone):
		return ErrGone
	case errors.As(err, &ae):
		return ae
	case errors.As(err, &ee):
		return fromEngine(ee)
	case errors.As(err, &de):
		return FromSpool(de)
	case ctx.Err() != nil:
		if errors.As(context.Cause(ctx), &ae) {
			return ae
		}
		return ErrGone
	}
	return Internal(err)
}

func fromEngine(e *engine.Error) *Error {
	class, ok := codeClasses[e.Code]
	if !ok {
		class = codeClasses[engine.CodeEngineFailure]
	}
	out := &Error{codeClass: class, Code: e.Code, Param: e.Param, Message: e.Message, After: e.RetryAfter, Cause: e.Err}
	// A model may need more memory than there is, or than there is now.
	out.Retry = out.Retry || out.Status == http.StatusServiceUnavailable && e.RetryAfter > 0
	if out.Message == "" {
		out.Message = string(e.Code)
	}
	if out.Param == "" && (e.Code == engine.CodeModelNotFound || e.Code == engine.CodeModelNotSupported || e.Code == engine.CodeMissingParam) {
		out.Param = "model"
	}
	return out
}

// FromSpool is the failure of storing an upload, a large body or an answer.
func FromSpool(e *spool.Error) *Error {
	const instead = "send a shorter request, or ask for a stream"
	out := New(engine.CodeOutOfDisk, "", "the server cannot write its temporary files; its log says why")
	switch {
	case errors.Is(e, spool.ErrLimit):
		out = New(engine.CodeOutOfDisk, "", "%v; %s, or raise limits.temp_files", e.Err, instead)
	case e.Full():
		out = New(engine.CodeOutOfDisk, "", "the disk that holds the server's temporary files is full; %s", instead)
		out.Cause = e.Err
	default:
		out.Cause = e.Err
	}
	if e.Others {
		out.Retry, out.After = true, 5*time.Second
	}
	return out
}

// Body is the object of one member in which failures are sent.
type Body struct {
	Error errorObject `json:"error"`
}

type errorObject struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    Code    `json:"code"`
}

// Body is the failure as it is sent.
func (e *Error) Body() Body {
	b := Body{errorObject{Message: e.Message, Type: e.Kind, Code: e.Code}}
	if e.Param != "" {
		b.Error.Param = &e.Param
	}
	return b
}

// SlowBody refuses a body of which so many bytes came in some time, which has to come at a rate, in
// bytes a second.
func SlowBody(bytes int64, took time.Duration, rate int) *Error {
	e := New(CodeRequestTimeout, "", "the body came too slowly, %d bytes in %v; send at least %d bytes a second on average", bytes, took.Round(time.Second), rate)
	e.Status, e.Unread = http.StatusRequestTimeout, true
	return e
}

// Recovered turns a panic of the goroutine that defers it into an error for the client.
func Recovered(err *error) {
	if p := recover(); p != nil {
		*err = Internal(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	}
}

// Internal is a failure whose cause is only logged.
func Internal(cause error) *Error {
	e := New(CodeInternal, "", "something went wrong inside the server; its log has the details")
	e.Cause = cause
	return e
}
