package asr

import (
	"context"
	"errors"
	"io"
	"math"
)

// A Source delivers mono audio at Rate, in [-1, 1]. Read fills dst as far as it
// can and returns io.EOF when nothing is left, as io.Reader does.
type Source interface {
	Read(dst []float32) (int, error)
}

// Samples is a Source over audio in memory.
type Samples []float32

// Read implements Source.
func (s *Samples) Read(dst []float32) (int, error) {
	if len(*s) == 0 {
		return 0, io.EOF
	}
	n := copy(dst, *s)
	*s = (*s)[n:]
	return n, nil
}

// errSource is returned for sources that make no progress.
var errSource = errors.New("asr: the audio source returns neither samples nor an error")

// A reader fills dst; it returns io.EOF with less than len(dst) samples at the
// end of the audio.
type reader func(ctx context.Context, dst []float32) (int, error)

// from is the reader of a Source. Samples that are no numbers become silence.
func from(src Source) reader {
	return func(ctx context.Context, dst []float32) (int, error) { return readBlock(ctx, src, dst) }
}

func readBlock(ctx context.Context, src Source, dst []float32) (int, error) {
	n := 0
	for idle := 0; n < len(dst); {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		k, err := src.Read(dst[n:])
		if k < 0 || k > len(dst)-n {
			return n, errSource
		}
		for i, v := range dst[n : n+k] {
			if v != v || v > 1e4 || v < -1e4 {
				dst[n+i] = 0
			}
		}
		n += k
		switch {
		case err != nil:
			return n, err
		case k > 0:
			idle = 0
		default:
			if idle++; idle > 100 {
				return n, errSource
			}
		}
	}
	return n, nil
}

// frames is the spectrogram of a source, as far as it is needed: it keeps
// frames from the current position on and reads on when more are asked for.
//
// The reference cuts off what lies 80 dB below the loudest moment of the whole
// file. A stream has no whole file, so here it is the loudest moment up to the
// end of the window at hand. Both are the same from the loudest moment on, and
// always in the first window; before it, the floor here is lower.
type frames struct {
	bank  *melBank
	read  reader
	err   error // why it has no more; io.EOF is the usual reason
	audio []float32
	start int       // sample number of audio[0]
	logs  []float32 // (frames, bands)
	tops  []float32 // (frames) loudest band so far
	first int       // number of logs[0]
	block [frameBlock]float32
}

// frameBlock is how many samples are read at a time.
const frameBlock = Rate / 2

func newFrames(bank *melBank, read reader) *frames { return &frames{bank: bank, read: read} }

// samples is how many samples have been read.
func (f *frames) samples() int { return f.start + len(f.audio) }

// have is the number of the first frame there is not.
func (f *frames) have() int { return f.first + len(f.tops) }

// need reads on until there are n frames or the audio has ended, and returns
// how many frames there are, at most n. A frame is there when the 10 ms it
// begins are.
func (f *frames) need(ctx context.Context, n int) (int, error) {
	for f.have() < n && f.err == nil {
		k, err := f.read(ctx, f.block[:])
		f.audio = append(f.audio, f.block[:k]...)
		f.err = err
		f.compute()
	}
	if f.err != nil && f.err != io.EOF {
		return 0, f.err
	}
	return min(n, f.have()), nil
}

// compute makes the frames whose samples are there; at the end of the audio
// those too that reach beyond it, where silence is.
func (f *frames) compute() {
	last := (f.samples()-pastOfTime)/hop + 1 // frames whose samples are there
	if f.err != nil {
		last = f.samples() / hop
	}
	var x [fftSize]float32
	for t := f.have(); t < last; t++ {
		at := t*hop - pastOfTime
		for i := range x {
			n := at + i
			if n < 0 {
				n = -n // mirrored before the start
			}
			x[i] = 0
			if n -= f.start; n < len(f.audio) {
				x[i] = f.audio[n]
			}
		}
		f.logs = append(f.logs, make([]float32, f.bank.bands)...)
		top := f.bank.frame(f.logs[len(f.logs)-f.bank.bands:], x[:])
		if n := len(f.tops); n > 0 {
			top = max(top, f.tops[n-1])
		}
		f.tops = append(f.tops, top)
	}
	// What later frames do not look at goes.
	if drop := f.have()*hop - pastOfTime - f.start; drop > Rate {
		f.audio = append(f.audio[:0], f.audio[drop:]...)
		f.start += drop
	}
}

// loudest returns the logarithm of the loudest band in frames from up to to, as
// far as they are there, and of that in all frames up to to.
func (f *frames) loudest(from, to int) (here, soFar float32) {
	from, to = max(from, f.first), min(to, f.have())
	here = float32(math.Inf(-1))
	if from >= to {
		return here, here // nothing is as loud as nothing
	}
	for _, v := range f.logs[(from-f.first)*f.bank.bands : (to-f.first)*f.bank.bands] {
		here = max(here, v)
	}
	return here, f.tops[to-1-f.first]
}

// drop forgets frames before n, which exists or is the next.
func (f *frames) drop(n int) {
	k := min(n-f.first, len(f.tops)-1) // the last one carries the loudest so far
	if k <= 0 {
		return
	}
	f.logs = append(f.logs[:0], f.logs[k*f.bank.bands:]...)
	f.tops = append(f.tops[:0], f.tops[k:]...)
	f.first += k
}

// window writes the features of n frames from first on to dst, one frame a row,
// and zeros where dst has more rows, as the reference pads.
func (f *frames) window(dst []float32, first, n int) {
	bands := f.bank.bands
	at := first - f.first
	normalise(dst[:n*bands], f.logs[at*bands:(at+n)*bands], f.tops[at+n-1])
	clear(dst[n*bands:])
}
