// Package gguf reads and writes GGUF model files, versions 2 and 3.
//
// A file is a header, metadata, a table of tensors and their data, all
// little-endian:
//
//	"GGUF", version u32, tensor count u64, metadata count u64
//	metadata: key string, type u32, value
//	tensors:  name string, rank u32, dims u64 (innermost first), type u32, offset u64
//	padding to general.alignment, then tensor data at those offsets
//
// A string is its length as u64 and its bytes. Nothing in a file is trusted:
// whatever it claims is held against the bytes that are there before memory is
// set aside for it.
//
// GGUF specification, ggml project, docs/gguf.md.
package gguf

import (
	"fmt"
	"slices"

	"quern/formats/internal/scan"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// Every error for what a file holds wraps one of these. They are the errors of
// package weights under the names of this one.
var (
	ErrFormat      = weights.ErrFormat
	ErrUnsupported = weights.ErrUnsupported
)

const (
	magic = "GGUF"

	keyAlignment     = "general.alignment"
	defaultAlignment = 32
	maxAlignment     = 1 << 24 // above any page size, far below where sums wrap

	maxRank  = 4       // of a tensor; ggml has no more
	maxName  = 1 << 16 // of a key or tensor name; the specification's limit for keys
	maxDepth = 8       // of arrays in arrays

	minPair   = 8 + 1 + 4 + 1         // bytes of the smallest metadata pair
	minTensor = 8 + 1 + 4 + 8 + 4 + 8 // bytes of the smallest tensor entry
)

// Parse reads a model from the bytes of its file, or of all files of a split
// model in order. Tensor data aliases the arguments, which must stay unchanged
// while the Set is in use; names and metadata are copied. Memory use is at
// most a small multiple of what the header takes.
//
// The Set of a split model carries the metadata of its first file. The
// split.* keys are left out of every Set, since it always is the whole model.
func Parse(data []byte, more ...[]byte) (*weights.Set, error) {
	files := make([]*file, 0, 1+len(more))
	for i, d := range append([][]byte{data}, more...) {
		f, err := parse(d)
		if err != nil {
			if len(more) > 0 {
				err = fmt.Errorf("file %d of %d: %w", i+1, 1+len(more), err)
			}
			return nil, err
		}
		files = append(files, f)
	}
	return join(files)
}

// A file is what one GGUF file holds.
type file struct {
	meta    weights.Meta
	split   split
	tensors []*weights.Tensor
}

// parse reads one file. It checks everything that can be checked without its
// siblings.
func parse(data []byte) (*file, error) {
	c := scan.New(data)
	m := c.Bytes(4)
	if string(m) != magic {
		if len(data) == 0 {
			return nil, fmt.Errorf("%w: the file is empty", ErrFormat)
		}
		return nil, fmt.Errorf("%w: no GGUF file, it begins with % x", ErrFormat, data[:min(4, len(data))])
	}
	switch v := c.Uint32(); {
	case !c.OK():
		return nil, fmt.Errorf("%w: the header is cut short", ErrFormat)
	case v == 2 || v == 3:
	case v == 1:
		return nil, fmt.Errorf("%w: GGUF version 1; convert the model again with a current converter", ErrUnsupported)
	case v != 0 && v&0xffff == 0:
		return nil, fmt.Errorf("%w: big-endian GGUF; convert the model to little-endian", ErrUnsupported)
	case v == 0:
		return nil, fmt.Errorf("%w: GGUF version 0", ErrFormat)
	default:
		return nil, fmt.Errorf("%w: GGUF version %d, newer than versions 2 and 3 that this build reads", ErrUnsupported, v)
	}
	tensors, pairs := c.Uint64(), c.Uint64()
	if !c.OK() {
		return nil, fmt.Errorf("%w: the header is cut short", ErrFormat)
	}
	if !c.Fits(tensors, minTensor) {
		return nil, fmt.Errorf("%w: %d tensors cannot fit in %d bytes; the file is incomplete or damaged", ErrFormat, tensors, len(data))
	}
	if !c.Fits(pairs, minPair) {
		return nil, fmt.Errorf("%w: %d metadata pairs cannot fit in %d bytes; the file is incomplete or damaged", ErrFormat, pairs, len(data))
	}

	f := new(file)
	for i := range pairs {
		if err := readPair(c, f); err != nil {
			return nil, fmt.Errorf("metadata %d of %d: %w", i+1, pairs, err)
		}
	}
	align, err := alignment(&f.meta)
	if err != nil {
		return nil, err
	}
	if err := f.split.check(); err != nil {
		return nil, err
	}
	infos := make([]info, 0, tensors)
	for i := range tensors {
		in, err := readInfo(c)
		if err != nil {
			return nil, fmt.Errorf("tensor %d of %d: %w", i+1, tensors, err)
		}
		infos = append(infos, in)
	}
	if err := f.place(data, c.Offset(), align, infos); err != nil {
		return nil, err
	}
	return f, nil
}

// readPair reads one key and its value.
func readPair(c *scan.Cursor, f *file) error {
	key, err := readName(c, "key")
	if err != nil {
		return err
	}
	t := c.Uint32()
	v, kind, err := readValue(c, t, 0)
	if err != nil {
		return fmt.Errorf("%.80q: %w", key, err)
	}
	if isSplit, err := f.split.set(key, v); err != nil || isSplit {
		return err
	}
	if _, dup := f.meta.Lookup(key); dup {
		return fmt.Errorf("%w: key %.80q occurs twice", ErrFormat, key)
	}
	f.meta.SetKind(key, v, kind)
	return nil
}

// readName reads a key or a tensor's name, called what in errors.
func readName(c *scan.Cursor, what string) (string, error) {
	n := c.Uint64()
	if c.OK() && (n == 0 || n > maxName) {
		return "", fmt.Errorf("%w: a %s of %d bytes", ErrFormat, what, n)
	}
	b := c.Bytes(n)
	if !c.OK() {
		return "", fmt.Errorf("%w: a %s is cut short", ErrFormat, what)
	}
	return string(b), nil
}

// alignment returns the distance tensor offsets are multiples of.
func alignment(m *weights.Meta) (uint64, error) {
	if _, ok := m.Lookup(keyAlignment); !ok {
		return defaultAlignment, nil
	}
	n, ok := m.Int(keyAlignment)
	if !ok || n < 8 || n > maxAlignment || n&(n-1) != 0 {
		v, _ := m.Lookup(keyAlignment)
		return 0, fmt.Errorf("%w: %s is %v, want a power of two from 8 to %d", ErrFormat, keyAlignment, v, maxAlignment)
	}
	return uint64(n), nil
}

// An info is one entry of the tensor table.
type info struct {
	name  string
	typ   quant.Type
	shape []int // outermost first
	size  int   // bytes
	off   uint64
}

func readInfo(c *scan.Cursor) (info, error) {
	name, err := readName(c, "tensor name")
	if err != nil {
		return info{}, err
	}
	rank := c.Uint32()
	if c.OK() && (rank == 0 || rank > maxRank) {
		return info{}, fmt.Errorf("%w: tensor %.80q has %d dimensions, want 1 to %d", ErrFormat, name, rank, maxRank)
	}
	shape := make([]int, rank)
	elems := uint64(1)
	for i := range shape {
		d := c.Uint64()
		if !c.OK() {
			break
		}
		if d == 0 {
			return info{}, fmt.Errorf("%w: tensor %.80q has a dimension of zero", ErrFormat, name)
		}
		// Elements are counted in int, whose width differs between systems.
		if d > uint64(maxInt)/elems {
			return info{}, fmt.Errorf("%w: tensor %.80q has more elements than can be counted", ErrFormat, name)
		}
		elems *= d
		shape[len(shape)-1-i] = int(d)
	}
	number, off := c.Uint32(), c.Uint64()
	if !c.OK() {
		return info{}, fmt.Errorf("%w: the entry of tensor %.80q is cut short", ErrFormat, name)
	}
	t, ok := quant.ByGGML(number)
	if !ok {
		what := quant.UnsupportedName(number)
		if what == "" {
			what = fmt.Sprintf("of unknown type %d", number)
		}
		return info{}, fmt.Errorf("%w: tensor %.80q is %s, which quern does not read", ErrUnsupported, name, what)
	}
	row := shape[len(shape)-1]
	if block := t.Layout().Block; row%block != 0 {
		return info{}, fmt.Errorf("%w: tensor %.80q has rows of %d, but %s packs %d at a time", ErrFormat, name, row, t, block)
	}
	size, ok := t.Size(int(elems))
	if !ok {
		return info{}, fmt.Errorf("%w: tensor %.80q has more bytes than can be counted", ErrFormat, name)
	}
	return info{name, t, shape, size, off}, nil
}

const maxInt = int(^uint(0) >> 1)

// place finds the data of every tensor. The table ends at byte end of data.
func (f *file) place(data []byte, end int, align uint64, infos []info) error {
	if len(infos) == 0 {
		return nil // and no padding need follow the table
	}
	// Neither sum can wrap: end is an index into data, align is bounded.
	start := (uint64(end) + align - 1) / align * align
	size := uint64(len(data))
	f.tensors = make([]*weights.Tensor, len(infos))
	for i, in := range infos {
		if in.off%align != 0 {
			return fmt.Errorf("%w: tensor %.80q is at offset %d, no multiple of %d", ErrFormat, in.name, in.off, align)
		}
		if start > size || in.off > size-start || uint64(in.size) > size-start-in.off {
			return fmt.Errorf("%w: tensor %.80q runs past the end of the file's %d bytes; the file is incomplete", ErrFormat, in.name, size)
		}
		lo := int(start + in.off)
		hi := lo + in.size
		f.tensors[i] = &weights.Tensor{Name: in.name, Type: in.typ, Shape: in.shape, Data: data[lo:hi:hi]}
	}
	slices.SortFunc(infos, func(a, b info) int {
		if a.off < b.off {
			return -1
		}
		if a.off > b.off {
			return 1
		}
		return 0
	})
	for i := 1; i < len(infos); i++ {
		a, b := infos[i-1], infos[i]
		if b.off-a.off < uint64(a.size) {
			return fmt.Errorf("%w: tensors %.80q and %.80q overlap", ErrFormat, a.name, b.name)
		}
	}
	return nil
}
