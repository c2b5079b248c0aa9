package audio

import (
	"errors"
	"io"
	"testing"

	"quern/engine"
	"quern/httpapi/internal/fault"
)

// That a model does not time words is told by the client's field; other errors are as they were.
func TestAskedBy(t *testing.T) {
	for _, tt := range []struct{ param, want string }{{"words", "response_format"}, {"language", "language"}} {
		err := AskedBy("response_format", fault.New(engine.CodeUnsupportedParam, tt.param, "no"))
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Param != tt.want || e.Message != "no" {
			t.Errorf("%s: %+v, want %s", tt.param, err, tt.want)
		}
	}
	if err := AskedBy("x", io.EOF); err != io.EOF {
		t.Errorf("%v", err)
	}
}
