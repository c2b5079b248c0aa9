package model_test

import (
	"fmt"
	"log"

	"quern/engine/builtin"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats/gguf"
)

func ExampleOpen() {
	set, err := gguf.Parse(builtin.GGUF())
	if err != nil {
		log.Fatal(err)
	}
	m, err := model.Open(set)
	if err != nil {
		log.Fatal(err)
	}
	c := m.Config()
	fmt.Println(c.Arch, c.Layers, "layers of", c.Hidden)
	b := graph.NewBuilder(16, 1)
	p, err := b.Compile(m.Logits(b, m.Hidden(b)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(p.Results), "result of", c.Vocab, "logits")
	// Output:
	// llama 4 layers of 256
	// 1 result of 3072 logits
}
