package spool_test

import (
	"fmt"
	"io"
	"log"
	"os"

	"quern/httpapi/spool"
)

// A spool is a file without a name: it is gone when it is closed.
func Example() {
	p := spool.NewPool(1 << 20)
	s := p.New()
	if _, err := io.WriteString(s, "an upload"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Size(), p.Used() >= s.Size())
	if _, err := s.WriteTo(os.Stdout); err != nil {
		log.Fatal(err)
	}
	fmt.Println()
	fmt.Println(s.Close(), p.Used())
	// Output:
	// 9 true
	// an upload
	// <nil> 0
}
