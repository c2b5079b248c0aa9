// Package must keeps the errors of a benchmark out of its way: a program that measures can
// only stop at one.
//
//	func run() (err error) {
//		defer must.Catch(&err)
//		file := must.Get(os.Open(name))
package must

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

// Catch sets err to what Do stopped at. Deferred.
func Catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case failure:
		*err = p.error
	default:
		panic(p)
	}
}
