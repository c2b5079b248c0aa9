package ssml_test

import (
	"fmt"

	"quern/engine/tts/ssml"
)

func Example() {
	d, err := ssml.Parse(`<speak>Tom &amp; Sue <break time="1s"/></speak>`, "en-us")
	fmt.Printf("%q %v %v\n", d.Text, d.Marks[0].Pause, err)
	_, err = ssml.Parse(`<speak><audio src="bell.mp3"/></speak>`, "en-us")
	fmt.Println(err)
	// Output:
	// "Tom & Sue \n" 1s <nil>
	// SSML, line 1, column 8: <audio> is not supported; there are speak, p, s, break, say-as, phoneme, sub, emphasis and prosody
}
