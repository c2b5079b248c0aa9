package body

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/fault"
)

// A Query reads parameters of an address; the first error is kept.
type Query struct {
	Values url.Values
	Err    error
}

func (q *Query) invalid(name, want string) {
	if q.Err == nil {
		q.Err = fault.New(engine.CodeInvalidValue, name, "%s must be %s, got %.60q", name, want, q.Values.Get(name))
	}
}

// Boolean reads true or false; false when absent.
func (q *Query) Boolean(name string) bool {
	switch q.OneOf(name, "false", "true", "1", "0") {
	case "true", "1":
		return true
	}
	return false
}

// Number reads a number from lo to hi.
func (q *Query) Number(name string, absent, lo, hi int) int {
	s := q.Values.Get(name)
	if s == "" {
		return absent
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < lo || n > hi {
		q.invalid(name, "a whole number from "+strconv.Itoa(lo)+" to "+strconv.Itoa(hi))
	}
	return n
}

// OneOf reads one of several values, the first of which stands for none.
func (q *Query) OneOf(name string, values ...string) string {
	s := q.Values.Get(name)
	if s == "" {
		return values[0]
	}
	if !slices.Contains(values, s) {
		q.invalid(name, strings.Join(values, " or "))
	}
	return s
}
