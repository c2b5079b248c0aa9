package graph

import "context"

// A Ranking is the largest logits of a row: the larger first, of equals the lower
// number, NaN before all.
type Ranking struct {
	IDs    []int32
	Logits []float32 // of IDs
}

// A Ranker is an Exec that can tell which logits are the largest, so that a whole
// vocabulary of them need not leave the device for one to be drawn. Result 0 of
// its Program is the logits.
type Ranker interface {
	Exec
	// RunRanked is Run for a caller who needs no more of row i of result 0 than
	// its top[i] largest numbers, or all of it where that is 0. len(top) is
	// len(in.Want).
	//
	// The caller gets either: ranking i has at least top[i] numbers, and row i of
	// the result is not set; or IDs of ranking i is nil and the row is Run's.
	// Rankings, too, are valid until the next run. Rows that have one are not for
	// in.Read.
	RunRanked(ctx context.Context, in *Batch, kv Cache, top []int) ([][]float32, []Ranking, error)
}
