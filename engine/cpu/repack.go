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
// in memory twice before their rows in the file are told of.
const (
	repackedChunk = 4 * dot.Sixteen
	repackedPart  = 16 << 20
)

// A copied is a matrix whose rows are interleaved, in memory of its own.
type copied struct {
	data  []byte
	free  func() error
	users int // Execs
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
// no memory for a copy, the file's rows serve as well.
func (e *exec) repack(ctx context.Context, w graph.Watch) error {
	if !e.b.repack || e.encodes {
		return nil
	}
	e.copied = map[matrix]*copied{}
	c := &e.b.copies
	c.Lock()
	defer c.Unlock()
	for _, s := range e.p.Steps {
		for _, t := range multiplied(s.Op) {
			if t == nil || len(t.Data) < leastRepacked {
				continue
			}
			at := matrixOf(t)
			if e.copied[at] != nil {
				continue
			}
			k := c.of[at]
			if k == nil {
				var err error
				if k, err = e.b.interleaved(ctx, t, w); err != nil {
					return err
				}
				if k == nil {
					continue
				}
				c.of[at] = k
			}
			k.users++
			e.copied[at] = k
		}
	}
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

// interleaved copies the rows of t that matmul.Interleaves names, of each matrix of a stack,
// nil where there are none. What was copied is told of part by part, so that a matrix is in
// memory once and not twice.
func (b *Backend) interleaved(ctx context.Context, t *weights.Tensor, w graph.Watch) (*copied, error) {
	m := matrixOf(t)
	rows := matmul.Interleaves(t.Type, m.out, m.in)
	if rows == 0 || m.n > 1 && t.Made() {
		return nil, nil // what was made is the process's own memory, which a mixture has twice then
	}
	row := t.Size() / (m.n * m.out)
	data, free, err := offheap.Reserve(m.n * rows * row)
	if err != nil {
		return nil, nil
	}
	part := max(1, repackedPart/(repackedChunk*row)) * repackedChunk // rows
	dst, step := data, max(m.out*row, t.Step)
	for x := range m.n {
		for from := 0; from < rows; from += part {
			n := min(part, rows-from)
			src := t.Data[x*step+from*row:][:n*row]
			err = b.Do(ctx, func(pool *threads.Pool, _ func()) {
				pool.Run((n+repackedChunk-1)/repackedChunk, &threads.Region{F: func(_, c int) {
					at, end := c*repackedChunk*row, min((c+1)*repackedChunk, n)*row
					dot.Interleave(t.Type, dst[at:end], src[at:end], (end-at)/row, m.in)
				}})
			})
			if err != nil {
				free()
				return nil, err
			}
			if w.Copied != nil {
				w.Copied(src)
			}
			dst = dst[n*row:]
		}
	}
	return &copied{data: data, free: free}, nil
}

// release gives back the copies that the Exec used.
func (e *exec) release() {
	c := &e.b.copies
	c.Lock()
	defer c.Unlock()
	for at, k := range e.copied {
		if k.users--; k.users == 0 {
			delete(c.of, at)
			k.free()
		}
	}
	e.copied = nil
}
