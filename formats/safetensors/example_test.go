package safetensors_test

import (
	"encoding/binary"
	"fmt"
	"log"

	"quern/formats/safetensors"
)

func ExampleParse() {
	header := `{"w": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}}`
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	file = append(append(file, header...), 0, 0, 128, 63, 0, 0, 0, 64) // 1 and 2
	set, err := safetensors.Parse(file)                                // safetensors.Open maps a file
	if err != nil {
		log.Fatal(err)
	}
	t, _ := set.Tensor("w")
	fmt.Println(t.Type, t.Shape, t.Data)
	// Output:
	// F32 [1 2] [0 0 128 63 0 0 0 64]
}
