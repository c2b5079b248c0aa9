package graph

import (
	"context"
	"errors"
	"io"

	"quern/kernels/threads"
)

// A Backend runs Programs on one device, and other work on the processor. It is safe
// for concurrent use. Package graphtest tests that a Backend does what is said here.
type Backend interface {
	// Compile prepares p, and returns ctx's error when ctx ends before. Weights
	// are placed once, by identity, however many Programs use them. w has the
	// callbacks of the Exec.
	Compile(ctx context.Context, p *Program, w Watch) (Exec, error)
	// NewCache reserves a KV cache. Its memory is counted at once.
	NewCache(CacheSpec) (Cache, error)
	// Do calls f with the processor's workers when no other caller uses them, unless ctx
	// has ended. f calls yield between its steps, which lets callers run that have
	// waited long enough.
	Do(ctx context.Context, f func(pool *threads.Pool, yield func())) error
	// Memory is how many bytes models may take where no setting says so: the free memory of
	// the device, and of the machine's where that runs a part of each model.
	Memory() int64
	// ReadBandwidth measures how many bytes of data the device reads in a second: the
	// ceiling of decoding where data is a model's weights. 0 is not known.
	ReadBandwidth(data [][]byte) float64
	io.Closer
}

// A Watch has callbacks of an Exec. Fields may be nil.
type Watch struct {
	// Placed is called during Compile with how many bytes of weights have been copied to
	// the device. It is not called where weights are not copied.
	Placed func(done, total int64)
	// Copied is called during Compile with weights of which the Exec has made a copy in an order
	// of its own: it does not read data, a part of a tensor's Data, any more.
	Copied func(data []byte)
	// Lost is called before Run returns an error that wraps ErrLost.
	Lost func(error)
}

// ErrLost is wrapped by errors of Execs and Caches whose device has failed: they can only be
// closed, and the model has to be loaded again.
var ErrLost = errors.New("lost with the device's memory")

// An Exec is a Program ready to run. It is not safe for concurrent use.
type Exec interface {
	// Run computes the Program's results for in, which has at most
	// Program.Rows rows and Program.Want wanted rows. Result i is row-major,
	// (rows or len(in.Want), width of result i); it is valid until the next Run.
	// Result 0 is nil if in.Take is set.
	//
	// Attention writes keys and values of the batch's rows to kv, which NewCache of
	// the same Backend made, and reads the earlier ones through in.Tables. Run returns
	// early, with ctx's error, when ctx ends between two steps of the Program.
	Run(ctx context.Context, in *Batch, kv Cache) ([][]float32, error)
	io.Closer
}

// A Placer is an Exec that runs elsewhere than the Cache was made for. Place moves the Cache
// there, which Run does too; it is empty then.
type Placer interface {
	Place(Cache) error
}
