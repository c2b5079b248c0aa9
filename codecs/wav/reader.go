// Package wav reads and writes RIFF WAVE files: integer and float PCM, G.711,
// IMA and Microsoft ADPCM, in RIFF, RIFX, RF64 and BW64.
//
// Microsoft & IBM, "Multimedia Programming Interface and Data Specifications
// 1.0"; Microsoft, "New Multimedia Data Types and Data Techniques"; EBU Tech
// 3306; ITU-R BS.2088.
package wav

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"time"

	"quern/codecs/internal/fault"
	"quern/codecs/pcm"
)

var (
	// ErrFormat is wrapped by every error about malformed data.
	ErrFormat = fault.Malformed("WAV")

	// ErrUnsupported is wrapped by every error about a valid file that this
	// package does not decode.
	ErrUnsupported = fault.Unsupported("WAV")
)

const (
	// unknownSize stands for a stream without an end, or for a size that RF64's
	// ds64 chunk holds.
	unknownSize = math.MaxUint32

	// soxSize is what sox writes to a pipe.
	soxSize = 0x7ffff000
)

// A Reader decodes one WAV file.
type Reader struct {
	r      *bufio.Reader
	format format
	left   int64 // bytes of the data chunk that were not read, -1 when unknown
	frames int64 // that the header claims, -1 when unknown
	blocks blockDecoder

	raw  []byte
	buf  []float32 // decoded, not yet read, of ADPCM
	next int
	done int64 // frames returned
}

// NewReader reads up to the first sample.
func NewReader(r io.Reader) (*Reader, error) {
	d := &Reader{r: bufio.NewReader(r), frames: -1}
	var head [12]byte
	if _, err := io.ReadFull(d.r, head[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, fault.NoEOF(err))
	}
	order := binary.ByteOrder(binary.LittleEndian)
	switch string(head[:4]) {
	case "RIFF", "RF64", "BW64":
	case "RIFX":
		order = binary.BigEndian
	default:
		return nil, fmt.Errorf("%w: no RIFF header", ErrFormat)
	}
	if string(head[8:]) != "WAVE" {
		return nil, fmt.Errorf("%w: a RIFF file of %q", ErrFormat, head[8:])
	}
	var longData, fact int64 = -1, -1
	for {
		var h [8]byte
		if _, err := io.ReadFull(d.r, h[:]); err != nil {
			return nil, fmt.Errorf("%w: no data chunk: %w", ErrFormat, fault.NoEOF(err))
		}
		id, size := string(h[:4]), order.Uint32(h[4:])
		if id == "data" {
			return d, d.start(int64(size), longData, fact)
		}
		var body [64]byte // as much of a chunk as is looked at
		b := body[:min(size, uint32(len(body)))]
		if _, err := io.ReadFull(d.r, b); err != nil {
			return nil, fmt.Errorf("%w: chunk %q: %w", ErrFormat, id, fault.NoEOF(err))
		}
		rest := int64(size) - int64(len(b)) + int64(size&1) // chunks are padded to even sizes
		if _, err := io.CopyN(io.Discard, d.r, rest); err != nil {
			return nil, fmt.Errorf("%w: chunk %q: %w", ErrFormat, id, fault.NoEOF(err))
		}
		switch {
		case id == "fmt ":
			var err error
			if d.format, err = parseFormat(b, order); err != nil {
				return nil, err
			}
		case id == "fact" && len(b) >= 4:
			fact = int64(order.Uint32(b))
		case id == "ds64" && len(b) >= 16:
			longData = int64(order.Uint64(b[8:]) & math.MaxInt64)
		}
	}
}

// start is called at the first byte of the data chunk.
func (d *Reader) start(size, longData, fact int64) error {
	f := &d.format
	if f.channels == 0 {
		return fmt.Errorf("%w: no fmt chunk before the data", ErrFormat)
	}
	d.left = size
	switch {
	case size == unknownSize && longData > 0:
		d.left = longData
	case size == unknownSize, size == soxSize, size == 0:
		// A program that could not seek back. An empty file says so by its end.
		d.left = -1
	}
	if d.blocks = f.blocks; d.blocks != nil {
		d.raw = make([]byte, f.blockAlign)
		if d.left >= 0 {
			d.frames = (d.left + int64(f.blockAlign) - 1) / int64(f.blockAlign) * int64(d.blocks.frames(f.blockAlign))
			if fact > 0 {
				d.frames = min(d.frames, fact)
			}
		}
	} else {
		d.raw = make([]byte, max(1<<14/f.blockAlign, 1)*f.blockAlign)
		if d.left >= 0 {
			d.frames = d.left / int64(f.blockAlign)
		}
	}
	return nil
}

// Rate returns the sampling rate in Hz.
func (d *Reader) Rate() int { return d.format.rate }

// Channels returns the number of channels, in WAVE order.
func (d *Reader) Channels() int { return d.format.channels }

// Duration returns the length that the header claims, 0 when it does not.
func (d *Reader) Duration() time.Duration {
	if d.frames < 0 {
		return 0
	}
	return time.Duration(min(float64(d.frames)/float64(d.format.rate), 1e9) * float64(time.Second))
}

// Read fills dst with whole frames, interleaved. Data that is shorter than its
// header claims ends with its last whole frame, or block of ADPCM.
func (d *Reader) Read(dst []float32) (int, error) {
	channels := d.format.channels
	dst = dst[:len(dst)/channels*channels]
	if d.blocks != nil {
		return d.readBlocks(dst)
	}
	size := d.format.blockAlign
	want := min(len(dst)/channels*size, len(d.raw))
	b, err := d.fill(want, size)
	if len(b) == 0 {
		return 0, err
	}
	return len(pcm.Decode(dst[:0], b, d.format.sample, d.format.order)), nil
}

// fill reads up to n bytes of data, whole units of the size given.
func (d *Reader) fill(n, unit int) ([]byte, error) {
	if d.left >= 0 {
		n = int(min(int64(n), d.left/int64(unit)*int64(unit)))
		if n == 0 {
			return nil, io.EOF
		}
	}
	got, err := io.ReadFull(d.r, d.raw[:n])
	if d.left >= 0 {
		d.left -= int64(got)
	}
	if got >= unit || n == 0 {
		return d.raw[:got/unit*unit], nil
	}
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return nil, err
}

func (d *Reader) readBlocks(dst []float32) (int, error) {
	for d.next == len(d.buf) {
		b, err := d.fill(d.format.blockAlign, d.format.blockAlign)
		if err != nil {
			return 0, err
		}
		d.buf, d.next = d.blocks.decode(d.buf[:0], b), 0
		if d.frames >= 0 {
			rest := max(d.frames-d.done, 0) * int64(d.format.channels)
			d.buf = d.buf[:min(int64(len(d.buf)), rest)]
			if len(d.buf) == 0 {
				return 0, io.EOF
			}
		}
		d.done += int64(len(d.buf) / d.format.channels)
	}
	n := copy(dst, d.buf[d.next:])
	d.next += n
	return n, nil
}
