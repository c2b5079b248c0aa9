package wire_test

import (
	"fmt"

	"quern/engine/wire"
)

// A reply of Qwen 3, whose prompt has opened thinking.
func ExampleReader() {
	format, _ := wire.Find("hermes-json")
	special := func(s string) bool { return s == "</think>" }
	reader := wire.NewSyntax(format, special).NewReader(wire.Options{
		Prompt: "<|im_start|>assistant\n<think>\n",
		Random: func() uint64 { return 7 },
	})
	show := func(events []wire.Event) {
		for _, e := range events {
			fmt.Printf("%d %q %q\n", e.Kind, e.Text, e.Name+e.ID)
		}
	}
	show(reader.Write([]byte("The weather is asked for.")))
	show(reader.Special("</think>"))
	show(reader.Write([]byte("\n\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"ci")))
	show(reader.Write([]byte("ty\": \"Oslo\"}}\n</tool_call>")))
	show(reader.Close())
	// Output:
	// 0 "The weather is asked for." ""
	// 2 "" "get_weathercall_7777777777777777"
	// 3 "{\"ci" ""
	// 3 "ty\": \"Oslo\"}" ""
	// 4 "" ""
}

// A call, as Gemma 4 writes it.
func ExampleFormat_Write() {
	format, _ := wire.Find("gemma4")
	text, err := format.Write([]wire.Call{{Name: "get_weather", Arguments: `{"city": "Oslo", "days": 3}`}})
	fmt.Println(text, err)
	// Output:
	// <|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:3}<tool_call|> <nil>
}
