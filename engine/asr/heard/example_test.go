package heard_test

import (
	"fmt"

	"quern/engine/asr/heard"
)

func ExampleSegment_Cut() {
	s := heard.Segment{Text: " Good morning. Hello.", End: 3, Words: []heard.Word{{Text: " Good", End: 0.5}, {Text: " morning.", Start: 0.5, End: 1}, {Text: " Hello.", Start: 2, End: 3}}}
	first, second := s.Cut(2)
	fmt.Printf("%g to %g:%s\n", first.Start, first.End, first.Text)
	fmt.Printf("%g to %g:%s\n", second.Start, second.End, second.Text)
	// Output:
	// 0 to 1: Good morning.
	// 2 to 3: Hello.
}

func ExampleLanguageCode() {
	code := heard.LanguageCode("German")
	fmt.Println(code, heard.LanguageName(code))
	// Output:
	// de german
}
