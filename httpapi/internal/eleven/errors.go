package eleven

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/fault"
)

// vendorStatus is the status of a failure in the vendor's dialect: bodies that
// break its schema are 422, unknown voices 404.
func vendorStatus(e *fault.Error) int {
	switch e.Code {
	case engine.CodeVoiceNotFound:
		return http.StatusNotFound
	case engine.CodeMissingParam, fault.CodeInvalidType, engine.CodeInvalidValue, fault.CodeTooLong, fault.CodeInvalidJSON:
		return http.StatusUnprocessableEntity
	}
	return e.Status
}

// params are fields of ours that have other names in the vendor's API.
var params = map[string]string{"input": "text", "voice": "voice_id", "model": "model_id", "lang_code": "language_code"}

// addressed are the fields in the address.
var addressed = []string{"voice_id", "output_format", "enable_logging", "optimize_streaming_latency"}

// Fail is a failure in the vendor's form.
func Fail(e *fault.Error, r *http.Request) (status int, body any) {
	if status = vendorStatus(e); status != http.StatusUnprocessableEntity {
		return status, map[string]any{"detail": map[string]string{"status": string(e.Code), "message": e.Message}}
	}
	param := cmp.Or(params[e.Param], e.Param)
	from := "body"
	if r.Method == http.MethodGet || slices.Contains(addressed, param) {
		from = "query"
	}
	kind := "value_error"
	if e.Code == engine.CodeMissingParam {
		kind = "missing"
	}
	loc := []string{from}
	if param != "" {
		loc = append(loc, strings.Split(param, ".")...)
	}
	return status, map[string]any{"detail": []map[string]any{{"type": kind, "loc": loc, "msg": e.Message}}}
}
