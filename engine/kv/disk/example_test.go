package disk_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"quern/engine/kv/disk"
)

// What one process has kept another finds, without asking how.
func Example() {
	dir, err := os.MkdirTemp("", "quern")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	k := disk.Root("a model", "f16").Next([]int32{1, 2, 3})
	for range 2 {
		s := disk.Open(disk.Options{Dir: filepath.Join(dir, "cache"), Size: 1 << 20})
		fmt.Printf("%s\n", s.Get(context.Background(), k, 4))
		s.Put(k, []byte("kept"))
		s.Close()
	}
	// Output:
	//
	// kept
}
