package wholefile_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"quern/engine/wholefile"
)

// A file appears when it is whole, or not at all.
func ExampleWrite() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "note.txt")
	err = wholefile.Write(name, func(f *os.File) error {
		fmt.Fprintln(f, "half a")
		return errors.New("the disk is full")
	})
	_, missing := os.Stat(name)
	fmt.Println(err, errors.Is(missing, os.ErrNotExist))

	err = wholefile.Write(name, func(f *os.File) error {
		_, err := fmt.Fprintln(f, "a whole note")
		return err
	})
	text, _ := os.ReadFile(name)
	fmt.Print(err, " ", string(text))
	// Output:
	// the disk is full true
	// <nil> a whole note
}
