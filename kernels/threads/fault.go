package threads

import (
	"fmt"
	"runtime"
)

// A Fault is an error of the runtime, such as an index out of range, in a chunk that a Pool
// ran. Stack is where.
type Fault struct {
	Err   runtime.Error
	Stack []byte
}

func (f *Fault) Error() string { return fmt.Sprintf("%v\n%s", f.Err, f.Stack) }
func (f *Fault) Unwrap() error { return f.Err }
