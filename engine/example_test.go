package engine_test

import (
	"errors"
	"fmt"

	"quern/engine"
)

// The client gets the message; the cause is for the log.
func ExampleError() {
	err := error(&engine.Error{Code: engine.CodeEngineFailure, Message: "the model cannot be read", Err: errors.New("/models/a.gguf: input/output error")})
	var e *engine.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code, "-", err, "-", e.Err)
	}
	// Output:
	// engine_failure - the model cannot be read - /models/a.gguf: input/output error
}

// Options that a model does not set are taken from the common options, then from the defaults.
func ExampleModelOptions_Or() {
	o := engine.ModelOptions{Slots: 4}.Or(engine.ModelOptions{Slots: 8, Queue: 10}).Defaulted()
	fmt.Println(o.Slots, o.Queue, o.Batch, o.CacheType)
	// Output:
	// 4 10 512 F16
}
