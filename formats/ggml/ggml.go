// Package ggml reads the files of ggml programs from before GGUF that are still
// published: Whisper models and the Silero voice activity detector, as
// whisper.cpp converts them.
//
// A file is little-endian: a magic number, hyper-parameters that depend on the
// model, what the model needs beside its weights, and tensors until the end.
// Nothing is aligned, and neither counts nor checksums close it.
package ggml

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"quern/formats/internal/scan"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// The errors of package weights under the names of this one.
var (
	ErrFormat      = weights.ErrFormat
	ErrUnsupported = weights.ErrUnsupported
)

// Magic is the first four bytes of a file.
const Magic = "lmgg"

// Kinds of models, under the metadata key KindKey.
const (
	KindKey = "ggml.kind"
	Whisper = "whisper"
	Silero  = "silero-16k"
)

// Limits far above what published files hold.
const (
	maxDims   = 4
	maxName   = 256
	maxMels   = 1024
	maxToken  = 4096
	maxLayers = 64
)

// Sniff returns the kind of model a file holds by how it begins, "" where it is
// none of this format or cannot be read. A Whisper file goes on with the size of
// its vocabulary, a detector with the length of its name.
func Sniff(path string) string {
	f, err := weights.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var head [len(Magic) + 4]byte
	n, _ := io.ReadFull(f, head[:]) // a short file has no magic, or no second word
	switch {
	case string(head[:min(n, len(Magic))]) != Magic:
		return ""
	case binary.LittleEndian.Uint32(head[len(Magic):]) == uint32(len(Silero)):
		return Silero
	}
	return Whisper
}

// Open maps a file. The caller closes the Set.
func Open(path string) (*weights.Set, error) { return weights.MapParsed(path, Parse) }

// Parse reads a file from memory, which the Set aliases. Hyper-parameters
// become metadata under "whisper." and "silero.", in whisper.cpp's words.
// Errors wrap ErrFormat or ErrUnsupported.
func Parse(data []byte) (*weights.Set, error) {
	c := scan.New(data)
	if string(c.Bytes(4)) != Magic {
		return nil, fmt.Errorf("%w: no ggml magic", ErrFormat)
	}
	first := c.Uint32()
	if !c.OK() {
		return nil, short("header")
	}
	set := &weights.Set{Source: weights.GGML}
	var err error
	// A Whisper file goes on with the size of its vocabulary, a detector with
	// the length of its name.
	if first == uint32(len(Silero)) {
		err = silero(c, set, first)
	} else {
		err = whisper(c, set, first)
	}
	if err != nil {
		return nil, err
	}
	for c.Left() > 0 {
		t, err := tensor(c)
		if err != nil {
			return nil, err
		}
		if err := set.Add(t); err != nil {
			return nil, fmt.Errorf("%w: %v", ErrFormat, err)
		}
	}
	return set, nil
}

func short(what string) error { return fmt.Errorf("%w: the %s is cut short", ErrFormat, what) }

// number keeps the next number as metadata.
func number(c *scan.Cursor, set *weights.Set, key string) {
	set.Meta.Set(key, int64(int32(c.Uint32())))
}

// whisperKeys are the hyper-parameters that follow the size of the vocabulary.
var whisperKeys = [...]string{
	"whisper.audio_ctx", "whisper.audio_state", "whisper.audio_head", "whisper.audio_layer",
	"whisper.text_ctx", "whisper.text_state", "whisper.text_head", "whisper.text_layer",
	"whisper.mels", "whisper.ftype",
}

// whisper reads what stands before the tensors of a Whisper model: sizes, mel
// filters as "whisper.mel_filters" (bands·bins), and the bytes of the tokens as
// "whisper.tokens". Files hold no special tokens, or not all of them.
func whisper(c *scan.Cursor, set *weights.Set, vocab uint32) error {
	set.Meta.Set(KindKey, Whisper)
	set.Meta.Set("whisper.vocab", int64(int32(vocab)))
	for _, key := range whisperKeys {
		number(c, set, key)
	}
	bands, bins := c.Uint32(), c.Uint32()
	if !c.OK() {
		return short("header")
	}
	// Language models of this age have no filters and their tokens here.
	if mels, _ := set.Meta.Int("whisper.mels"); mels != int64(bands) {
		return fmt.Errorf("%w: a ggml file from before GGUF that holds no Whisper model; get the model as GGUF or convert it again", ErrUnsupported)
	}
	for _, key := range whisperKeys {
		if n, _ := set.Meta.Int(key); n < 0 {
			return fmt.Errorf("%w: %s is %d", ErrFormat, key, n)
		}
	}
	if bands == 0 || bands > maxMels || bins == 0 || !c.Fits(uint64(bands)*uint64(bins), 4) {
		return fmt.Errorf("%w: %d by %d mel filters", ErrFormat, bands, bins)
	}
	filters := make([]float64, bands*bins)
	for i := range filters {
		filters[i] = float64(c.Float32())
	}
	set.Meta.Set("whisper.mel_filters", filters)
	set.Meta.Set("whisper.mel_bins", int64(bins))

	count := c.Uint32()
	if !c.Fits(uint64(count), 4) {
		return fmt.Errorf("%w: %d tokens in %d bytes", ErrFormat, count, c.Left())
	}
	tokens := make([]string, count)
	for i := range tokens {
		n := c.Uint32()
		if n > maxToken {
			return fmt.Errorf("%w: token %d has %d bytes", ErrFormat, i, n)
		}
		tokens[i] = string(c.Bytes(uint64(n)))
	}
	if !c.OK() {
		return short("vocabulary")
	}
	set.Meta.Set("whisper.tokens", tokens)
	return nil
}

// silero reads the sizes of a detector. "silero.encoder" has three numbers a
// layer: channels in, channels out, taps.
func silero(c *scan.Cursor, set *weights.Set, n uint32) error {
	if kind := string(c.Bytes(uint64(n))); kind != Silero {
		return fmt.Errorf("%w: a ggml model called %q", ErrUnsupported, kind)
	}
	set.Meta.Set(KindKey, Silero)
	set.Meta.Set("silero.version", []int64{int64(c.Uint32()), int64(c.Uint32()), int64(c.Uint32())})
	number(c, set, "silero.window")
	number(c, set, "silero.context")
	layers := c.Uint32()
	if layers > maxLayers {
		return fmt.Errorf("%w: a detector of %d layers", ErrFormat, layers)
	}
	var encoder []int64
	for range 3 * layers {
		encoder = append(encoder, int64(int32(c.Uint32())))
	}
	set.Meta.Set("silero.encoder", encoder)
	for _, key := range []string{"silero.lstm_in", "silero.lstm_hidden", "silero.final_in", "silero.final_out"} {
		number(c, set, key)
	}
	if !c.OK() {
		return short("header")
	}
	return nil
}

// tensor reads one tensor: its head and its data.
func tensor(c *scan.Cursor) (*weights.Tensor, error) {
	dims, length, ggml := c.Uint32(), c.Uint32(), c.Uint32()
	if !c.OK() {
		return nil, short("head of a tensor")
	}
	if dims > maxDims || length == 0 || length > maxName {
		return nil, fmt.Errorf("%w: a tensor of %d dimensions with a name of %d bytes", ErrFormat, dims, length)
	}
	shape, elems := make([]int, dims), 1
	for i := range shape {
		d := c.Uint32()
		if d == 0 || d > math.MaxInt32 || elems > math.MaxInt32/int(d) {
			return nil, fmt.Errorf("%w: dimension %d of a tensor is %d", ErrFormat, i, d)
		}
		elems *= int(d)
		shape[len(shape)-1-i] = int(d) // the file names the innermost first
	}
	name := string(c.Bytes(uint64(length)))
	if !c.OK() {
		return nil, short("head of a tensor")
	}
	typ, ok := quant.ByGGML(ggml)
	if !ok {
		return nil, fmt.Errorf("%w: tensor %q has number type %d %s", ErrUnsupported, name, ggml, quant.UnsupportedName(ggml))
	}
	inner := 1
	if dims > 0 {
		inner = shape[dims-1]
	}
	size, ok := typ.Size(elems)
	if _, whole := typ.Size(inner); !ok || !whole {
		return nil, fmt.Errorf("%w: tensor %q: rows of %d are no whole blocks of %v", ErrFormat, name, inner, typ)
	}
	data := c.Bytes(uint64(size))
	if data == nil {
		return nil, fmt.Errorf("%w: tensor %q runs past the end", ErrFormat, name)
	}
	return &weights.Tensor{Name: name, Type: typ, Shape: shape, Data: data}, nil
}
