// Package quantize turns the weights of a model into those of a mixture of number
// types with fewer bits, into a file or as they are loaded.
package quantize

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"quern/engine/model"
	"quern/engine/rescue"
	"quern/engine/token"
	"quern/engine/wholefile"
	"quern/formats"
	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// Options say what to make of a model.
type Options struct {
	Source  string // a file, or a directory of SafeTensors
	Target  string // a GGUF file that does not exist
	Type    string // a name of QuantizeTypes, in any case
	Threads int    // 0 means physical cores
	// Progress, when not nil, is called with how much of the weights is done, 0 to 1.
	Progress func(done float64)
}

// File writes a GGUF file with the weights of a model in fewer bits. Which
// weights get more than the others follows llama.cpp's rules. It holds one
// tensor in memory at a time, and the target appears when it is whole.
func File(ctx context.Context, o Options) error {
	mix, err := Find(o.Type)
	if err != nil {
		return err
	}
	if _, err := os.Stat(o.Target); err == nil {
		return fmt.Errorf("%s exists already; remove it, or name another file", o.Target)
	}
	source, err := formats.Open(o.Source)
	if err != nil {
		return err
	}
	defer source.Close()
	set, err := model.ToGGUF(source)
	if err != nil {
		return err
	}
	meta, err := targetMeta(source, set, o.Source)
	if err != nil {
		return err
	}
	meta.SetKind("general.file_type", mix.FileType, weights.Uint32)
	meta.SetKind("general.quantization_version", int64(2), weights.Uint32)
	q := newQuantizer(set, mix, o.Threads)
	q.converted = set != source
	if err := q.choose(); err != nil {
		return err
	}
	var done, total int64 = 0, set.Bytes()
	var streams []gguf.Stream
	for t := range set.All() {
		to := q.types[t]
		streams = append(streams, gguf.Stream{Name: t.Name, Type: to, Shape: t.Shape, Data: func(w io.Writer) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			data, err := q.data(ctx, t, to)
			if err == nil {
				_, err = w.Write(data)
			}
			if done += int64(t.Size()); o.Progress != nil && total > 0 {
				o.Progress(float64(done) / float64(total))
			}
			return err
		}})
	}
	return wholefile.Write(o.Target, func(f *os.File) error { return gguf.Write(f, meta, streams) })
}

// targetMeta is the metadata of a GGUF file of source, whose weights in GGUF's
// terms are set.
func targetMeta(source, set *weights.Set, path string) (*weights.Meta, error) {
	meta := new(weights.Meta)
	for k, v := range set.Meta.All() {
		meta.SetKind(k, v, set.Meta.Kind(k))
	}
	if set == source {
		return meta, nil
	}
	meta.Set("general.type", "model")
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		path = filepath.Dir(path)
	}
	meta.Set("general.name", filepath.Base(path))
	embed, ok := set.Tensor("token_embd.weight")
	if !ok || len(embed.Shape) != 2 {
		return nil, fmt.Errorf("%w: no token_embd.weight", formats.ErrFormat)
	}
	tokenizer, err := token.ToGGUF(&source.Meta, embed.Shape[0])
	if err != nil {
		return nil, err
	}
	for k, v := range tokenizer.All() {
		meta.Set(k, v)
	}
	if t, ok := set.Tensor("token_types.weight"); ok && len(t.Shape) == 2 {
		meta.Set("tokenizer.ggml.token_type_count", int64(t.Shape[0]))
	}
	if t := source.Meta.String("tokenizer.chat_template"); t != "" {
		meta.Set("tokenizer.chat_template", t)
	}
	return meta, nil
}

// Set returns set, which may be of any container in GGUF's terms, with
// weights that become those of a mixture when it is filled.
func Set(ctx context.Context, set *weights.Set, name string, threads int) (*weights.Set, error) {
	mix, err := Find(name)
	if err != nil {
		return nil, err
	}
	q := newQuantizer(set, mix, threads)
	if err := q.choose(); err != nil {
		return nil, err
	}
	to := &weights.Set{Source: set.Source}
	for k, v := range set.Meta.All() {
		to.Meta.SetKind(k, v, set.Meta.Kind(k))
	}
	to.Meta.Set("general.file_type", mix.FileType)
	for t := range set.All() {
		w := &weights.Tensor{Name: t.Name, Type: q.types[t], Shape: t.Shape, Data: t.Data}
		if w.Type != t.Type || t.Data == nil {
			w.Later(func(dst []byte) error { return q.encode(ctx, dst, t, w.Type) })
		}
		if err := to.Add(w); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// A quantizer turns the weights of a model into those of a mixture.
type quantizer struct {
	set       *weights.Set // in GGUF's terms
	mix       Mixture
	threads   int
	converted bool // what is kept is stored as converters store it
	types     map[*weights.Tensor]quant.Type
	scratch   []byte // a source that is put together
	target    []byte // what data returns
}

func newQuantizer(set *weights.Set, mix Mixture, n int) *quantizer {
	if n <= 0 {
		n = threads.Cores()
	}
	return &quantizer{set: set, mix: mix, threads: n, types: make(map[*weights.Tensor]quant.Type)}
}

// choose sets the types of all tensors.
func (q *quantizer) choose() (err error) {
	for t := range q.set.All() {
		if q.types[t], err = q.typeOf(t); err != nil {
			return err
		}
	}
	return nil
}

// data returns t as type to, until it is called again.
func (q *quantizer) data(ctx context.Context, t *weights.Tensor, to quant.Type) ([]byte, error) {
	if to == t.Type && t.Data != nil {
		return t.Data, nil
	}
	n, ok := to.Size(t.Elems())
	if !ok {
		return nil, fmt.Errorf("%s of shape %v is too large", t.Name, t.Shape)
	}
	q.target = slices.Grow(q.target[:0], n)
	data := q.target[:n]
	return data, q.encode(ctx, data, t, to)
}

// encode writes t as type to, rows shared out among threads.
func (q *quantizer) encode(ctx context.Context, data []byte, t *weights.Tensor, to quant.Type) error {
	if to == t.Type || len(data) == 0 {
		return t.ReadTo(data)
	}
	source := t.Data
	if source == nil {
		n := t.Size()
		q.scratch = slices.Grow(q.scratch[:0], n)
		source = q.scratch[:n]
		if err := t.ReadTo(source); err != nil {
			return err
		}
	}
	row := t.Shape[len(t.Shape)-1]
	rows := t.Elems() / max(1, row)
	in, ok := t.Type.Size(row)
	out, ok2 := to.Size(row)
	if !ok || !ok2 {
		return fmt.Errorf("rows of %d of %s do not fill blocks of %v", row, t.Name, to)
	}
	decode, encode := t.Type.Layout().Decode, to.Layout().Encode
	bad := make([]bool, q.threads)
	rescue.Spread(q.threads, func(i int) {
		x := make([]float32, row)
		for r := rows * i / q.threads; r < rows*(i+1)/q.threads; r++ {
			decode(x, source[r*in:(r+1)*in])
			if !quant.Finite(x) {
				bad[i] = true
				return
			}
			encode(data[r*out:(r+1)*out], x)
			if r%256 == 0 && ctx.Err() != nil {
				return
			}
		}
	})
	if slices.Contains(bad, true) {
		return fmt.Errorf("%w: %s holds a number that is not finite", formats.ErrFormat, t.Name)
	}
	return ctx.Err()
}
