package flac

import (
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"math/bits"

	"quern/codecs/internal/fault"
	"quern/codecs/pcm"
)

// ErrOption is wrapped by the error for what cannot be written.
var ErrOption = fault.Unsupported("FLAC encoding")

const (
	blockSize   = 4096
	streamBlock = 8 + infoSize // magic, block header and STREAMINFO
	maxRate     = 655350
	sampleBits  = 16
)

// Channel assignments: RFC 9639, section 9.1.3.
const (
	leftSide  = 8
	rightSide = 9
	midSide   = 10
)

// A Writer encodes a native FLAC stream of 16 bits a sample. Frames go out as
// they fill up; the length, sizes and checksum in the header stay unknown unless the
// destination can seek.
type Writer struct {
	w              io.Writer
	rate, channels int
	pending        [][]int32 // per channel, less than a block
	begun          bool
	number         uint64 // of the next frame
	frames         int64  // of samples, written
	bytes          int64  // of frames, written
	minSize        int    // of a frame, in bytes
	maxSize        int
	sum            hash.Hash // MD5 of the samples, nil when the header is written once
	raw            []byte
	bits           bitWriter
	plans          [4]subframe // of the channels, or of left, right, middle and side
	side           [2][]int32  // middle and side
}

// NewWriter returns a Writer for up to eight channels.
func NewWriter(w io.Writer, rate, channels int) (*Writer, error) {
	if rate <= 0 || rate > maxRate || channels < 1 || channels > 8 {
		return nil, fmt.Errorf("%w: %d Hz, %d channels", ErrOption, rate, channels)
	}
	e := &Writer{w: w, rate: rate, channels: channels, pending: make([][]int32, channels)}
	if _, ok := w.(io.Seeker); ok {
		e.sum = md5.New()
	}
	return e, nil
}

// Write encodes x, whole frames, interleaved, rounded to 16 bits. Samples beyond
// full scale are clipped; those that are not finite are an error.
func (w *Writer) Write(x []float32) error {
	if len(x)%w.channels != 0 {
		panic(fmt.Sprintf("flac: Write of %d samples for %d channels", len(x), w.channels))
	}
	if err := pcm.Check(x); err != nil {
		return fmt.Errorf("flac: %w", err)
	}
	if err := w.begin(); err != nil {
		return err
	}
	for len(x) > 0 {
		n := min(len(x)/w.channels, blockSize-len(w.pending[0]))
		for i, v := range x[:n*w.channels] {
			c := i % w.channels
			w.pending[c] = append(w.pending[c], pcm.Quantize(v, sampleBits))
		}
		x = x[n*w.channels:]
		if len(w.pending[0]) == blockSize {
			if err := w.frame(); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin writes the header once.
func (w *Writer) begin() error {
	if w.begun {
		return nil
	}
	w.begun = true
	_, err := w.w.Write(w.header())
	return err
}

// header returns the magic and STREAMINFO: RFC 9639, section 8.2. Zeros stand
// for what is not known.
func (w *Writer) header() []byte {
	b := append(make([]byte, 0, streamBlock), magic...)
	b = append(b, lastBlockFlag, 0, 0, infoSize)
	b = binary.BigEndian.AppendUint16(b, blockSize)
	b = binary.BigEndian.AppendUint16(b, blockSize)
	b = append(b, byte(w.minSize>>16), byte(w.minSize>>8), byte(w.minSize))
	b = append(b, byte(w.maxSize>>16), byte(w.maxSize>>8), byte(w.maxSize))
	total := uint64(0)
	if w.frames < 1<<36 {
		total = uint64(w.frames)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(w.rate)<<44|uint64(w.channels-1)<<41|(sampleBits-1)<<36|total)
	if w.frames > 0 && w.sum != nil {
		return w.sum.Sum(b)
	}
	return append(b, make([]byte, md5.Size)...)
}

// Close writes what is left and, if the destination can seek, completes the
// header. It does not close what it writes to.
func (w *Writer) Close() error {
	if err := w.begin(); err != nil {
		return err
	}
	if len(w.pending[0]) > 0 {
		if err := w.frame(); err != nil {
			return err
		}
	}
	seek, ok := w.w.(io.Seeker)
	if !ok || w.frames == 0 {
		return nil
	}
	if _, err := seek.Seek(-(streamBlock + w.bytes), io.SeekCurrent); err != nil {
		return nil // not a file after all, a pipe
	}
	if _, err := w.w.Write(w.header()); err != nil {
		return err
	}
	_, err := seek.Seek(w.bytes, io.SeekCurrent)
	return err
}

// Codes of a frame header: RFC 9639, section 9.1.
const (
	syncFixed = 0x3ffe << 2 // blocks of one size
	size4096  = 12
	size16    = 7 // the size less one follows in 16 bits
	rateHz    = 13
	rate10Hz  = 14
	bits16    = 4
)

// rates are codes of sample rates: RFC 9639, section 9.1.2.
var rates = map[int]uint64{88200: 1, 176400: 2, 192000: 3, 8000: 4, 16000: 5, 22050: 6, 24000: 7, 32000: 8, 44100: 9, 48000: 10, 96000: 11}

// rateCode returns the code of the sample rate, and what follows it in 16 bits, -1 for
// nothing. Frames leave it to STREAMINFO (code 0) where they cannot say it: FFmpeg's parser,
// which Chromium has too, knows no times of such frames.
func (w *Writer) rateCode() (code uint64, more int) {
	switch c, ok := rates[w.rate]; {
	case ok:
		return c, -1
	case w.rate < 1<<16:
		return rateHz, w.rate
	case w.rate%10 == 0:
		return rate10Hz, w.rate / 10
	}
	return 0, -1
}

// frame encodes the pending samples.
func (w *Writer) frame() error {
	n := len(w.pending[0])
	assignment, subframes := w.choose()
	b := &w.bits
	b.Buf = b.Buf[:0]
	size := uint64(size4096)
	if n != blockSize {
		size = size16
	}
	code, rate := w.rateCode()
	b.Write(syncFixed, 16)
	b.Write(size<<4|code, 8)
	b.Write(uint64(assignment)<<4|bits16<<1, 8)
	b.Buf = appendNumber(b.Buf, w.number)
	if n != blockSize {
		b.Write(uint64(n-1), 16)
	}
	if rate >= 0 {
		b.Write(uint64(rate), 16)
	}
	b.Write(uint64(crc8(b.Buf)), 8)
	for _, s := range subframes {
		s.write(b)
	}
	b.Align()
	b.Write(uint64(crc16(b.Buf)), 16)

	w.checksum(n)
	w.number++
	w.frames += int64(n)
	w.bytes += int64(len(b.Buf))
	if w.minSize == 0 || len(b.Buf) < w.minSize {
		w.minSize = len(b.Buf)
	}
	w.maxSize = max(w.maxSize, len(b.Buf))
	for c := range w.pending {
		w.pending[c] = w.pending[c][:0]
	}
	_, err := w.w.Write(b.Buf)
	return err
}

// checksum adds the n pending frames to the MD5 sum: interleaved, little endian.
func (w *Writer) checksum(n int) {
	if w.sum == nil {
		return
	}
	w.raw = w.raw[:0]
	for i := range n {
		for _, x := range w.pending {
			w.raw = binary.LittleEndian.AppendUint16(w.raw, uint16(x[i]))
		}
	}
	w.sum.Write(w.raw)
}

// choose returns the channel assignment that takes the fewest bits, and its
// subframes.
func (w *Writer) choose() (assignment int, subframes []*subframe) {
	if w.channels != 2 {
		for _, x := range w.pending {
			s := new(subframe)
			if w.channels == 1 {
				s = &w.plans[0]
			}
			s.plan(x, sampleBits)
			subframes = append(subframes, s)
		}
		return w.channels - 1, subframes
	}
	left, right := w.pending[0], w.pending[1]
	middle, side := w.side[0][:0], w.side[1][:0]
	for i, l := range left {
		middle = append(middle, (l+right[i])>>1)
		side = append(side, l-right[i])
	}
	w.side = [2][]int32{middle, side}
	l, r, m, s := &w.plans[0], &w.plans[1], &w.plans[2], &w.plans[3]
	l.plan(left, sampleBits)
	r.plan(right, sampleBits)
	m.plan(middle, sampleBits)
	s.plan(side, sampleBits+1)
	best := -1
	for _, o := range []struct {
		assignment int
		subframes  []*subframe
	}{
		{1, []*subframe{l, r}},
		{leftSide, []*subframe{l, s}},
		{rightSide, []*subframe{s, r}},
		{midSide, []*subframe{m, s}},
	} {
		if size := o.subframes[0].size + o.subframes[1].size; best < 0 || size < best {
			best, assignment, subframes = size, o.assignment, o.subframes
		}
	}
	return assignment, subframes
}

// appendNumber appends v as UTF-8 would a character, up to 36 bits: RFC 9639,
// section 9.1.5.
func appendNumber(dst []byte, v uint64) []byte {
	if v < 0x80 {
		return append(dst, byte(v))
	}
	more := (bits.Len64(v) - 2) / 5 // bytes after the first
	dst = append(dst, byte(0xff)<<(7-more)|byte(v>>(6*more)))
	for i := more - 1; i >= 0; i-- {
		dst = append(dst, 0x80|byte(v>>(6*i))&0x3f)
	}
	return dst
}
