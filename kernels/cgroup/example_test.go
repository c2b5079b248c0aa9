package cgroup_test

import (
	"fmt"
	"testing/fstest"

	"quern/kernels/cgroup"
)

func ExampleMemory() {
	root := fstest.MapFS{ // os.DirFS("/") where it counts
		"proc/self/cgroup":                           {Data: []byte("0::/system.slice\n")},
		"sys/fs/cgroup/system.slice/memory.max":      {Data: []byte("max\n")},
		"sys/fs/cgroup/memory.max":                   {Data: []byte("1073741824\n")},
		"sys/fs/cgroup/system.slice/memory.pressure": {},
	}
	fmt.Println(cgroup.Memory(root))
	// Output:
	// 1073741824 true
}
