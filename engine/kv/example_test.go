package kv_test

import (
	"fmt"

	"quern/engine/kv"
)

// A prompt that begins like one whose blocks were kept has them without computing.
func Example() {
	p := kv.NewPool(4, 2) // four blocks of two tokens
	first := []int32{7, 8, 9, 10}
	var table []int32
	for range p.BlocksFor(len(first)) {
		b, _ := p.Alloc()
		table = append(table, b)
	}
	p.Keep(0, table, first, 0, len(first))
	p.ReleaseAll(table)

	table = p.Adopt(nil, p.Find(nil, 0, nil, []int32{7, 8, 9, 11, 12}, 0), 0)
	fmt.Println(2*len(table), "tokens need not be computed;", p.Available(), "blocks are left")
	// Output:
	// 2 tokens need not be computed; 3 blocks are left
}
