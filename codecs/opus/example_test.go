package opus_test

import (
	"fmt"
	"log"

	"quern/codecs/opus"
)

// A frame of 20 ms goes into a packet and comes back.
func Example() {
	enc, err := opus.NewEncoder(1, 32000, opus.VoIP)
	if err != nil {
		log.Fatal(err)
	}
	packet, err := enc.Encode(nil, make([]float32, 960))
	if err != nil {
		log.Fatal(err)
	}
	head := opus.Head{Channels: 1, PreSkip: enc.Lookahead(), InputRate: 48000, Streams: 1}
	dec, err := opus.NewDecoder(head.Append(nil))
	if err != nil {
		log.Fatal(err)
	}
	frame, err := dec.Decode(nil, packet)
	fmt.Println(dec.Rate(), len(frame), err)
	// Output:
	// 48000 960 <nil>
}
