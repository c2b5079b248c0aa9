package asr_test

import (
	"fmt"

	"quern/engine/asr"
)

func ExampleLanguageCode() {
	code := asr.LanguageCode("German")
	fmt.Println(code, asr.LanguageName(code))
	// Output:
	// de german
}
