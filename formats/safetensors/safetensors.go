// Package safetensors reads SafeTensors model files and the directories of
// Hugging Face that hold them.
//
// A file is the length of its header, the header, and data:
//
//	length u64, little-endian
//	JSON: {"NAME": {"dtype": T, "shape": [...], "data_offsets": [from, to]}, …,
//	       "__metadata__": {KEY: TEXT, …}}
//	data, at which the offsets point
//
// The tensors must tile the data: none overlaps another and no byte is left
// over. Nothing says where the data is aligned, so readers of Tensor.Data must
// take bytes as they come.
//
// SafeTensors specification, Hugging Face, safetensors/README.md.
package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

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
	maxHeader = 100_000_000 // bytes; the specification's limit
	maxName   = 1 << 16     // bytes of a tensor's name or a metadata key
	maxRank   = 8
	maxShards = 4096
)

// dtypes are the number types of the format. Tensors of those whose typ is
// Invalid become weights.Raw: which of them a model cannot do without, and how
// to read them, the architecture knows.
var dtypes = map[string]struct {
	bits int
	typ  quant.Type
}{
	"F32":  {32, quant.F32},
	"F16":  {16, quant.F16},
	"BF16": {16, quant.BF16},

	"F64": {bits: 64}, "I64": {bits: 64}, "U64": {bits: 64}, "C64": {bits: 64},
	"I32": {bits: 32}, "U32": {bits: 32},
	"I16": {bits: 16}, "U16": {bits: 16},
	"F8_E4M3": {bits: 8}, "F8_E5M2": {bits: 8}, "F8_E8M0": {bits: 8}, "F8_E4M3FNUZ": {bits: 8}, "F8_E5M2FNUZ": {bits: 8},
	"I8": {bits: 8}, "U8": {bits: 8}, "BOOL": {bits: 8},
	"F6_E2M3": {bits: 6}, "F6_E3M2": {bits: 6}, "F4": {bits: 4},
}

// Parse reads a model from the bytes of its file, or of all its shards. Tensor
// data aliases the arguments, which must stay unchanged while the Set is in
// use. Tensors come in the order of their data, shard by shard. Metadata is
// stored under "safetensors." and its key. Memory use is at most a small
// multiple of the headers.
func Parse(data []byte, more ...[]byte) (*weights.Set, error) {
	set := &weights.Set{Source: weights.SafeTensors}
	names := make(map[string]bool)
	for i, d := range append([][]byte{data}, more...) {
		f, err := parse(d)
		if err == nil {
			err = f.addTo(set, names)
		}
		if err != nil {
			if len(more) > 0 {
				err = fmt.Errorf("shard %d of %d: %w", i+1, 1+len(more), err)
			}
			return nil, err
		}
	}
	return set, nil
}

// A file is what one SafeTensors file holds.
type file struct {
	meta    [][2]string
	tensors []info
	data    []byte
}

// An info is one entry of the header.
type info struct {
	name     string
	dtype    string
	shape    []int
	from, to uint64
}

func (f *file) addTo(set *weights.Set, names map[string]bool) error {
	for _, kv := range f.meta {
		set.Meta.Set("safetensors."+kv[0], kv[1])
	}
	for _, in := range f.tensors {
		if names[in.name] {
			return fmt.Errorf("%w: tensor %.80q is in two shards", ErrFormat, in.name)
		}
		names[in.name] = true
		t := dtypes[in.dtype].typ
		if t == quant.Invalid {
			set.AddRaw(&weights.Raw{Name: in.name, DType: in.dtype, Shape: in.shape, Data: f.data[in.from:in.to:in.to]})
			continue
		}
		if err := set.Add(&weights.Tensor{Name: in.name, Type: t, Shape: in.shape, Data: f.data[in.from:in.to:in.to]}); err != nil {
			return fmt.Errorf("%w: %v", ErrFormat, err)
		}
	}
	return nil
}

// parse reads one file.
func parse(data []byte) (*file, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("%w: no SafeTensors file, it has %d bytes", ErrFormat, len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	switch {
	case n > maxHeader:
		return nil, fmt.Errorf("%w: a header of %d bytes, limit %d", ErrFormat, n, maxHeader)
	case n > uint64(len(data)-8):
		return nil, fmt.Errorf("%w: a header of %d bytes in a file of %d; the file is incomplete", ErrFormat, n, len(data))
	case n < 2 || data[8] != '{':
		return nil, fmt.Errorf("%w: the header is no JSON object", ErrFormat)
	}
	header := data[8 : 8+n]
	if !utf8.Valid(header) {
		return nil, fmt.Errorf("%w: the header is not UTF-8", ErrFormat)
	}
	f := &file{data: data[8+n:]}
	if err := f.readHeader(header); err != nil {
		return nil, err
	}
	return f, f.tile()
}

// A jsonReader takes a header apart piece by piece, so that a key given twice
// shows. Its errors wrap ErrFormat.
type jsonReader struct{ *json.Decoder }

func (r jsonReader) token() (json.Token, error) {
	t, err := r.Token()
	if err != nil {
		return nil, fmt.Errorf("%w: the header: %v", ErrFormat, err)
	}
	return t, nil
}

// object calls f with each key of the object that comes next; f reads the
// value. No key may occur twice.
func (r jsonReader) object(what string, f func(key string) error) error {
	t, err := r.token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("%w: %s is %v, want an object", ErrFormat, what, t)
	}
	seen := make(map[string]bool)
	for r.More() {
		t, err := r.token()
		if err != nil {
			return err
		}
		key := t.(string) // the decoder lets nothing else through
		if seen[key] {
			return fmt.Errorf("%w: %.100q occurs twice in %s", ErrFormat, key, what)
		}
		seen[key] = true
		if len(key) > maxName {
			return fmt.Errorf("%w: a key of %d bytes in %s", ErrFormat, len(key), what)
		}
		if err := f(key); err != nil {
			return err
		}
	}
	_, err = r.token()
	return err
}

// counts reads an array of at most max integers from zero.
func (r jsonReader) counts(what string, max int) ([]uint64, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('[') {
		return nil, fmt.Errorf("%w: %s is %v, want an array", ErrFormat, what, t)
	}
	var list []uint64
	for r.More() {
		if t, err = r.token(); err != nil {
			return nil, err
		}
		n, ok := t.(json.Number)
		x, err := strconv.ParseUint(n.String(), 10, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("%w: %s holds %v, want integers from 0", ErrFormat, what, t)
		}
		if len(list) == max {
			return nil, fmt.Errorf("%w: %s holds more than %d integers", ErrFormat, what, max)
		}
		list = append(list, x)
	}
	_, err = r.token()
	return list, err
}

func (r jsonReader) text(what string) (string, error) {
	t, err := r.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("%w: %s is %v, want a string", ErrFormat, what, t)
	}
	return s, nil
}

func (f *file) readHeader(header []byte) error {
	r := jsonReader{json.NewDecoder(bytes.NewReader(header))}
	r.UseNumber()
	err := r.object("the header", func(key string) error {
		if key == "__metadata__" {
			return r.object(key, func(key string) error {
				s, err := r.text("metadata " + strconv.Quote(key))
				f.meta = append(f.meta, [2]string{key, s})
				return err
			})
		}
		if key == "" {
			return fmt.Errorf("%w: a tensor without a name", ErrFormat)
		}
		in, err := readInfo(r, key)
		f.tensors = append(f.tensors, in)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := r.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows the header's object", ErrFormat)
	}
	return nil
}

func readInfo(r jsonReader, name string) (info, error) {
	in := info{name: name}
	var shape, offsets []uint64
	what := fmt.Sprintf("tensor %.80q", name)
	err := r.object(what, func(key string) (err error) {
		switch key {
		case "dtype":
			in.dtype, err = r.text(what + ": dtype")
		case "shape":
			if shape, err = r.counts(what+": shape", maxRank); shape == nil {
				shape = []uint64{}
			}
		case "data_offsets":
			offsets, err = r.counts(what+": data_offsets", 2)
		default:
			var skipped json.RawMessage
			if err = r.Decode(&skipped); err != nil {
				err = fmt.Errorf("%w: %s: %v", ErrFormat, what, err)
			}
		}
		return err
	})
	switch {
	case err != nil:
		return in, err
	case in.dtype == "" || shape == nil || len(offsets) != 2:
		return in, fmt.Errorf("%w: %s lacks its dtype, shape or two data_offsets", ErrFormat, what)
	case offsets[0] > offsets[1]:
		return in, fmt.Errorf("%w: %s ends before it starts", ErrFormat, what)
	}
	in.from, in.to = offsets[0], offsets[1]
	d, ok := dtypes[in.dtype]
	if !ok {
		return in, fmt.Errorf("%w: %s has the dtype %.20q", ErrUnsupported, what, in.dtype)
	}
	elems := uint64(1)
	for _, n := range shape {
		// Sizes are counted in int, whose width differs between systems.
		if n > math.MaxInt/64 || n > 0 && elems > math.MaxInt/64/n {
			return in, fmt.Errorf("%w: %s has more elements than can be counted", ErrFormat, what)
		}
		elems *= n
		in.shape = append(in.shape, int(n))
	}
	bits := elems * uint64(d.bits)
	if bits%8 != 0 || bits/8 != in.to-in.from {
		return in, fmt.Errorf("%w: %s of %s %v takes %d bytes, want %d", ErrFormat, what, in.dtype, shape, in.to-in.from, (bits+7)/8)
	}
	return in, nil
}

// tile sorts the tensors by where their data is and checks that each begins
// where the one before ends, and the last ends with the file.
func (f *file) tile() error {
	slices.SortStableFunc(f.tensors, func(a, b info) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	size, end := uint64(len(f.data)), uint64(0)
	before := ""
	for _, in := range f.tensors {
		switch {
		case in.to > size:
			return fmt.Errorf("%w: tensor %.80q ends at byte %d of %d; the file is incomplete", ErrFormat, in.name, in.to, size)
		case in.from < end:
			return fmt.Errorf("%w: tensors %.80q and %.80q overlap", ErrFormat, before, in.name)
		case in.from > end:
			return fmt.Errorf("%w: no tensor holds bytes %d to %d", ErrFormat, end, in.from)
		}
		end, before = in.to, in.name
	}
	if end != size {
		return fmt.Errorf("%w: no tensor holds the last %d bytes", ErrFormat, size-end)
	}
	return nil
}
