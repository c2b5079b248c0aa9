package must

import (
	"errors"
	"testing"
)

// The first error ends a function, and the error of closing is kept; other panics are raised again.
func TestCatch(t *testing.T) {
	first, closing := errors.New("first"), errors.New("closing")
	after := false
	run := func() (n int, err error) {
		defer Catch(&err)
		defer func() { err = errors.Join(err, closing) }()
		n = Get(3, nil)
		Do(nil)
		Get(0, first)
		after = true
		return n, nil
	}
	if _, err := run(); !errors.Is(err, first) || !errors.Is(err, closing) || after {
		t.Errorf("%v, %v; want both errors and nothing after the first", err, after)
	}
	alone := func() (err error) {
		defer Catch(&err)
		Do(first)
		return nil
	}
	if err := alone(); err != first {
		t.Errorf("%v, want the error itself where there is no other", err)
	}
	defer func() {
		if p := recover(); p != "other" {
			t.Errorf("the panic is %v", p)
		}
	}()
	var err error
	func() {
		defer Catch(&err)
		panic("other")
	}()
}
