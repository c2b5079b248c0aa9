package mp4

import (
	"fmt"
	"io"
)

// A sample is where the bytes of one sample of a track lie. A sample is what
// the codec calls a packet, or a frame of PCM.
type sample struct {
	off, size int64
}

// A table goes through the samples a sample table lists, reading its boxes
// piece by piece as they are needed.
//
// ISO/IEC 14496-12, 8.7.
type table struct {
	sizes cursor
	bits  int   // of a number of sizes
	fixed int64 // of every sample, if not 0
	low   int   // half of a byte of 4-bit sizes, -1 for none
	left  uint32

	chunks    cursor
	wide      bool // numbers of chunks have 64 bits
	chunk     uint32
	runs      cursor
	count     uint32 // samples of a chunk in this run of chunks
	nextFirst uint32 // first chunk of the next run, 0 for none
	nextCount uint32

	off int64  // of the next sample
	in  uint32 // samples left in the chunk
}

// newTable returns the samples of the sample table stbl.
func newTable(f *file, stbl box) (*table, error) {
	t := &table{low: -1}
	stsz, plain := f.find(stbl, "stsz")
	if !plain {
		var ok bool
		if stsz, ok = f.find(stbl, "stz2"); !ok {
			return nil, fmt.Errorf("%w: no sample sizes", ErrFormat)
		}
	}
	h, err := f.content(stsz, 12, 12)
	if err != nil {
		return nil, err
	}
	t.bits = 32
	if plain {
		t.fixed = int64(be.Uint32(h[4:]))
	} else if t.bits = int(h[7]); t.bits != 4 && t.bits != 8 && t.bits != 16 {
		return nil, fmt.Errorf("%w: sample sizes of %d bits", ErrFormat, t.bits)
	}
	t.left = be.Uint32(h[8:])
	t.sizes = f.cursor(stsz, 12)

	stco, ok := f.find(stbl, "stco")
	if !ok {
		if stco, t.wide = f.find(stbl, "co64"); !t.wide {
			return nil, fmt.Errorf("%w: no chunk offsets", ErrFormat)
		}
	}
	t.chunks = f.cursor(stco, 8)
	stsc, ok := f.find(stbl, "stsc")
	if !ok {
		return nil, fmt.Errorf("%w: no samples to chunks", ErrFormat)
	}
	t.runs = f.cursor(stsc, 8)
	return t, t.readRun()
}

// readRun reads the next run of chunks that have as many samples each.
func (t *table) readRun() error {
	t.nextFirst = t.runs.u32()
	if t.runs.err == io.EOF {
		return nil
	}
	t.nextCount = t.runs.u32()
	if description := t.runs.u32(); description > 1 {
		return fmt.Errorf("%w: sound description that changes", ErrUnsupported)
	}
	return noEOF(t.runs.err)
}

// next returns the next sample, or io.EOF.
func (t *table) next() (sample, error) {
	if t.left == 0 {
		return sample{}, io.EOF
	}
	for t.in == 0 {
		if err := t.readChunk(); err != nil {
			return sample{}, err
		}
	}
	size, err := t.readSize()
	if err != nil {
		return sample{}, err
	}
	s := sample{t.off, size}
	t.left--
	t.in--
	t.off += size
	return s, nil
}

// readChunk moves to the next chunk.
func (t *table) readChunk() error {
	t.chunk++
	for t.nextFirst != 0 && t.chunk >= t.nextFirst {
		t.count = t.nextCount
		if err := t.readRun(); err != nil {
			return err
		}
	}
	t.in = t.count
	size := 4
	if t.wide {
		size = 8
	}
	t.off = int64(t.chunks.uint(size))
	return t.chunks.err
}

func (t *table) readSize() (int64, error) {
	if t.fixed != 0 {
		return t.fixed, nil
	}
	if t.bits == 4 {
		if n := t.low; n >= 0 {
			t.low = -1
			return int64(n), nil
		}
		n := t.sizes.uint(1)
		t.low = int(n & 15)
		return int64(n >> 4), t.sizes.err
	}
	return int64(t.sizes.uint(t.bits / 8)), t.sizes.err
}
