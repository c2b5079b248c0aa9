package pcm_test

import (
	"encoding/binary"
	"fmt"

	"quern/codecs/pcm"
)

func Example() {
	b := pcm.Encode(nil, []float32{0, 0.5, -1}, pcm.S16)
	fmt.Printf("% x\n", b)
	fmt.Println(pcm.Decode(nil, b, pcm.S16, binary.LittleEndian))
	// Output:
	// 00 00 00 40 00 80
	// [0 0.5 -1]
}
