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

// repackedChunk is the rows that a worker copies at a time.
const repackedChunk = 4 * dot.Sixteen

// A copied is a matrix whose rows are interleaved, in memory of its own.
type copied struct {
	data  []byte
	free  func() error
	users int // Execs
}

// A matrix is where weights lie in the model's file, and how they are cut into rows: tensors
// may be parts of others.
type matrix struct {
	at      *byte
	out, in int
}

func matrixOf(t *weights.Tensor) matrix {
	return matrix{unsafe.SliceData(t.Data), t.Shape[0], t.Shape[1]}
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
		l, ok := s.Op.(graph.Linear)
		if !ok || len(l.Weight.Data) < leastRepacked {
			continue
		}
		at := matrixOf(l.Weight)
		if e.copied[at] != nil {
			continue
		}
		k := c.of[at]
		if k == nil {
			var err error
			if k, err = e.b.interleaved(ctx, l.Weight, w); err != nil {
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
	return nil
}

// interleaved copies the rows of t that matmul.Interleaves names, nil where there are none.
func (b *Backend) interleaved(ctx context.Context, t *weights.Tensor, w graph.Watch) (*copied, error) {
	out, in := t.Shape[0], t.Shape[1]
	rows := matmul.Interleaves(t.Type, out, in)
	if rows == 0 {
		return nil, nil
	}
	row := len(t.Data) / out
	data, free, err := offheap.Reserve(rows * row)
	if err != nil {
		return nil, nil
	}
	err = b.Do(ctx, func(pool *threads.Pool, _ func()) {
		pool.Run((rows+repackedChunk-1)/repackedChunk, &threads.Region{F: func(_, c int) {
			from := c * repackedChunk
			n := min(repackedChunk, rows-from)
			dot.Interleave(t.Type, data[from*row:(from+n)*row], t.Data[from*row:(from+n)*row], n, in)
		}})
	})
	if err != nil {
		free()
		return nil, err
	}
	if w.Copied != nil {
		w.Copied(t.Data[:rows*row])
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
