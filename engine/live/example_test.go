package live_test

import (
	"context"
	"fmt"
	"log"

	"quern/engine/live"
)

// What two hypotheses agree on is given out while the speaker goes on.
func Example() {
	var x sound
	x.say(0, 4, 0.4, 0.1)
	feed := live.NewFeed(0)
	if err := feed.Write(context.Background(), x); err != nil {
		log.Fatal(err)
	}
	feed.Close(nil)
	for u, err := range live.Transcribe(context.Background(), &fake{each: 0.4}, feed, live.Options{Detector: loud{}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(u.Text, u.Final)
	}
	// Output:
	// w0 w1 w2 w3 true
}
