// Package rescue keeps a panic of one piece of work from ending the process.
package rescue

import (
	"fmt"
	"runtime/debug"
)

// Panic turns a panic of the function that defers it into that function's error, with the
// stack.
func Panic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}
