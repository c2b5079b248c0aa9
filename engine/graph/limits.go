package graph

import (
	"errors"
	"fmt"
	"slices"
)

// Limits check batches for a Program before its kernels run: a
// wrong one would read outside the cache or the weights.
type Limits struct {
	p        *Program
	vocab    int  // tokens are below it; 0 when the Program embeds none
	places   int  // positions are below it; 0 when the Program embeds none
	features int  // width of the features or of Given; 0 without either
	memory   int  // tokens cross-attention reads; 0 without it
	dense    bool // every row sees every other: the batch is one sequence

	uses []layerUse // by layer of the cache

	Layers   int  // of the cache the Program wants
	State    int  // float32s of a sequence's states
	Adapters int  // adapters of sequences are numbered from 1 up to it; 0 is none
	Ahead    bool // rows look ahead: a batch has whole sequences
}

// Limits returns the limits of p's batches.
func (p *Program) Limits() Limits {
	l := Limits{p: p}
	for i := range p.Values {
		if name := p.Values[i].Input; name == inFeatures || name == inGiven {
			l.features = p.Values[i].Width()
		}
	}
	below := func(limit *int, n int) {
		if *limit == 0 || n < *limit {
			*limit = n
		}
	}
	layer := func(n int, c CacheLayer, r Reach) {
		if n < 0 {
			return // Check refuses it
		}
		for len(l.uses) <= n {
			l.uses = append(l.uses, layerUse{})
		}
		if u := l.uses[n]; u.KVHeads > 0 && u.Reach != r {
			r = Reach{} // SharedAttention may have another window
		}
		if c.KVHeads > 0 {
			l.uses[n] = layerUse{c, r}
		}
	}
	for _, s := range p.Steps {
		if _, to, ok := StateOf(s.Op); ok {
			l.State = max(l.State, to)
		}
		l.Adapters = max(l.Adapters, adapters(s.Op))
		embed := func(o Embed) {
			if o.Short {
				return
			}
			if p.Values[s.In[0]].Input == inPositions {
				below(&l.places, o.Weight.Shape[0])
			} else {
				below(&l.vocab, o.Weight.Shape[0])
			}
		}
		switch o := s.Op.(type) {
		case Embed:
			embed(o)
		case AdaptedEmbed:
			embed(o.Embed)
		case Attention:
			sees := Reach{o.Window, o.Chunk}
			if o.Bidirectional {
				l.Ahead, sees = true, Reach{} // a bidirectional layer has its whole sequence in the batch
			}
			layer(o.Layer, CacheLayer{KVHeads: o.KVHeads, HeadDim: o.HeadDim}, sees)
		case LatentAttention:
			layer(o.Layer, CacheLayer{KVHeads: 1, HeadDim: o.HeadDim, Latent: o.Values}, Reach{})
		case SharedAttention:
			layer(o.Layer, CacheLayer{KVHeads: o.KVHeads, HeadDim: o.HeadDim}, Reach{o.Window, o.Chunk})
		case Store:
			layer(o.Layer, CacheLayer{}, Reach{})
		case CrossAttention:
			l.memory = max(l.memory, o.Tokens)
			layer(o.Layer, CacheLayer{KVHeads: o.Heads, HeadDim: o.HeadDim}, Reach{})
		case CrossScores:
			l.memory = max(l.memory, o.Tokens)
			layer(o.Layer, CacheLayer{KVHeads: o.Heads, HeadDim: o.HeadDim}, Reach{})
		case DenseAttention:
			l.dense = true
		}
	}
	l.Layers = len(l.uses)
	return l
}

// A layerUse is the shape of a layer's keys and values, and how far back the Program reads them.
type layerUse struct {
	CacheLayer
	Reach
}

// checkLayers checks that a cache has the Program's layers.
func (l *Limits) checkLayers(c *CacheSpec) error {
	if c == nil && l.Layers > 0 || c != nil && len(c.Layers) < l.Layers {
		return fmt.Errorf("graph: a program of %d layers without their cache", l.Layers)
	}
	for i, u := range l.uses {
		got := c.Layers[i]
		if got.Near > 0 && c.Near[got.Near-1].Reach != u.Reach {
			return fmt.Errorf("graph: layer %d sees %v, and its cache keeps %v", i, u.Reach, c.Near[got.Near-1].Reach)
		}
		if u.KVHeads > 0 && (got.KVHeads != u.KVHeads || got.HeadDim != u.HeadDim || got.Latent != u.Latent) {
			return fmt.Errorf("graph: layer %d has %d heads of %d with %d latent values, and its cache %d of %d with %d", i, u.KVHeads, u.HeadDim, u.Latent, got.KVHeads, got.HeadDim, got.Latent)
		}
	}
	return nil
}

// Check returns an error if a batch is wrong for the Program and for a cache by c, which is nil
// where there is none.
func (l *Limits) Check(in *Batch, c *CacheSpec) error {
	rows := in.Rows()
	if rows == 0 || rows > l.p.Rows || len(in.Seq) != rows || len(in.Want) > l.p.Want ||
		len(in.Tokens) != rows && (in.Tokens != nil || l.vocab > 0) {
		return fmt.Errorf("graph: a batch of %d tokens, %d positions, %d sequences, %d wanted; the program takes %d rows, %d wanted",
			len(in.Tokens), rows, len(in.Seq), len(in.Want), l.p.Rows, l.p.Want)
	}
	if len(in.Features) != rows*l.features {
		return fmt.Errorf("graph: %d features for %d rows of %d", len(in.Features), rows, l.features)
	}
	for i, id := range in.Tokens {
		if id < 0 || l.vocab > 0 && int(id) >= l.vocab {
			return fmt.Errorf("graph: row %d is token %d of a vocabulary of %d", i, id, l.vocab)
		}
	}
	for i, pos := range in.Positions {
		if pos < 0 || l.places > 0 && int(pos) >= l.places {
			return fmt.Errorf("graph: row %d is at position %d; the model has %d", i, pos, l.places)
		}
		if l.Ahead && pos > 0 && (i == 0 || in.Seq[i-1] != in.Seq[i] || in.Positions[i-1] != pos-1) {
			return fmt.Errorf("graph: row %d is at position %d of sequence %d without the position before it", i, pos, in.Seq[i])
		}
	}
	if l.dense && (rows != l.p.Rows || in.Seq[0] != in.Seq[rows-1]) {
		return fmt.Errorf("graph: a batch of %d rows from sequence %d to %d; dense attention wants one of %d", rows, in.Seq[0], in.Seq[rows-1], l.p.Rows)
	}
	if err := l.checkWanted(in); err != nil {
		return err
	}
	if l.State > 0 {
		if err := l.checkStates(in, c); err != nil {
			return err
		}
	}
	if err := l.checkAdapters(in); err != nil {
		return err
	}
	if err := l.checkLayers(c); err != nil {
		return err
	}
	if c == nil {
		return nil
	}
	return l.checkBlocks(in, c)
}

// checkStates checks the slots of states, and that no sequence misses a row.
func (l *Limits) checkStates(in *Batch, c *CacheSpec) error {
	if c == nil || c.State < l.State || len(in.States) != len(in.Tables) {
		return fmt.Errorf("graph: %d slots for the states of %d sequences; the program wants %d numbers in each", len(in.States), len(in.Tables), l.State)
	}
	for s, slot := range in.States {
		if slot < 0 || int(slot) >= c.States || slices.Contains(in.States[:s], slot) {
			return fmt.Errorf("graph: sequence %d has slot %d of %d, or shares it", s, slot, c.States)
		}
	}
	for i, pos := range in.Positions {
		switch s := in.Seq[i]; {
		case s < 0 || int(s) >= len(in.States):
			return fmt.Errorf("graph: row %d is of sequence %d of %d", i, s, len(in.States))
		case i > 0 && s == in.Seq[i-1] && pos != in.Positions[i-1]+1, i > 0 && s < in.Seq[i-1]:
			return fmt.Errorf("graph: row %d is at position %d of sequence %d, which does not follow the row before it", i, pos, s)
		}
	}
	return nil
}

// checkWanted checks the wanted rows of a batch.
func (l *Limits) checkWanted(in *Batch) error {
	for i, w := range in.Want {
		if w < 0 || int(w) >= in.Rows() {
			return fmt.Errorf("graph: row %d wanted of %d", w, in.Rows())
		}
		if i > 0 && w <= in.Want[i-1] {
			return fmt.Errorf("graph: row %d wanted after row %d", w, in.Want[i-1])
		}
	}
	switch {
	case in.Take != nil && (len(l.p.Results) == 0 || l.p.Values[l.p.Results[0]].Lead != PerWant):
		return errors.New("graph: rows are to be taken of a program whose first result has none for each wanted row")
	case in.Top != nil && len(in.Top) != len(in.Want):
		return fmt.Errorf("graph: the largest logits of %d rows, of which %d are wanted", len(in.Top), len(in.Want))
	case len(in.Masked) > 0 && (in.Take == nil || in.Allow == nil):
		return fmt.Errorf("graph: masks of %d rows, and no Take or no Allow", len(in.Masked))
	}
	for i, w := range in.Masked {
		if w < 0 || int(w) >= len(in.Want) || i > 0 && w <= in.Masked[i-1] {
			return fmt.Errorf("graph: rows %v of %d wanted have masks", in.Masked, len(in.Want))
		}
	}
	return nil
}

// checkBlocks checks the blocks that keys and values are written to and read from.
func (l *Limits) checkBlocks(in *Batch, c *CacheSpec) error {
	for i, pos := range in.Positions {
		s := in.Seq[i]
		if s < 0 || int(s) >= len(in.Tables) || int(pos)/c.BlockSize >= len(in.Tables[s]) {
			return fmt.Errorf("graph: row %d is at position %d of sequence %d, which has no block there", i, pos, s)
		}
	}
	if err := l.checkNear(in, c); err != nil {
		return err
	}
	if l.memory > 0 && len(in.Memory) != len(in.Tables) {
		return fmt.Errorf("graph: %d memories for %d sequences", len(in.Memory), len(in.Tables))
	}
	for s, m := range in.Memory {
		if len(m)*c.BlockSize < l.memory {
			return fmt.Errorf("graph: sequence %d attends to %d blocks of %d; the program wants %d tokens", s, len(m), c.BlockSize, l.memory)
		}
	}
	for _, tables := range [][][]int32{in.Tables, in.Memory} {
		for _, table := range tables {
			for _, b := range table {
				if b < 0 || int(b) >= c.Blocks {
					return fmt.Errorf("graph: block %d of %d", b, c.Blocks)
				}
			}
		}
	}
	return nil
}

// checkNear checks the blocks of layers with a sliding window.
func (l *Limits) checkNear(in *Batch, c *CacheSpec) error {
	pools := len(c.Near)
	if len(in.Near) == 0 { // Tables names the blocks of every pool
		for _, near := range c.Near {
			for _, table := range in.Tables {
				if len(table) > 0 && int(slices.Max(table)) >= near.Blocks {
					return fmt.Errorf("graph: block %d of %d", slices.Max(table), near.Blocks)
				}
			}
		}
		return nil
	}
	if len(in.Near) != pools*len(in.Tables) {
		return fmt.Errorf("graph: %d tables beside those of %d sequences; the cache has %d more pools", len(in.Near), len(in.Tables), pools)
	}
	for i, table := range in.Near {
		for _, b := range table {
			if b < -1 || int(b) >= c.Near[i%pools].Blocks {
				return fmt.Errorf("graph: block %d of %d", b, c.Near[i%pools].Blocks)
			}
		}
	}
	for i, pos := range in.Positions {
		for p, near := range c.Near {
			table := in.Table(in.Seq[i], p+1)
			from, to := near.First(int(pos))/c.BlockSize, int(pos)/c.BlockSize
			if i > 0 && in.Seq[i-1] == in.Seq[i] && in.Positions[i-1] < pos {
				from = max(from, int(in.Positions[i-1])/c.BlockSize) // earlier blocks were checked with the row before
			}
			if to >= len(table) || slices.Contains(table[from:to+1], -1) {
				return fmt.Errorf("graph: row %d is at position %d of sequence %d, which does not hold what it sees in %v", i, pos, in.Seq[i], near.Reach)
			}
		}
	}
	return nil
}
