package draft_test

import (
	"context"
	"fmt"

	"quern/engine/draft"
	"quern/engine/sched"
)

func ExampleLookup() {
	l := draft.NewLookup(1, 100)
	text := sched.Text{Tokens: ids("the quick brown fox and the quick"), Prompt: 24}
	n, rank := l.Offer(0, text, 6)
	asks := []sched.Ask{{Text: text, N: n}}
	if err := l.Draft(context.Background(), asks); err != nil {
		panic(err)
	}
	fmt.Printf("%q, rank %d\n", string(asks[0].Draft), rank)
	// Output:
	// " brown", rank 3
}
