// Package must keeps the errors of a benchmark out of its way: a program that measures can
// only stop at one.
//
//	func run() (err error) {
//		defer must.Catch(&err)
//		file := must.Get(os.Open(name))
package must

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

// A failure is the error a function of this package stopped at.
type failure struct{ error }

// Do stops the function whose caller, or any further up, has deferred Catch.
func Do(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get is Do for a function that returns something beside its error.
func Get[T any](v T, err error) T {
	Do(err)
	return v
}

// Get2 is Get for a function that returns two things beside its error.
func Get2[A, B any](a A, b B, err error) (A, B) {
	Do(err)
	return a, b
}

// End ends the program with status 1 and the error, if there is one other than that help was asked for.
func End(program string, err error) {
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, program+":", err)
		os.Exit(1)
	}
}

// Catch joins what Do stopped at to err, which functions deferred after it may have set.
// Deferred.
func Catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case failure:
		if *err != nil {
			p.error = errors.Join(p.error, *err)
		}
		*err = p.error
	default:
		panic(p)
	}
}
