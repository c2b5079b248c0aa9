package disktest_test

import (
	"errors"
	"fmt"

	"quern/engine/kv/disk/disktest"
)

// A disk that is full.
func Example() {
	files := disktest.New(".")
	files.Before = func(op, name string) error {
		if op == "create" {
			return errors.New("no space left")
		}
		return nil
	}
	_, err := files.Create("a")
	fmt.Println(err, len(files.Files()))
	// Output:
	// no space left 0
}
