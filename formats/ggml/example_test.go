package ggml_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"

	"quern/formats/ggml"
)

// The file of a detector of speech: a magic number, a name, hyper-parameters, tensors.
func ExampleParse() {
	var file bytes.Buffer
	file.WriteString(ggml.Magic)
	binary.Write(&file, binary.LittleEndian, int32(len(ggml.Silero)))
	file.WriteString(ggml.Silero)
	binary.Write(&file, binary.LittleEndian, []int32{6, 2, 0, 512, 64, 1, 129, 128, 3, 128, 128, 128, 1})
	binary.Write(&file, binary.LittleEndian, []int32{1, 1, 0, 1}) // dimensions, bytes of the name, F32; one value
	file.WriteString("w\x00\x00\x80\x3f")
	set, err := ggml.Parse(file.Bytes()) // ggml.Open maps a file
	if err != nil {
		log.Fatal(err)
	}
	for t := range set.All() {
		fmt.Println(t.Name, t.Type, t.Shape)
	}
	// Output:
	// w F32 [1]
}
