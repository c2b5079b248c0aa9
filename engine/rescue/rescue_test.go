package rescue_test

import (
	"errors"
	"strings"
	"testing"

	"quern/engine/rescue"
)

func TestPanic(t *testing.T) {
	failure := errors.New("failure")
	for name, tt := range map[string]struct {
		do   func() error
		want string
	}{
		"none":      {func() error { return nil }, ""},
		"an error":  {func() error { return failure }, "failure"},
		"a panic":   {func() error { panic("of mine") }, "panic: of mine\n"},
		"out range": {func() error { var x []int; x[0] = 1; return nil }, "index out of range"},
	} {
		got := func() (err error) {
			defer rescue.Panic(&err)
			return tt.do()
		}()
		if (got == nil) != (tt.want == "") || got != nil && !strings.Contains(got.Error(), tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
