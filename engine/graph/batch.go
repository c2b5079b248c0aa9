package graph

// A Batch is the input of one step: one row per token, from one or more
// sequences. Rows of one sequence are consecutive and in ascending position.
type Batch struct {
	Tokens    []int32   // (rows)
	Positions []int32   // (rows) place of the token in its sequence, from 0
	Seq       []int32   // (rows) index into Tables
	Tables    [][]int32 // (seqs) KV block numbers, enough for the last position
	Want      []int32   // rows whose results are read, ascending

	// Near, where the cache has pools beside the first, is (seqs, pools) tables of those, as
	// Tables has of the first; -1 is a block that no row sees any more. Empty where
	// one table serves all pools.
	Near [][]int32

	// Take passes a step's logits to the sampler. Where it is set,
	// result 0 of the Program is the logits of the wanted rows, and Run calls Take
	// once for each index into Want before it returns, several calls at a time from
	// any of its threads. Take may change the row, which is valid until the next
	// Run. It does not panic.
	Take func(want int, r Row)
	// Top is how many of each wanted row's largest logits Take needs, 0: all. A row has at
	// least as many, or all. With few, the logits of the whole vocabulary need not be copied
	// from the device to draw one token. nil: all of every row.
	Top []int
	// Masked are indices into Want, ascending, of rows that have a mask: Allow returns
	// the tokens that are allowed there. An Exec that passes the largest logits of such a row
	// passes the largest allowed ones, and any that are barred as -Inf; it calls Allow while
	// the step is under way, once a row and before Take, from one goroutine at a time.
	// An Exec that passes all logits need not call it.
	Masked []int32
	// Allow returns a mask: bit id%32 of word id/32, tokens past its end are barred, valid until
	// Take is called with the row; or nil: all are allowed, since no token will be drawn. It may
	// block until the mask is made. It does not panic.
	Allow func(want int) []uint32

	// Of Programs with ops that carry states: (seqs) the slot of each.
	States []int32

	// Of Programs with adapters: (seqs) the adapter of each, 0 for none; empty is none of all.
	Adapters []int32

	// Of encoders, and of Programs with Given: (rows, width). An encoder's Tokens
	// may be nil.
	Features []float32
	// Of decoders with cross-attention: (seqs) KV blocks of the encoder's
	// keys and values.
	Memory [][]int32
}

// Rows returns the number of rows.
func (b *Batch) Rows() int { return len(b.Positions) }

// Reset empties b for another step. Take and Allow stay.
func (b *Batch) Reset() {
	*b = Batch{
		Features: b.Features[:0], Tokens: b.Tokens[:0], Positions: b.Positions[:0], Seq: b.Seq[:0],
		Tables: b.Tables[:0], Near: b.Near[:0], States: b.States[:0], Adapters: b.Adapters[:0], Memory: b.Memory[:0], Want: b.Want[:0], Top: b.Top[:0], Take: b.Take,
		Masked: b.Masked[:0], Allow: b.Allow,
	}
}

// Sequence begins a sequence with its blocks; the rows that follow are its.
// memory is nil in Programs without cross-attention.
func (b *Batch) Sequence(table, memory []int32) {
	b.Tables = append(b.Tables, table)
	if memory != nil {
		b.Memory = append(b.Memory, memory)
	}
}

// NearTable sets the last sequence's blocks in the next of the pools beside the first.
func (b *Batch) NearTable(table []int32) { b.Near = append(b.Near, table) }

// Table is sequence seq's blocks in a pool, numbered as in CacheLayer.Near.
func (b *Batch) Table(seq int32, near int) []int32 {
	if near == 0 || len(b.Near) == 0 {
		return b.Tables[seq]
	}
	return b.Near[int(seq)*(len(b.Near)/len(b.Tables))+near-1]
}

// State sets the last sequence's slot of states.
func (b *Batch) State(slot int32) { b.States = append(b.States, slot) }

// Adapter sets the last sequence's adapter.
func (b *Batch) Adapter(n int32) { b.Adapters = append(b.Adapters, n) }

// Row adds a row of the last sequence.
func (b *Batch) Row(token, position int32) {
	b.Tokens, b.Positions, b.Seq = append(b.Tokens, token), append(b.Positions, position), append(b.Seq, int32(len(b.Tables)-1))
}

// WantRow makes the last row a wanted one; top is its entry of Top.
func (b *Batch) WantRow(top int) {
	b.Want, b.Top = append(b.Want, int32(len(b.Positions)-1)), append(b.Top, top)
}

// MaskRow says that the last wanted row has a mask.
func (b *Batch) MaskRow() { b.Masked = append(b.Masked, int32(len(b.Want)-1)) }
