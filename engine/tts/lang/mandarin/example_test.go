package mandarin_test

import (
	"fmt"
	"log"

	"quern/engine/tts/lang/mandarin"
)

func Example() {
	text := []rune("银行行长")
	words, err := mandarin.Read(text, func(int) bool { return false })
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range words {
		fmt.Println(string(text[w.Start:w.End]), w.Said, w.Said[0].Sounds())
	}
	// Output:
	// 银行 [yin2 hang2] i↗n
	// 行长 [hang2 zhang3] xa↗ŋ
}
