package httpapi

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

// A code names a failure in an answer's error object.
type code = engine.Code

// The codes that are not the engine's.
const (
	codeInvalidJSON        code = "invalid_json"
	codeInvalidType        code = "invalid_type"
	codeUnsupportedContent code = "unsupported_content"
	codeInvalidKey         code = "invalid_api_key"
	codeOrigin             code = "origin_not_allowed"
	codeHost               code = "host_not_allowed"
	codeUnknownURL         code = "unknown_url"
	codeMethod             code = "method_not_allowed"
	codeTooLarge           code = "request_too_large"
	codeInternal           code = "internal_error"
	codeOutOfDisk          code = "out_of_disk"
	codeRequestTimeout     code = "request_timeout"
	codeTooLong            code = "string_above_max_length"
	codeUnsupportedAudio   code = "unsupported_audio"
	codeOutputFormat       code = "output_format_not_supported"
	codeNotImplemented     code = "not_implemented"

	codeMissing           = engine.CodeMissingParam
	codeInvalidValue      = engine.CodeInvalidValue
	codeUnsupported       = engine.CodeUnsupportedParam
	codeModelNotSupported = engine.CodeModelNotSupported
	codeVoiceNotFound     = engine.CodeVoiceNotFound
	codeLoadTimeout       = engine.CodeLoadTimeout
	codeShuttingDown      = engine.CodeShuttingDown
	codeEngineFailure     = engine.CodeEngineFailure
)

// A codeClass says how a code is answered.
type codeClass struct {
	status int
	kind   string
	// retry is for the statuses clients retry by themselves: whether that can
	// help. Where it cannot the answer says so.
	retry bool
}

var codeClasses = map[code]codeClass{
	codeInvalidJSON:          {400, "invalid_request_error", false},
	codeMissing:              {400, "invalid_request_error", false},
	codeInvalidType:          {400, "invalid_request_error", false},
	codeInvalidValue:         {400, "invalid_request_error", false},
	codeUnsupported:          {400, "invalid_request_error", false},
	codeUnsupportedContent:   {400, "invalid_request_error", false},
	codeModelNotSupported:    {400, "invalid_request_error", false},
	codeVoiceNotFound:        {400, "invalid_request_error", false},
	codeTooLong:              {400, "invalid_request_error", false},
	codeUnsupportedAudio:     {400, "invalid_request_error", false},
	engine.CodeContextLength: {400, "invalid_request_error", false},
	engine.CodeTemplate:      {400, "invalid_request_error", false},
	codeInvalidKey:           {401, "invalid_request_error", false},
	codeOrigin:               {403, "permission_error", false},
	codeHost:                 {403, "permission_error", false},
	engine.CodeModelNotFound: {404, "invalid_request_error", false},
	codeUnknownURL:           {404, "invalid_request_error", false},
	codeMethod:               {405, "invalid_request_error", false},
	codeTooLarge:             {413, "invalid_request_error", false},
	codeOutputFormat:         {422, "invalid_request_error", false},
	codeInternal:             {500, "server_error", false},
	codeEngineFailure:        {500, "server_error", false},
	codeNotImplemented:       {501, "server_error", false},
	engine.CodeQueueFull:     {503, "overloaded_error", true},
	codeShuttingDown:         {503, "overloaded_error", true},
	engine.CodeModelLoading:  {503, "overloaded_error", true},
	engine.CodeOutOfMemory:   {503, "overloaded_error", false},
	codeOutOfDisk:            {503, "overloaded_error", false},
	codeRequestTimeout:       {504, "timeout_error", false},
	codeLoadTimeout:          {504, "timeout_error", false},
}

// An apiError is a failure as a client is told about it.
type apiError struct {
	codeClass
	code    code
	param   string
	message string
	after   time.Duration // Retry-After
	cause   error         // for the log
	unread  bool          // the body was not read to its end
}

func (e *apiError) Error() string { return e.message }
func (e *apiError) Unwrap() error { return e.cause }

func fail(c code, param, format string, args ...any) *apiError {
	return &apiError{codeClass: codeClasses[c], code: c, param: param, message: fmt.Sprintf(format, args...)}
}

// errGone says that the client left before it was answered.
var errGone = errors.New("client left")

// statusGone is what the log and the metrics say of such a request.
const statusGone = 499

// classify finds what to tell the client about err, which came from work under
// ctx: an *apiError, or errGone when nobody is listening.
func classify(ctx context.Context, err error) error {
	var ae *apiError
	var ee *engine.Error
	var de *spool.Error
	switch {
	case errors.Is(err, errGone):
		return errGone
	case errors.As(err, &ae):
		return ae
	case errors.As(err, &ee):
		return fromEngine(ee)
	case errors.As(err, &de):
		return fromSpool(de)
	case ctx.Err() != nil:
		if errors.As(context.Cause(ctx), &ae) {
			return ae
		}
		return errGone
	}
	return internal(err)
}

func fromEngine(e *engine.Error) *apiError {
	class, ok := codeClasses[e.Code]
	if !ok {
		class = codeClasses[codeEngineFailure]
	}
	out := &apiError{codeClass: class, code: e.Code, param: e.Param, message: e.Message, after: e.RetryAfter, cause: e.Err}
	// A model may need more memory than there is, or than there is now.
	out.retry = out.retry || out.status == http.StatusServiceUnavailable && e.RetryAfter > 0
	if out.message == "" {
		out.message = string(e.Code)
	}
	if out.param == "" && (e.Code == engine.CodeModelNotFound || e.Code == codeModelNotSupported || e.Code == codeMissing) {
		out.param = "model"
	}
	return out
}

// fromSpool says why an upload, a large body or an answer could not be kept.
func fromSpool(e *spool.Error) *apiError {
	const instead = "send a shorter request, or ask for a stream"
	out := fail(codeOutOfDisk, "", "the server cannot write its temporary files; its log says why")
	switch {
	case errors.Is(e, spool.ErrLimit):
		out = fail(codeOutOfDisk, "", "%v; %s, or raise limits.temp_files", e.Err, instead)
	case e.Full():
		out = fail(codeOutOfDisk, "", "the disk that holds the server's temporary files is full; %s", instead)
		out.cause = e.Err
	default:
		out.cause = e.Err
	}
	if e.Others {
		out.retry, out.after = true, 5*time.Second
	}
	return out
}

// errorBody is the one-member object every failure is sent as.
type errorBody struct {
	Error errorObject `json:"error"`
}

type errorObject struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    code    `json:"code"`
}

func (e *apiError) body() errorBody {
	b := errorBody{errorObject{Message: e.message, Type: e.kind, Code: e.code}}
	if e.param != "" {
		b.Error.Param = &e.param
	}
	return b
}

// recovered turns a panic of the goroutine that defers it into an error for the client.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = internal(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	}
}

// internal is a failure whose cause only the log hears of.
func internal(cause error) *apiError {
	e := fail(codeInternal, "", "something went wrong inside the server; its log has the details")
	e.cause = cause
	return e
}
