package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"quern/formats"
	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels"
	"quern/kernels/quant"
)

// QuantizeOptions say what to make of a model file.
type QuantizeOptions struct {
	Source, Target string // files; Target must not exist
	Type           string // a name of QuantizeTypes, in any case
	Threads        int    // 0 means physical cores
	// Progress, when not nil, is told how much of the weights is done, 0 to 1.
	Progress func(done float64)
}

// A mixture is a number type for most weights of a file, and the file_type
// GGUF calls the whole by.
type mixture struct {
	most     quant.Type
	fileType int64
}

var mixtures = map[string]mixture{
	"F16":    {quant.F16, 1},
	"Q8_0":   {quant.Q8_0, 7},
	"Q4_K_M": {quant.Q4_K, 15},
	"Q5_K_M": {quant.Q5_K, 17},
	"Q6_K":   {quant.Q6_K, 18},
}

// QuantizeTypes lists the mixtures Quantize makes.
func QuantizeTypes() []string { return slices.Sorted(maps.Keys(mixtures)) }

// Quantize writes a GGUF file with the weights of another in fewer bits. Which
// weights get more than the others follows llama.cpp's rules. It holds one
// tensor in memory at a time, and the target appears when it is whole.
func Quantize(ctx context.Context, o QuantizeOptions) error {
	mix, ok := mixtures[strings.ToUpper(o.Type)]
	if !ok {
		return fmt.Errorf("number type %q is not known; there are %s", o.Type, strings.Join(QuantizeTypes(), ", "))
	}
	if _, err := os.Stat(o.Target); err == nil {
		return fmt.Errorf("%s exists already", o.Target)
	}
	set, err := formats.Open(o.Source)
	if err != nil {
		return err
	}
	defer set.Close()
	if set.Source != weights.GGUF {
		return fmt.Errorf("%w: quantising a %v model; convert it to GGUF first", formats.ErrUnsupported, set.Source)
	}
	meta := new(weights.Meta)
	for k, v := range set.Meta.All() {
		meta.SetKind(k, v, set.Meta.Kind(k))
	}
	meta.SetKind("general.file_type", mix.fileType, weights.Uint32)
	meta.SetKind("general.quantization_version", int64(2), weights.Uint32)

	q := &quantizer{set: set, mix: mix, threads: o.Threads, progress: o.Progress, total: set.Bytes()}
	if q.threads <= 0 {
		q.threads = kernels.Cores()
	}
	var streams []gguf.Stream
	for t := range set.All() {
		to, err := q.typeOf(t)
		if err != nil {
			return err
		}
		streams = append(streams, gguf.Stream{Name: t.Name, Type: to, Shape: t.Shape, Data: func(w io.Writer) error { return q.write(ctx, w, t, to) }})
	}
	part := o.Target + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	err = gguf.Write(f, meta, streams)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(part, o.Target)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return nil
}

// A quantizer is one run of Quantize.
type quantizer struct {
	set      *weights.Set
	mix      mixture
	threads  int
	progress func(float64)

	total, done int64 // bytes of the source
}

// kept are parts of names of weights that are too small, or too sensitive, to
// be stored in fewer bits.
var kept = []string{"_norm.weight", "ffn_gate_inp", "position_embd.", "token_types.", "rope_freqs.", "rope_factors_"}

// typeOf chooses the number type of a tensor.
//
// The rules are those of llama.cpp's llama-quant.cpp for these mixtures: the
// output layer is the most sensitive, then values and the second feed-forward
// product of the first and last layers and of every third between.
func (q *quantizer) typeOf(t *weights.Tensor) (quant.Type, error) {
	if len(t.Shape) < 2 || !strings.HasSuffix(t.Name, ".weight") || slices.ContainsFunc(kept, func(s string) bool { return strings.Contains(t.Name, s) }) {
		return t.Type, nil
	}
	switch t.Type {
	case quant.F32, quant.F16, quant.BF16:
	default:
		return 0, fmt.Errorf("%w: %s is %v already; quantise the original model", formats.ErrUnsupported, t.Name, t.Type)
	}
	row := t.Shape[len(t.Shape)-1]
	to := q.mix.most
	if to == quant.Q4_K || to == quant.Q5_K || to == quant.Q6_K {
		to = q.sensitive(t.Name, to)
		if row%256 != 0 {
			to = quant.Q8_0 // rows do not fill the blocks of 256
		}
	}
	if row%to.Layout().Block != 0 {
		to = quant.F16
	}
	return to, nil
}

func (q *quantizer) sensitive(name string, to quant.Type) quant.Type {
	arch := q.set.Meta.String("general.architecture")
	number := func(key string) int {
		n, _ := q.set.Meta.Int(arch + "." + key)
		return int(min(max(n, 0), 1<<16))
	}
	layers, experts := number("block_count"), number("expert_count")
	_, untied := q.set.Tensor("output.weight")
	if name == "output.weight" || name == "token_embd.weight" && !untied {
		if arch == "falcon" {
			return quant.Q8_0
		}
		return quant.Q6_K
	}
	layer := 0
	if rest, ok := strings.CutPrefix(name, "blk."); ok {
		digits, _, _ := strings.Cut(rest, ".")
		layer, _ = strconv.Atoi(digits) // names of another form count as layer 0
	}
	more := layer < layers/8 || layer >= 7*layers/8 || (layer-layers/8)%3 == 2
	has := func(s string) bool { return strings.Contains(name, s) }
	switch {
	case has("attn_v."):
		switch {
		case experts == 8:
			return quant.Q8_0
		case to != quant.Q6_K && more:
			return quant.Q6_K
		case to == quant.Q4_K && arch == "llama" && layers == 80: // Llama 70B, whose values many heads share
			return quant.Q5_K
		}
	case has("attn_k.") && experts == 8:
		return quant.Q8_0
	case has("attn_qkv."):
		switch to {
		case quant.Q4_K:
			return quant.Q5_K
		case quant.Q5_K:
			return quant.Q6_K
		}
	case has("attn_output.") && experts == 8 && to == quant.Q4_K:
		return quant.Q5_K
	case has("ffn_down"):
		switch {
		case arch == "falcon" && to == quant.Q4_K:
			switch {
			case layer < layers/16:
				return quant.Q6_K
			case more:
				return quant.Q5_K
			}
		case more:
			return quant.Q6_K
		}
	}
	return to
}

// write writes t as type to.
func (q *quantizer) write(ctx context.Context, w io.Writer, t *weights.Tensor, to quant.Type) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data := t.Data
	if to != t.Type {
		var err error
		if data, err = q.encode(ctx, t, to); err != nil {
			return err
		}
	}
	_, err := w.Write(data)
	q.done += int64(len(t.Data))
	if q.progress != nil && q.total > 0 {
		q.progress(float64(q.done) / float64(q.total))
	}
	return err
}

// encode returns t as type to, rows shared out among threads.
func (q *quantizer) encode(ctx context.Context, t *weights.Tensor, to quant.Type) ([]byte, error) {
	row := t.Shape[len(t.Shape)-1]
	rows := t.Elems() / max(1, row)
	in, ok := t.Type.Size(row)
	out, ok2 := to.Size(row)
	if !ok || !ok2 {
		return nil, fmt.Errorf("rows of %d of %s do not fill blocks of %v", row, t.Name, to)
	}
	data := make([]byte, rows*out)
	decode, encode := t.Type.Layout().Decode, to.Layout().Encode
	bad := make([]bool, q.threads)
	var wg sync.WaitGroup
	for i := range q.threads {
		wg.Go(func() {
			x := make([]float32, row)
			for r := rows * i / q.threads; r < rows*(i+1)/q.threads; r++ {
				decode(x, t.Data[r*in:(r+1)*in])
				for _, v := range x {
					if v != v || math.Abs(float64(v)) > math.MaxFloat32 {
						bad[i] = true
						return
					}
				}
				encode(data[r*out:(r+1)*out], x)
				if r%256 == 0 && ctx.Err() != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if slices.Contains(bad, true) {
		return nil, fmt.Errorf("%w: %s holds a number that is not finite", formats.ErrFormat, t.Name)
	}
	return data, ctx.Err()
}
