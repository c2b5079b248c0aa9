package measure_test

import (
	"context"
	"fmt"
	"log"

	"quern/engine/lm"
	"quern/engine/measure"
)

func ExampleBench() {
	r, err := measure.Bench(context.Background(), measure.BenchOptions{
		Path: lm.BuiltinPath, Device: "cpu", Threads: 1, Prompt: 8, Generate: 2, Reps: 1,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Device, r.Threads, r.PromptPerSecond > 0, r.GeneratePerSecond > 0)
	// Output:
	// cpu 1 true true
}
