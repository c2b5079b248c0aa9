package asr_test

import (
	"fmt"

	"quern/engine/asr"
)

func ExampleGuard() {
	o := asr.Options{Without: asr.GuardVAD | asr.GuardReset}
	fmt.Println(o.On(asr.GuardVAD), o.On(asr.GuardRepeats))
	// Output:
	// false true
}
