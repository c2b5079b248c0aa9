package codecs

import (
	"io"

	"quern/codecs/resample"
)

// Mono is a Decoder of one channel at a rate of choice, made from another. It
// holds a few thousand samples whatever the length of the stream.
type Mono struct {
	src   Decoder
	rate  int
	conv  *resample.Resampler
	block []float32 // of src
	mixed []float32
	out   []float32 // converted, not yet read
	next  int
	err   error
}

// monoBlock is the number of frames that Mono takes at once.
const monoBlock = 4096

// NewMono returns src mixed down and converted to rate: 16000 is what speech
// recognition wants.
func NewMono(src Decoder, rate int) (*Mono, error) {
	conv, err := resample.New(src.Rate(), rate, 1)
	if err != nil {
		return nil, &Error{Found: "audio", Kind: ErrUnsupported, Err: err}
	}
	return &Mono{src: src, rate: rate, conv: conv, block: make([]float32, monoBlock*src.Channels())}, nil
}

// Rate returns the rate that NewMono was given.
func (m *Mono) Rate() int { return m.rate }

// Channels returns 1.
func (m *Mono) Channels() int { return 1 }

// Read implements Decoder. It fills dst unless the stream ends, so a caller may
// read in blocks of the size it needs.
func (m *Mono) Read(dst []float32) (int, error) {
	n := 0
	for n < len(dst) {
		if m.next < len(m.out) {
			k := copy(dst[n:], m.out[m.next:])
			m.next += k
			n += k
			continue
		}
		if m.err != nil {
			break
		}
		m.out, m.next = m.out[:0], 0
		got, err := m.fill(len(dst) - n)
		m.mixed = resample.Mono(m.mixed[:0], m.block[:got], m.src.Channels())
		m.out = m.conv.Process(m.out, m.mixed)
		if err == io.EOF {
			m.out = m.conv.Flush(m.out)
		}
		m.err = err
	}
	if n == 0 && len(dst) > 0 {
		return 0, m.err
	}
	return n, nil
}

// fill reads what the next so many samples take, which are converted faster together, as far as the
// block holds it.
func (m *Mono) fill(samples int) (got int, err error) {
	channels := m.src.Channels()
	want := min(len(m.block), (int(int64(samples)*int64(m.src.Rate())/int64(m.rate))+1)*channels)
	for got < want && err == nil {
		var k int
		k, err = m.src.Read(m.block[got:])
		got += k
	}
	return got, err
}
