package batch_test

import (
	"fmt"
	"strings"

	"quern/httpapi/batch"
)

func ExampleCheckLines() {
	const file = `{"custom_id":"1","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"a"}}
{"custom_id":"1","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"b"}}
`
	c, err := batch.CheckLines(strings.NewReader(file), "/v1/embeddings", 1<<20)
	fmt.Println(c.Lines, c.Model, err)
	for _, e := range c.Errors {
		fmt.Println(*e.Line, e.Code)
	}
	// Output:
	// 2 m <nil>
	// 2 duplicate_custom_id
}
