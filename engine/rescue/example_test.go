package rescue_test

import (
	"fmt"
	"strings"

	"quern/engine/rescue"
)

func ExamplePanic() {
	work := func() (err error) {
		defer rescue.Panic(&err)
		panic("a bug")
	}
	line, _, _ := strings.Cut(work().Error(), "\n")
	fmt.Println(line)
	// Output:
	// panic: a bug
}
