package budget_test

import (
	"context"
	"fmt"
	"log"

	"quern/engine/budget"
)

func Example() {
	b := &budget.Budget{Total: 100}
	share, err := b.Take(context.Background(), 60)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.Used())
	share.Release() // a waiting request goes on
	fmt.Println(b.Used())
	// Output:
	// 60
	// 0
}
