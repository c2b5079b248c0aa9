package jobs_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"quern/httpapi/batch"
	"quern/httpapi/jobs"
)

func Example() {
	dir, err := os.MkdirTemp("", "jobs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	j, err := jobs.New(jobs.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer j.Close()
	ctx := context.Background()
	const line = `{"custom_id":"1","method":"POST","url":"/v1/embeddings","body":{"input":"a"}}`
	f, err := j.PutFile(ctx, "key", batch.File{Filename: "in.jsonl", Purpose: batch.ForBatch}, strings.NewReader(line))
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := j.Start(ctx, "key", batch.Request{InputFileID: f.ID, Endpoint: "/v1/embeddings", Within: time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}

	// One line is run, and that ends the work.
	ctx, stop := context.WithCancel(ctx)
	j.Work(ctx, func(_ context.Context, owner string, l batch.Line, _ jobs.OpenFile) batch.Answer {
		defer stop()
		return batch.Answer{Status: 200, RequestID: "r", JSON: true, Body: []byte(`{"from":"` + owner + `"}`)}
	})
	_, content, err := j.OpenFile(context.Background(), "key", f.ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer content.Close()
	text, err := io.ReadAll(content)
	fmt.Println(b.Status, len(text), err)
	// Output:
	// validating 77 <nil>
}
