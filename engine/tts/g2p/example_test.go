package g2p_test

import (
	"fmt"
	"log"

	"quern/engine/tts/g2p"
)

func Example() {
	g, err := g2p.New(g2p.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range g.Phonemize("Dr. Smith paid $5.", g2p.US) {
		fmt.Println(t.Text, t.Phonemes)
	}
	// Output:
	// Doctor dˈɑktəɹ
	// Smith smˈɪθ
	// paid pˈAd
	// five fˈIv
	// dollars dˈɑləɹz
	// . .
}
