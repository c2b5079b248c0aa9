package audio

import (
	"context"
	"io"
	"math"
)

// A Spectrogram is that of a source, as far as it is needed: it keeps
// frames from the current position on and reads on when more are asked for.
//
// The reference cuts off values 80 dB below the loudest moment of the whole
// file. A stream has no whole file, so here it is the loudest moment up to the
// end of the window at hand. Both are the same from the loudest moment on, and
// always in the first window; before it, the floor here is lower.
type Spectrogram struct {
	bank  *MelBank
	read  Reader
	err   error // why it has no more; io.EOF is the usual reason
	audio []float32
	start int       // sample number of audio[0]
	logs  []float32 // (frames, bands)
	tops  []float32 // (frames) loudest band so far
	first int       // number of logs[0]
	block [Block]float32
}

// Block is how many samples are read at a time.
const Block = Rate / 2

// NewSpectrogram returns the spectrogram of what read delivers, of which nothing is
// read yet.
func NewSpectrogram(bank *MelBank, read Reader) *Spectrogram {
	return &Spectrogram{bank: bank, read: read}
}

// samples is how many samples have been read.
func (f *Spectrogram) samples() int { return f.start + len(f.audio) }

// Len is the number of the first frame there is not yet.
func (f *Spectrogram) Len() int { return f.first + len(f.tops) }

// Need reads on until there are n frames or the audio has ended, and returns
// how many frames there are, at most n. A frame is there when the 10 ms it
// begins are.
func (f *Spectrogram) Need(ctx context.Context, n int) (int, error) {
	for f.Len() < n && f.err == nil {
		k, err := f.read(ctx, f.block[:])
		f.audio = append(f.audio, f.block[:k]...)
		f.err = err
		f.compute()
	}
	if f.err != nil && f.err != io.EOF {
		return 0, f.err
	}
	return min(n, f.Len()), nil
}

// Held is how many samples and frames f has room for: what it keeps of the source.
func (f *Spectrogram) Held() (samples, frames int) { return cap(f.audio), cap(f.tops) }

// compute makes the frames whose samples are there; at the end of the audio
// those too that reach beyond it, where silence is.
func (f *Spectrogram) compute() {
	last := (f.samples()-pastOfTime)/FrameStep + 1 // frames whose samples are there
	if f.err != nil {
		last = f.samples() / FrameStep
	}
	var x [fftSize]float32
	for t := f.Len(); t < last; t++ {
		at := t*FrameStep - pastOfTime
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
	// Samples that later frames do not need are dropped.
	if drop := f.Len()*FrameStep - pastOfTime - f.start; drop > Rate {
		f.audio = append(f.audio[:0], f.audio[drop:]...)
		f.start += drop
	}
}

// Loudest returns the logarithm of the loudest band in frames from up to to, as
// far as they are there, and of that in all frames up to to.
func (f *Spectrogram) Loudest(from, to int) (here, soFar float32) {
	from, to = max(from, f.first), min(to, f.Len())
	here = float32(math.Inf(-1))
	if from >= to {
		return here, here // nothing is as loud as nothing
	}
	for _, v := range f.logs[(from-f.first)*f.bank.bands : (to-f.first)*f.bank.bands] {
		here = max(here, v)
	}
	return here, f.tops[to-1-f.first]
}

// Drop forgets frames before n, which exists or is the next.
func (f *Spectrogram) Drop(n int) {
	k := min(n-f.first, len(f.tops)-1) // the last one carries the loudest so far
	if k <= 0 {
		return
	}
	f.logs = append(f.logs[:0], f.logs[k*f.bank.bands:]...)
	f.tops = append(f.tops[:0], f.tops[k:]...)
	f.first += k
}

// Window writes the features of n frames from first on to dst, one frame a row,
// and zeros where dst has more rows, as the reference pads.
func (f *Spectrogram) Window(dst []float32, first, n int) {
	bands := f.bank.bands
	at := first - f.first
	normalise(dst[:n*bands], f.logs[at*bands:(at+n)*bands], f.tops[at+n-1])
	clear(dst[n*bands:])
}
