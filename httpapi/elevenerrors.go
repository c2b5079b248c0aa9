package httpapi

import (
	"net/http"
	"strings"
)

// vendorStatus is how a failure is answered in the vendor's dialect: bodies that
// break its schema are 422, unknown voices 404.
func vendorStatus(e *apiError) int {
	switch e.code {
	case codeVoiceNotFound:
		return http.StatusNotFound
	case codeMissing, codeInvalidType, codeInvalidValue, codeTooLong, codeInvalidJSON:
		return http.StatusUnprocessableEntity
	}
	return e.status
}

// spellVendor is a failure as the vendor spells it.
func spellVendor(e *apiError, r *http.Request) (status int, body any) {
	if status = vendorStatus(e); status != http.StatusUnprocessableEntity {
		return status, map[string]any{"detail": map[string]string{"status": string(e.code), "message": e.message}}
	}
	from := "body"
	if r.Method == http.MethodGet {
		from = "query"
	}
	kind := "value_error"
	if e.code == codeMissing {
		kind = "missing"
	}
	loc := []string{from}
	if e.param != "" {
		loc = append(loc, strings.Split(e.param, ".")...)
	}
	return status, map[string]any{"detail": []map[string]any{{"type": kind, "loc": loc, "msg": e.message}}}
}
