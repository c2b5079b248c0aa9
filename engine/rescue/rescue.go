// Package rescue keeps a panic of one piece of work from ending the process. So it does where
// work reads a mapped file behind its end: a fault that Go programs die of.
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

// Error is what a function fails with that panicked with p: ErrFault, or p with the stack.
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
// When one panics or reads what cannot be read, so does Spread, with the error that Do gives.
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
