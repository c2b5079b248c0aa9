package cpu

import (
	"context"
	"sync"
	"unsafe"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/dot"
	"quern/kernels/matmul"
	"quern/kernels/offheap"
	"quern/kernels/threads"
)

// leastRepacked is the bytes of a matrix from which a copy pays: smaller ones are read from
// caches.
const leastRepacked = 64 << 10

// repackedChunk is the rows that a worker copies at a time, and repackedPart the bytes that are
// in memory twice before Watch.Copied is called with their rows in the file.
const (
	repackedChunk = 4 * dot.Sixteen
	repackedPart  = 16 << 20
)

// A copied is a matrix whose rows are interleaved.
type copied struct {
	data  []byte
	in    *arena
	users int // Execs
}

// An arena is the memory of the matrices that one Exec was the first to copy. Huge pages cover it, as
// they would not if each matrix had memory of its own: of matrices of 2 to 7 MB they left out two fifths.
type arena struct {
	free     func() error
	matrices int // in use
}

// A matrix is where weights lie in the model's file, and how they are cut into rows: tensors
// may be parts of others. One of several experts is a stack of n.
type matrix struct {
	at         *byte
	n, out, in int
}

func matrixOf(t *weights.Tensor) matrix {
	shape := t.Shape
	m := matrix{at: unsafe.SliceData(t.Data), n: 1}
	if len(shape) == 3 {
		m.n, shape = shape[0], shape[1:]
	}
	m.out, m.in = shape[0], shape[1]
	return m
}

// copies are the matrices that are interleaved. A model's Programs share them.
type copies struct {
	sync.Mutex
	of map[matrix]*copied
}

// repack interleaves the rows of matrices that are multiplied faster so. Where the system has
// no memory for copies, the file's rows serve as well.
func (e *exec) repack(ctx context.Context, w graph.Watch) error {
	if !e.b.repack || e.encodes {
		return nil
	}
	c := &e.b.copies
	c.Lock()
	defer c.Unlock()
	all := map[matrix]*copied{}
	var missing []*weights.Tensor // in the order in which they are read
	size := 0
	for _, s := range e.p.Steps {
		for _, t := range multiplied(s.Op) {
			if t == nil || len(t.Data) < leastRepacked {
				continue
			}
			at := matrixOf(t)
			if all[at] != nil {
				continue
			}
			k := c.of[at]
			if k == nil {
				n := at.copiedBytes(t)
				if n == 0 {
					continue
				}
				k = &copied{}
				missing = append(missing, t)
				size += aligned(n)
			}
			all[at] = k
		}
	}
	if size > 0 {
		data, free, err := offheap.Reserve(size)
		if err != nil {
			for _, t := range missing {
				delete(all, matrixOf(t))
			}
			missing = nil
		}
		a := &arena{free, len(missing)}
		for _, t := range missing {
			at := matrixOf(t)
			k, n := all[at], at.copiedBytes(t)
			k.in, k.data = a, data[:n:n]
			data = data[aligned(n):]
			if err := e.b.interleave(ctx, k.data, t, w); err != nil {
				free()
				return err
			}
		}
	}
	for at, k := range all {
		c.of[at] = k
		k.users++
	}
	e.copied = all
	return nil
}

// multiplied are the matrices of an op, nil among them.
func multiplied(op any) []*weights.Tensor {
	switch o := op.(type) {
	case graph.Linear:
		return []*weights.Tensor{o.Weight}
	case graph.AdaptedLinear:
		return []*weights.Tensor{o.Weight}
	case graph.Experts:
		return []*weights.Tensor{o.Gate, o.Up, o.Down}
	case graph.AdaptedExperts:
		return []*weights.Tensor{o.Gate, o.Up, o.Down}
	}
	return nil
}

// copiedBytes is the bytes of the rows of t that matmul.Interleaves names, of each matrix of a stack,
// 0 where there are none.
func (m matrix) copiedBytes(t *weights.Tensor) int {
	if m.n > 1 && t.Made() {
		return 0 // made weights are not mapped: a copy would double the memory of a mixture
	}
	return m.n * matmul.Interleaves(t.Type, m.out, m.in) * (t.Size() / (m.n * m.out))
}

// interleave writes those rows of t to dst. Watch.Copied is called part by part, so that a
// matrix is not in memory twice.
func (b *Backend) interleave(ctx context.Context, dst []byte, t *weights.Tensor, w graph.Watch) error {
	m := matrixOf(t)
	row := t.Size() / (m.n * m.out)
	rows := len(dst) / (m.n * row)
	part := max(1, repackedPart/(repackedChunk*row)) * repackedChunk // rows
	step := max(m.out*row, t.Step)
	for x := range m.n {
		for from := 0; from < rows; from += part {
			n := min(part, rows-from)
			src := t.Data[x*step+from*row:][:n*row]
			err := b.Do(ctx, func(pool *threads.Pool, _ func()) {
				pool.Run((n+repackedChunk-1)/repackedChunk, &threads.Region{F: func(_, c int) {
					at, end := c*repackedChunk*row, min((c+1)*repackedChunk, n)*row
					dot.Interleave(t.Type, dst[at:end], src[at:end], (end-at)/row, m.in)
				}})
			})
			if err != nil {
				return err
			}
			if w.Copied != nil {
				w.Copied(src)
			}
			dst = dst[n*row:]
		}
	}
	return nil
}

// release frees the copies that no other Exec uses, and an arena with the last of its matrices.
func (e *exec) release() {
	c := &e.b.copies
	c.Lock()
	defer c.Unlock()
	for at, k := range e.copied {
		if k.users--; k.users > 0 {
			continue
		}
		delete(c.of, at)
		if k.in.matrices--; k.in.matrices == 0 {
			k.in.free()
		}
	}
	e.copied = nil
}
