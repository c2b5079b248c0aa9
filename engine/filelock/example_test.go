package filelock_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"quern/engine/filelock"
)

func ExampleLock() {
	dir, err := os.MkdirTemp("", "lock")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "lock")
	for range 2 {
		f, err := os.Create(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer f.Close()
		fmt.Println(errors.Is(filelock.Lock(f), filelock.ErrLocked))
	}
	// Output:
	// false
	// true
}
