package sched

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"quern/engine/graph"
	"quern/engine/kv/disk"
	"quern/engine/token"
	"quern/kernels/quant"
)

// A fakeCache keeps, for every slot of every block, the token and the position
// that were written there, where a real one keeps keys and values.
type fakeCache struct {
	size   int
	tokens []int32
	places []int32
	states []fakeState // by slot
	near   []*fakeCache
}

// A fakeState is the hash of a sequence's tokens up to a place.
type fakeState struct {
	hash uint64
	at   int32 // tokens in it
}

func newFakeCache(blocks, size int) *fakeCache {
	return &fakeCache{size: size, tokens: make([]int32, blocks*size), places: slices.Repeat([]int32{-1}, blocks*size)}
}

func (c *fakeCache) Copy(near int, dst, src int32) {
	if near > 0 {
		c.near[near-1].Copy(0, dst, src)
		return
	}
	n := c.size
	copy(c.tokens[int(dst)*n:][:n], c.tokens[int(src)*n:][:n])
	copy(c.places[int(dst)*n:][:n], c.places[int(src)*n:][:n])
}

func (c *fakeCache) CopyState(dst, src int32) { c.states[dst] = c.states[src] }

// Portable: a token of a block and its place are eight bytes, a state sixteen.
func (c *fakeCache) Numerics() string { return "fake" }

func (c *fakeCache) Read(dst []byte, near int, b int32) error {
	if near > 0 {
		return c.near[near-1].Read(dst, 0, b)
	}
	for i, lists := range [][]int32{c.tokens, c.places} {
		for k, v := range lists[int(b)*c.size:][:c.size] {
			binary.LittleEndian.PutUint32(dst[4*(i*c.size+k):], uint32(v))
		}
	}
	return nil
}

func (c *fakeCache) Write(near int, b int32, src []byte) error {
	if near > 0 {
		return c.near[near-1].Write(0, b, src)
	}
	for i, lists := range [][]int32{c.tokens, c.places} {
		for k := range c.size {
			lists[int(b)*c.size+k] = int32(binary.LittleEndian.Uint32(src[4*(i*c.size+k):]))
		}
	}
	return nil
}

func (c *fakeCache) ReadState(dst []byte, slot int32) error {
	binary.LittleEndian.PutUint64(dst, c.states[slot].hash)
	binary.LittleEndian.PutUint64(dst[8:], uint64(c.states[slot].at))
	return nil
}

func (c *fakeCache) WriteState(slot int32, src []byte) error {
	c.states[slot] = fakeState{binary.LittleEndian.Uint64(src), int32(binary.LittleEndian.Uint64(src[8:]))}
	return nil
}

// addDisk gives o a disk for the cache of a fake.
func addDisk(o *Options, s *disk.Store) {
	spec := &graph.CacheSpec{Blocks: o.Blocks, BlockSize: o.BlockSize, Type: quant.F32, Near: o.Near, State: 4, Layers: graph.Alike(1+len(o.Near), 1, 1)}
	for i := range spec.Layers {
		spec.Layers[i].Near = i
	}
	o.Disk = &Disk{Store: s, Spec: spec}
	for a := range 1 + o.Adapters {
		o.Disk.Roots = append(o.Disk.Roots, disk.Root("fake", fmt.Sprint(a, o.BlockSize, o.Near, o.States)))
	}
}

func (c *fakeCache) Bytes() int64 { return 0 }
func (c *fakeCache) Close() error { return nil }

// fakeVocab is small, so that stop tokens come up.
const fakeVocab = 31

// A fakeExec is a model whose logits are a hash of all tokens so far. It reads
// them from the cache through the block tables, so whatever goes wrong with
// tables, copies, eviction or reuse changes what is drawn.
type fakeExec struct {
	o      *Options
	cache  *fakeCache
	logits []float32
	fail   func(in *graph.Batch) error     // may panic; nil: all is well
	until  func(ctx context.Context) error // ends a step early
	steps  int
	took   func(rows int) // nil: nothing

	together int  // of three wanted rows, how many are taken by goroutines of their own
	most     int  // that it ranks, as a device does
	ranked   int  // rows
	whole    int  // rows asked for whole
	masked   int  // rows ranked by what their masks allow
	flat     bool // all logits are the same
	kept     int  // of the last rows of a step, how many it forgets to give
}

func (e *fakeExec) Close() error { return nil }

func (e *fakeExec) Run(ctx context.Context, in *graph.Batch, kv graph.Cache) ([][]float32, error) {
	if err := e.compute(in, kv); err != nil {
		return nil, err
	}
	if e.until != nil {
		if err := e.until(ctx); err != nil {
			return nil, err
		}
	}
	var wg sync.WaitGroup
	for i := range len(in.Want) - e.kept {
		row := e.row(in, i)
		if (i+e.steps)%3 < e.together {
			wg.Go(func() { in.Take(i, row) })
		} else {
			in.Take(i, row)
		}
	}
	wg.Wait()
	return [][]float32{nil}, nil
}

// row gives a wanted row, or as many of its logits as are enough.
func (e *fakeExec) row(in *graph.Batch, i int) graph.Row {
	n := in.Top[i]
	logits := e.logits[i*fakeVocab : (i+1)*fakeVocab]
	if n == 0 {
		e.whole++
	}
	if n == 0 || n > e.most || n >= fakeVocab {
		return graph.Row{Logits: logits}
	}
	e.ranked++
	if slices.Contains(in.Masked, int32(i)) {
		logits = slices.Clone(logits)
		if words := in.Allow(i); words != nil {
			e.masked++
			for id := range logits {
				if words[id/32]>>(id%32)&1 == 0 {
					logits[id] = float32(math.Inf(-1))
				}
			}
		}
	}
	r := graph.Row{IDs: make([]int32, fakeVocab)}
	for k := range r.IDs {
		r.IDs[k] = int32(k)
	}
	slices.SortFunc(r.IDs, func(a, b int32) int { return cmp.Or(cmp.Compare(logits[b], logits[a]), cmp.Compare(a, b)) })
	r.IDs = r.IDs[:min(n+i%3, fakeVocab)]
	for _, id := range r.IDs {
		r.Logits = append(r.Logits, logits[id])
	}
	return r
}

func (e *fakeExec) compute(in *graph.Batch, kv graph.Cache) error {
	if err := e.check(in); err != nil {
		panic(err) // the run is then not what was asked for, and tests notice
	}
	c := kv.(*fakeCache)
	for i, tok := range in.Tokens {
		tok = adapted(tok, in.Adapters, in.Seq[i])
		for p, c := range append([]*fakeCache{c}, c.near...) {
			at := slot(c, in, i, p, in.Positions[i])
			c.tokens[at], c.places[at] = tok, in.Positions[i]
		}
	}
	if err := e.look(in, c); err != nil {
		return err
	}
	e.steps++
	if e.took != nil {
		e.took(len(in.Tokens))
	}
	if e.fail != nil {
		if err := e.fail(in); err != nil {
			return err
		}
	}
	e.logits = e.logits[:0]
	if e.o.States {
		return e.scan(in, c)
	}
	for _, r := range in.Want {
		if e.flat {
			e.logits = append(e.logits, make([]float32, fakeVocab)...)
			continue
		}
		h := uint64(1)
		for p := int32(0); p <= in.Positions[r]; p++ {
			at := slot(c, in, int(r), 0, p)
			if c.places[at] != p {
				return fmt.Errorf("position %d reads what position %d wrote", p, c.places[at])
			}
			h = step(h, c.tokens[at])
		}
		e.logits = appendLogits(e.logits, h)
	}
	return nil
}

// look checks that all that rows see in the near pools is what the sequence has there.
func (e *fakeExec) look(in *graph.Batch, c *fakeCache) error {
	for i, pos := range in.Positions {
		for p, near := range c.near {
			for at := int32(e.o.Near[p].First(int(pos))); at <= pos; at++ {
				got, want := slot(near, in, i, p+1, at), slot(c, in, i, 0, at)
				if near.places[got] != at || near.tokens[got] != c.tokens[want] {
					panic(fmt.Sprintf("position %d sees token %d of %d at %d in pool %d, want %d", pos, near.tokens[got], near.places[got], at, p+1, c.tokens[want]))
				}
			}
		}
	}
	return nil
}

// scan is compute for a model that has a state instead of reading its cache.
func (e *fakeExec) scan(in *graph.Batch, c *fakeCache) error {
	if len(in.States) != len(in.Tables) {
		return fmt.Errorf("%d slots for %d sequences", len(in.States), len(in.Tables))
	}
	for i, tok := range in.Tokens {
		s := &c.states[in.States[in.Seq[i]]]
		if in.Positions[i] == 0 {
			*s = fakeState{hash: 1}
		}
		if s.at != in.Positions[i] {
			return fmt.Errorf("position %d goes on from a state of %d tokens", in.Positions[i], s.at)
		}
		s.hash, s.at = step(s.hash, adapted(tok, in.Adapters, in.Seq[i])), s.at+1
		if slices.Contains(in.Want, int32(i)) {
			e.logits = appendLogits(e.logits, s.hash)
		}
	}
	return nil
}

func slot(c *fakeCache, in *graph.Batch, row, near int, position int32) int {
	table := in.Table(in.Seq[row], near)
	return int(table[int(position)/c.size])*c.size + int(position)%c.size
}

// check checks what graph.Batch promises.
func (e *fakeExec) check(in *graph.Batch) error {
	n := len(in.Tokens)
	switch {
	case n == 0 || n > e.o.Budget || len(in.Want) > e.o.MaxWant:
		return fmt.Errorf("%d rows of %d, %d wanted of %d", n, e.o.Budget, len(in.Want), e.o.MaxWant)
	case len(in.Positions) != n || len(in.Seq) != n:
		return fmt.Errorf("%d tokens, %d positions, %d sequences", n, len(in.Positions), len(in.Seq))
	case !slices.IsSorted(in.Want):
		return fmt.Errorf("wanted rows %v", in.Want)
	}
	for i := range n {
		q := in.Seq[i]
		if i == 0 && q != 0 || i > 0 && q != in.Seq[i-1] && q != in.Seq[i-1]+1 {
			return fmt.Errorf("sequences %v", in.Seq)
		}
		if i > 0 && q == in.Seq[i-1] && in.Positions[i] != in.Positions[i-1]+1 {
			return fmt.Errorf("positions %v of sequences %v", in.Positions, in.Seq)
		}
		if int(in.Positions[i])/e.cache.size >= len(in.Tables[q]) {
			return fmt.Errorf("position %d in a table of %d", in.Positions[i], len(in.Tables[q]))
		}
	}
	if e.o.Adapters > 0 && (len(in.Adapters) != len(in.Tables) || !slices.IsSorted(in.Adapters)) {
		return fmt.Errorf("adapters %v of %d sequences", in.Adapters, len(in.Tables))
	}
	if int(in.Seq[n-1]) != len(in.Tables)-1 || len(in.Tables) > e.o.Slots {
		return fmt.Errorf("%d tables, last sequence %d, %d slots", len(in.Tables), in.Seq[n-1], e.o.Slots)
	}
	return nil
}

func step(h uint64, tok int32) uint64 {
	h = (h ^ uint64(uint32(tok)+1)) * 0x9e3779b97f4a7c15
	return h ^ h>>31
}

func appendLogits(dst []float32, h uint64) []float32 {
	for range fakeVocab {
		h = step(h, 7)
		dst = append(dst, float32(h>>40)/(1<<21)-4) // 24 bits: -4 to 4
	}
	return dst
}

// adapted is a token as the adapter of its sequence has it: nothing it makes is another's.
func adapted(tok int32, adapters []int32, seq int32) int32 {
	if len(adapters) == 0 {
		return tok
	}
	return tok + adaptedBy*adapters[seq]
}

const adaptedBy = 1000

func logitsAfter(adapter int32, tokens []token.ID) []float32 {
	h := uint64(1)
	for _, t := range tokens {
		h = step(h, t+adaptedBy*adapter)
	}
	return appendLogits(nil, h)
}

// An alphabet is a Mask that allows tokens of one residue, the next one after
// each token, and after a while nothing but the end-of-generation token 0.
//
// With sure, of every 16 tokens the last 10 are certain, and another is allowed only as
// one spelled otherwise would be.
type alphabet struct {
	n, left int
	sure    bool
	last    token.ID
	words   [(fakeVocab + 31) / 32]uint32
}

// certain is the token that must come next, or none.
func (a *alphabet) certain() token.ID {
	if !a.sure || a.left <= 0 || a.n%16 < 6 {
		return token.None
	}
	return token.ID(1 + a.n*7%(fakeVocab-1))
}

func (a *alphabet) Forced(dst, before []token.ID) []token.ID {
	if a.last != 0 && before[len(before)-1] != a.last {
		panic("not what was accepted last")
	}
	b := *a
	for id := b.certain(); id != token.None; id = b.certain() {
		dst = append(dst, id)
		b.n++
		b.left--
	}
	return dst
}

func (a *alphabet) Bits() ([]uint32, error) {
	clear(a.words[:])
	for id := range fakeVocab {
		if a.Allows(token.ID(id)) {
			a.words[id/32] |= 1 << (id % 32)
		}
	}
	return a.words[:], nil
}

func (a *alphabet) Allows(id token.ID) bool {
	if a.left <= 0 {
		return id == 0
	}
	if c := a.certain(); c != token.None {
		return id == c || id == c%(fakeVocab-1)+1
	}
	return int(id)%3 == a.n%3
}

func (a *alphabet) Accept(id token.ID) error {
	if !a.Allows(id) {
		return fmt.Errorf("token %d after %d", id, a.n)
	}
	a.n++
	a.left--
	a.last = id
	return nil
}

func (a *alphabet) MayEnd() bool { return a.left <= 0 }
func (a *alphabet) Ended() bool  { return a.left == 0 }

// newFake returns a Scheduler with a fake model.
func newFake(t testing.TB, o Options) (*Scheduler, *fakeExec) {
	t.Helper()
	c := newFakeCache(o.Blocks, o.BlockSize)
	for _, n := range o.Near {
		c.near = append(c.near, newFakeCache(n.Blocks, o.BlockSize))
	}
	e := &fakeExec{cache: c}
	o.Cache, o.Exec = c, e
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	e.o = &s.o
	c.states = make([]fakeState, s.o.Slots+s.o.Snapshots+s.o.Spares)
	return s, e
}
