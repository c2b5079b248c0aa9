package graphone_test

import (
	"fmt"
	"slices"

	"quern/engine/tts/g2p/graphone"
)

// A model of few words already knows how their parts sound.
func ExampleTrain() {
	pairs := []graphone.Pair{
		{Word: "bat", Phones: "bæt"}, {Word: "cat", Phones: "kæt"}, {Word: "hat", Phones: "hæt"},
		{Word: "ban", Phones: "bæn"}, {Word: "can", Phones: "kæn"},
	}
	m := graphone.Train(slices.Repeat(pairs, 4)) // what is rare is left out
	phones, ok := m.Decode("han")
	fmt.Println(phones, ok)
	// Output:
	// hæn true
}
