package japanese_test

import (
	"context"
	"fmt"

	"quern/engine/tts/lang/japanese"
)

func ExampleRead() {
	text, _ := japanese.Fold([]rune("学校へ行く"))
	words, err := japanese.Read(context.Background(), text, func(int) bool { return false })
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range words {
		fmt.Println(string(text[w.Start:w.End]), w.Kana, japanese.Sounds(w.Kana))
	}
	// Output:
	// 学校 ガッコー ɡaʔkoː
	// へ エ e
	// 行く イク ikɯ
}
