// Package torch reads tensors from PyTorch's checkpoints (.pth, .pt, .bin): zip
// archives of a pickle and one file for each storage. Nothing in the pickle is
// executed.
package torch

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"quern/formats/weights"
	"quern/kernels/quant"
)

// storages are the number types of PyTorch by the names of their storages. Those
// without a Type of ours are kept raw.
var storages = map[global]struct {
	name  string
	bytes int
	typ   quant.Type
	ok    bool
}{
	"torch.FloatStorage":    {"F32", 4, quant.F32, true},
	"torch.HalfStorage":     {"F16", 2, quant.F16, true},
	"torch.BFloat16Storage": {"BF16", 2, quant.BF16, true},
	"torch.DoubleStorage":   {"F64", 8, 0, false},
	"torch.LongStorage":     {"I64", 8, 0, false},
	"torch.IntStorage":      {"I32", 4, 0, false},
	"torch.ShortStorage":    {"I16", 2, 0, false},
	"torch.CharStorage":     {"I8", 1, 0, false},
	"torch.ByteStorage":     {"U8", 1, 0, false},
	"torch.BoolStorage":     {"BOOL", 1, 0, false},
}

const (
	maxTensors = 1 << 17
	maxPickle  = 64 << 20
	maxName    = 1024
)

// Open maps a checkpoint. The caller closes the Set.
func Open(path string) (*weights.Set, error) { return weights.MapParsed(path, Parse) }

// Is reports whether data begins like a checkpoint: a zip archive whose first
// entry is a pickle.
func Is(data []byte) bool {
	return bytes.HasPrefix(data, []byte("PK\x03\x04")) && bytes.Contains(data[:min(len(data), 256)], []byte("data.pkl"))
}

// Parse reads a checkpoint. Tensors alias data. The names of nested dictionaries
// are joined by dots, less the "module." that PyTorch puts in front of a model
// trained in parallel; a checkpoint of one tensor calls it "tensor". Values that
// are no tensors are left out.
//
// Errors wrap weights.ErrFormat or weights.ErrUnsupported.
func Parse(data []byte) (*weights.Set, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", weights.ErrFormat, err)
	}
	files := make(map[string]*zip.File, len(z.File))
	var root, program string
	for _, f := range z.File {
		if dir, ok := strings.CutSuffix(f.Name, "data.pkl"); ok && program == "" {
			root, program = dir, f.Name
		}
		files[f.Name] = f
	}
	if program == "" {
		return nil, fmt.Errorf("%w: a zip archive without data.pkl is no checkpoint", weights.ErrFormat)
	}
	p := &parser{data: data, root: root, files: files}
	text, err := p.file(program)
	if err != nil {
		return nil, err
	}
	if len(text) > maxPickle {
		return nil, fmt.Errorf("%w: a pickle of %d bytes", weights.ErrUnsupported, len(text))
	}
	v, err := unpickle(text)
	if err != nil {
		return nil, err
	}
	p.set = &weights.Set{Source: weights.Torch}
	if err := p.add("", v, 0); err != nil {
		return nil, err
	}
	if p.set.Len() == 0 && len(p.set.Raws()) == 0 {
		return nil, fmt.Errorf("%w: a checkpoint without tensors", weights.ErrFormat)
	}
	return p.set, nil
}

type parser struct {
	data  []byte
	root  string
	files map[string]*zip.File
	set   *weights.Set
	seen  int
}

// file returns the bytes of an entry, which PyTorch stores without compression.
func (p *parser) file(name string) ([]byte, error) {
	f := p.files[name]
	if f == nil {
		return nil, fmt.Errorf("%w: the archive has no %q", weights.ErrFormat, name)
	}
	if f.Method != zip.Store {
		return nil, fmt.Errorf("%w: %q is compressed", weights.ErrUnsupported, name)
	}
	at, err := f.DataOffset()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", weights.ErrFormat, err)
	}
	if n := uint64(len(p.data)); at < 0 || uint64(at) > n || f.UncompressedSize64 > n-uint64(at) {
		return nil, fmt.Errorf("%w: %q runs past the end", weights.ErrFormat, name)
	}
	return p.data[at : at+int64(f.UncompressedSize64)], nil
}

// add puts what v holds into the set under name.
func (p *parser) add(name string, v any, depth int) error {
	// Dictionaries may be shared, so what is inside is counted, not what is there.
	if p.seen++; p.seen > maxTensors || depth > maxDepth {
		return fmt.Errorf("%w: more than %d values", weights.ErrUnsupported, maxTensors)
	}
	switch v := v.(type) {
	case *dict:
		for i, key := range v.keys {
			k, ok := key.(string)
			if n, isInt := key.(int64); isInt {
				k, ok = strconv.FormatInt(n, 10), true
			}
			if !ok {
				continue
			}
			k = strings.TrimPrefix(k, "module.")
			if name != "" {
				k = name + "." + k
			}
			if len(k) > maxName {
				return fmt.Errorf("%w: a name of %d bytes", weights.ErrFormat, len(k))
			}
			if err := p.add(k, v.values[i], depth+1); err != nil {
				return err
			}
		}
	case *tensor:
		name = cmp.Or(name, "tensor")
		return p.tensor(name, v)
	}
	return nil
}

func (p *parser) tensor(name string, t *tensor) error {
	kind, ok := storages[t.storage.kind]
	if !ok {
		return fmt.Errorf("%w: tensor %q in a %s", weights.ErrUnsupported, name, t.storage.kind)
	}
	data, err := p.file(p.root + "data/" + t.storage.file)
	if err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	have := int64(len(data) / kind.bytes)
	n := int64(1)
	shape := make([]int, len(t.shape))
	for i := len(t.shape) - 1; i >= 0; i-- {
		if t.shape[i] > 1 && t.stride[i] != n {
			return fmt.Errorf("%w: tensor %q is a view with strides %v of shape %v; save it contiguous", weights.ErrUnsupported, name, t.stride, t.shape)
		}
		// n stays within the storage, so the product cannot wrap.
		if t.shape[i] > have || t.shape[i] > 0 && n > have/t.shape[i] {
			return fmt.Errorf("%w: tensor %q of shape %v in %d numbers", weights.ErrFormat, name, t.shape, have)
		}
		n *= t.shape[i]
		shape[i] = int(t.shape[i])
	}
	if t.offset > have || n > have-t.offset {
		return fmt.Errorf("%w: tensor %q of shape %v at %d in %d numbers", weights.ErrFormat, name, t.shape, t.offset, have)
	}
	part := data[t.offset*int64(kind.bytes) : (t.offset+n)*int64(kind.bytes)]
	if !kind.ok {
		p.set.AddRaw(&weights.Raw{Name: name, DType: kind.name, Shape: shape, Data: part})
		return nil
	}
	if err := p.set.Add(&weights.Tensor{Name: name, Type: kind.typ, Shape: shape, Data: part}); err != nil {
		return fmt.Errorf("%w: %w", weights.ErrFormat, err)
	}
	return nil
}
