package anthropic

import (
	"net/http"

	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/internal/stream"
)

// kinds are the types of errors by status.
var kinds = map[int]string{
	http.StatusUnauthorized:          "authentication_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestTimeout:        "timeout_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	http.StatusServiceUnavailable:    "overloaded_error",
	http.StatusGatewayTimeout:        "timeout_error",
}

// kindOf is the type of the errors of a status.
func kindOf(status int) string {
	switch kind := kinds[status]; {
	case kind != "":
		return kind
	case status >= http.StatusInternalServerError:
		return "api_error"
	}
	return "invalid_request_error"
}

type failure struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id,omitempty"` // "" in a stream, whose header has it
}

func newFailure(e *fault.Error) failure {
	f := failure{Type: "error"}
	f.Error.Type, f.Error.Message = kindOf(e.Status), e.Message
	return f
}

// Fail is a failure in the dialect's form.
func Fail(e *fault.Error, r *http.Request) (status int, body any) {
	f := newFailure(e)
	f.RequestID = reqlog.Of(r.Context())
	return e.Status, f
}

// failed sends a failure in a stream.
func failed(s *stream.Writer, e *fault.Error) error { return s.Named("error", newFailure(e)) }
