package rescue_test

import (
	"errors"
	"slices"
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

func TestSpread(t *testing.T) {
	done := make([]bool, 9)
	rescue.Spread(len(done), func(i int) { done[i] = true })
	if slices.Contains(done, false) {
		t.Errorf("%v", done)
	}
	err := rescue.Do(func() error {
		rescue.Spread(3, func(i int) {
			if i > 0 {
				panic(i)
			}
		})
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "panic: 1\n") || !strings.Contains(err.Error(), "panic: 2\n") {
		t.Errorf("%v", err)
	}
}
