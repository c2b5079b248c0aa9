// Package rescue turns a panic of one piece of work into an error. So it does with the fault of
// reading a mapped file behind its end, which otherwise ends a Go program.
package rescue

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// ErrFault is of memory that could not be read: that of a mapped file.
var ErrFault = errors.New("a mapped file cannot be read: it was cut short or written over, or its disk fails")

// Panic turns a panic of the function that defers it into that function's error, with the
// stack.
func Panic(err *error) {
	if p := recover(); p != nil {
		*err = Error(p)
	}
}

// Error is the error of a function that panicked with p: ErrFault, or p with the stack.
func Error(p any) error {
	e, _ := p.(error)
	var fault interface {
		runtime.Error
		Addr() uintptr
	}
	switch {
	case errors.Is(e, ErrFault): // of Spread
		return e
	case errors.As(e, &fault):
		return fmt.Errorf("%w (%#x)", ErrFault, fault.Addr())
	}
	return fmt.Errorf("panic: %v\n%s", p, debug.Stack())
}

// Do calls f, whose panics and faults become its error.
func Do(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer Panic(&err)
	return f()
}

// Spread calls f(i) for every i below n, each in a goroutine of its own, and waits for them.
// When one panics or faults, Spread panics, with the error that Do returns.
func Spread(n int, f func(i int)) {
	var all sync.WaitGroup
	failed := make([]error, n)
	for i := range n {
		all.Go(func() {
			failed[i] = Do(func() error { f(i); return nil })
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		panic(err)
	}
}
