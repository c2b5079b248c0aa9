package vad

import (
	"fmt"
	"math"

	"quern/formats"
	"quern/formats/weights"
	"quern/kernels/gemm"
)

// ErrFormat marks a file that is no detector.
var ErrFormat = weights.Malformed("speech detector")

// The sizes of the Silero detector: its input is a hop together with the end of the
// one before.
const (
	sileroPast   = 64
	sileroFFT    = 256
	sileroStride = 128
	sileroBins   = sileroFFT/2 + 1
	sileroFrames = 4 // of a hop
	sileroHidden = 128
)

// Silero is the voice activity detector of Silero Team, versions 5 and 6, at
// 16 kHz: a spectrogram of four frames, four convolutions and an LSTM cell that
// remembers the hops before. Its weights are not part of quern.
//
// Silero Team, "Silero VAD", 2024, silero_vad.onnx.
type Silero struct {
	basis  *gemm.Panels // (2·bins, 256): real parts, then imaginary ones
	layers [4]sileroLayer
	ih, hh *gemm.Panels // (4·hidden, hidden)
	bias   []float32    // (4·hidden), of both
	last   []float32    // (hidden)
	offset float32
}

// A sileroLayer is a convolution of three taps with a frame of zeros on both
// sides, and a ReLU.
type sileroLayer struct {
	in, out, stride int
	w               *gemm.Panels // (out, 3·in)
	b               []float32    // (out)
}

// sileroNames are the tensors as ggml and SafeTensors files call them.
var sileroNames = [2]struct {
	basis, layer, weight, bias string
	first                      int
	ih, hh, bih, bhh, last, lb string
}{
	{"_model.stft.forward_basis_buffer", "_model.encoder.%d.reparam_conv", ".weight", ".bias", 0,
		"_model.decoder.rnn.weight_ih", "_model.decoder.rnn.weight_hh", "_model.decoder.rnn.bias_ih", "_model.decoder.rnn.bias_hh",
		"_model.decoder.decoder.2.weight", "_model.decoder.decoder.2.bias"},
	{"stft_conv.weight", "conv%d", ".weight", ".bias", 1,
		"lstm_cell.weight_ih", "lstm_cell.weight_hh", "lstm_cell.bias_ih", "lstm_cell.bias_hh",
		"final_conv.weight", "final_conv.bias"},
}

// OpenSilero reads the detector of a file, of whisper.cpp's form or SafeTensors.
func OpenSilero(path string) (*Silero, error) {
	set, err := formats.Open(path)
	if err != nil {
		return nil, err
	}
	defer set.Close() // the weights are copied
	return NewSilero(set)
}

// NewSilero reads the detector from a set of either kind. It copies what it
// needs, so the set may be closed. Errors wrap ErrFormat.
func NewSilero(set *weights.Set) (*Silero, error) {
	names := &sileroNames[0]
	if _, ok := set.Tensor(names.basis); !ok {
		names = &sileroNames[1]
	}
	var err error
	read := func(name string, n int) []float32 {
		t, ok := set.Tensor(name)
		switch {
		case err != nil:
		case !ok:
			err = fmt.Errorf("%w: no tensor %s of the Silero detector", ErrFormat, name)
		case t.Elems() != n:
			err = fmt.Errorf("%w: tensor %s has shape %v, want %d numbers", ErrFormat, name, t.Shape, n)
		default:
			var x []float32
			x, err = t.Floats()
			return x
		}
		return nil
	}
	pack := func(x []float32, rows int) *gemm.Panels {
		if len(x) == 0 { // could not be read
			return nil
		}
		p := gemm.NewPanels(rows, len(x)/rows)
		p.PackRows(x, len(x)/rows)
		return p
	}
	const h = sileroHidden
	s := &Silero{
		basis: pack(read(names.basis, 2*sileroBins*sileroFFT), 2*sileroBins),
		ih:    pack(read(names.ih, 4*h*h), 4*h), hh: pack(read(names.hh, 4*h*h), 4*h),
		bias: read(names.bih, 4*h), last: read(names.last, h),
	}
	more, offset := read(names.bhh, 4*h), read(names.lb, 1)
	for i, l := range []sileroLayer{
		{in: sileroBins, out: 128, stride: 1}, {in: 128, out: 64, stride: 2}, {in: 64, out: 64, stride: 2}, {in: 64, out: h, stride: 1},
	} {
		name := fmt.Sprintf(names.layer, i+names.first)
		stored := read(name+names.weight, l.out*l.in*3) // (out, in, 3)
		w := make([]float32, len(stored))
		for k, v := range stored {
			w[k/(3*l.in)*3*l.in+k%3*l.in+k/3%l.in] = v
		}
		l.w, l.b = pack(w, l.out), read(name+names.bias, l.out)
		s.layers[i] = l
	}
	if err != nil {
		return nil, err
	}
	for i, v := range more {
		s.bias[i] += v
	}
	s.offset = offset[0]
	return s, nil
}

// Listen implements Detector.
func (s *Silero) Listen() Listener { return &sileroEar{net: s} }

// A sileroEar is a Silero with its memory, and room for what it computes of a hop.
type sileroEar struct {
	net          *Silero
	past         [sileroPast]float32
	hidden, cell [sileroHidden]float32

	in    [sileroPast + Hop + sileroPast]float32 // what came before, the hop, and its end mirrored
	wave  [sileroFrames * 2 * sileroBins]float32
	a, b  [(sileroFrames + 2) * sileroBins]float32 // of layers, with a frame of zeros before and after them
	gates [4 * sileroHidden]float32
}

// Hear implements Listener.
func (e *sileroEar) Hear(x []float32) float32 {
	const width = sileroPast + Hop
	in, wave := &e.in, &e.wave
	copy(in[:], e.past[:])
	copy(in[sileroPast:], x)
	for i := range sileroPast {
		in[width+i] = in[width-2-i]
	}
	copy(e.past[:], x[Hop-sileroPast:])

	clear(e.a[:sileroBins])
	gemm.Multiply(wave[:], 2*sileroBins, in[:], sileroStride, sileroFrames, e.net.basis, nil, false)
	for f := range sileroFrames {
		re, im := wave[2*f*sileroBins:], wave[(2*f+1)*sileroBins:]
		for k := range sileroBins {
			e.a[(f+1)*sileroBins+k] = float32(math.Sqrt(float64(re[k]*re[k] + im[k]*im[k])))
		}
	}
	from, to, frames := e.a[:], e.b[:], sileroFrames
	for i := range e.net.layers {
		frames = e.net.layers[i].run(to, from, frames)
		from, to = to, from
	}
	return e.remember(from[sileroHidden : 2*sileroHidden])
}

// run writes the convolution of frames frames to dst and returns how many it
// has. Both have a frame of zeros before and after.
func (l *sileroLayer) run(dst, x []float32, frames int) int {
	count := (frames + l.stride - 1) / l.stride
	clear(x[(frames+1)*l.in : (frames+2)*l.in])
	out := dst[l.out : (count+1)*l.out]
	gemm.Multiply(out, l.out, x, l.stride*l.in, count, l.w, l.b, false)
	for i, v := range out {
		out[i] = max(0, v)
	}
	clear(dst[:l.out])
	return count
}

// remember is the LSTM cell and the probability after it. Gates are in the order
// input, forget, cell, output.
//
// Hochreiter & Schmidhuber, "Long Short-Term Memory", 1997, with forget gates.
func (e *sileroEar) remember(x []float32) float32 {
	const h = sileroHidden
	gates := &e.gates
	gemm.Multiply(gates[:], 4*h, x, h, 1, e.net.ih, e.net.bias, false)
	gemm.Multiply(gates[:], 4*h, e.hidden[:], h, 1, e.net.hh, nil, true)
	sum := e.net.offset
	for i := range h {
		c := sigmoid(gates[h+i])*float64(e.cell[i]) + sigmoid(gates[i])*math.Tanh(float64(gates[2*h+i]))
		e.cell[i] = float32(c)
		e.hidden[i] = float32(sigmoid(gates[3*h+i]) * math.Tanh(c))
		sum += max(0, e.hidden[i]) * e.net.last[i]
	}
	return float32(sigmoid(sum))
}

func sigmoid(x float32) float64 { return 1 / (1 + math.Exp(-float64(x))) }
