package sched_test

import (
	"context"
	"fmt"
	"log"

	"quern/engine/graph"
	"quern/engine/sched"
	"quern/engine/token"
)

// counting is a model whose next token is always the last one plus one.
type counting struct{}

func (counting) Run(_ context.Context, in *graph.Batch, _ graph.Cache) ([][]float32, error) {
	for i, row := range in.Want {
		logits := make([]float32, 10)
		logits[(in.Tokens[row]+1)%10] = 1
		in.Take(i, graph.Row{Logits: logits})
	}
	return [][]float32{nil}, nil
}

func (counting) Close() error { return nil }

// noCache is the cache of a model without attention.
type noCache struct{}

func (noCache) Copy(int, int32, int32) {}
func (noCache) CopyState(int32, int32) {}
func (noCache) Bytes() int64           { return 0 }
func (noCache) Close() error           { return nil }

func Example() {
	s, err := sched.New(sched.Options{Exec: counting{}, Cache: noCache{}, Blocks: 8, BlockSize: 4, Budget: 16, Slots: 2})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()

	reply, err := s.Submit(ctx, sched.Request{Prompt: []token.ID{1, 2, 3}, EOG: []token.ID{7}})
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range reply.Events() {
		switch {
		case err != nil:
			log.Fatal(err)
		case e.Type == sched.Token:
			fmt.Println(e.Token.ID)
		case e.Type == sched.Finish:
			fmt.Println(e.Reason, e.Tokens)
		}
	}
	stop()
	<-ended
	// Output:
	// 4
	// 5
	// 6
	// stop 3
}
