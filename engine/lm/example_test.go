package lm_test

import (
	"fmt"
	"log"

	"quern/engine"
	"quern/engine/lm"
)

// What a model would take of memory, of which one part grows with the context.
func ExampleEstimateFile() {
	short, err := lm.EstimateFile(lm.BuiltinPath, engine.ModelOptions{Slots: 1, ContextLength: 256}, 1<<30)
	if err != nil {
		log.Fatal(err)
	}
	long, err := lm.EstimateFile(lm.BuiltinPath, engine.ModelOptions{Slots: 1, ContextLength: 1024}, 1<<30)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(short.Context, long.Context, short.Weights == long.Weights, long.OneRequest/short.OneRequest)
	// Output:
	// 256 1024 true 4
}
