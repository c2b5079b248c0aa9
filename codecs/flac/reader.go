package flac

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"quern/codecs/internal/decoded"
	"quern/codecs/internal/fault"
	"quern/codecs/internal/tag"
)

// Frames that do not decode are tried again from every place where one may begin. In all this
// may cost so many bytes and samples, and those that the input has times searchRatio: then the
// stream ends.
const (
	searchFree  = 16 << 20
	searchRatio = 4
	searchTry   = 256 // what a try costs at least, in bytes
)

// A Reader decodes a native FLAC stream. It passes over what is no frame or does not decode.
// Where the number of the next frame tells how much is missing, silence stands for it.
type Reader struct {
	info   info
	in     tape
	out    decoded.Sound
	read   int64 // frames of samples, decoded or silent
	next   int64 // number of the sample behind the last frame
	passed int64 // bytes since the last frame that belong to none
	tag    bool  // they begin with a tag
	spent  int64 // on frames that did not decode
	cut    bool  // the stream ended before its sound did
}

// NewReader reads the metadata of r up to the first frame.
func NewReader(r io.Reader) (*Reader, error) {
	in := bufio.NewReader(r)
	d := &Reader{in: tape{r: in}}
	head := make([]byte, 4+4+infoSize)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, fault.NoEOF(err))
	}
	if string(head[:4]) != magic || head[4]&^lastBlockFlag != 0 || head[5] != 0 || head[6] != 0 || head[7] != infoSize {
		return nil, fmt.Errorf("%w: no STREAMINFO at the start", ErrFormat)
	}
	var err error
	if d.info, err = parseInfo(head[8:]); err != nil {
		return nil, err
	}
	for last := head[4]&lastBlockFlag != 0; !last; {
		var h [4]byte
		if _, err := io.ReadFull(in, h[:]); err != nil {
			return nil, fmt.Errorf("%w: metadata: %w", ErrFormat, fault.NoEOF(err))
		}
		size := int(h[1])<<16 | int(h[2])<<8 | int(h[3])
		if _, err := in.Discard(size); err != nil {
			return nil, fmt.Errorf("%w: metadata: %w", ErrFormat, fault.NoEOF(err))
		}
		last = h[0]&lastBlockFlag != 0
	}
	return d, nil
}

// Rate returns the sampling rate in Hz.
func (d *Reader) Rate() int { return d.info.rate }

// Channels returns the number of channels, which come in WAVE order.
func (d *Reader) Channels() int { return d.info.channels }

// Duration returns the length that the header claims, 0 when it does not.
func (d *Reader) Duration() time.Duration {
	return time.Duration(min(float64(d.info.frames)/float64(d.info.rate), 1e9) * float64(time.Second)) // a header can claim 2000 years
}

// Read fills dst with whole frames, interleaved. When none decodes, the stream ends with
// the first one's error. A frame that is cut off ends the stream as if it were not there;
// bytes that are no frame, behind as many frames as the header claims, do so too.
func (d *Reader) Read(dst []float32) (int, error) {
	dst = dst[:len(dst)/d.info.channels*d.info.channels]
	return d.out.Read(dst, func() bool { return false }, nil, d.frame)
}

// frame decodes the next frame that can be.
func (d *Reader) frame() error {
	for {
		d.in.mark()
		buf, h, err := d.info.decode(d.out.Buf[:0], &d.in)
		d.out.Buf = buf
		switch {
		case err == nil:
			at, n := d.info.at(h), int64(len(buf)/d.info.channels)
			if d.passed > 0 {
				silent := d.out.Hole(at-d.next, d.passed, d.info.rate)
				d.out.Silence = silent * int64(d.info.channels)
				d.read += silent
				d.passed = 0
			}
			d.out.Good()
			d.next = at + n
			d.read += n
			return nil
		case d.in.err != nil && d.in.err != io.EOF:
			return err
		case d.info.frames > 0 && d.read >= d.info.frames:
			return io.EOF
		case err == io.EOF:
			d.cut = d.passed > 0 && !d.tag
			return io.EOF
		}
		if d.passed == 0 {
			d.tag = tag.Begins(d.in.frame())
		}
		if !d.tag && !errors.Is(err, io.ErrUnexpectedEOF) {
			d.out.Drop(err)
		}
		d.spent += searchTry + int64(d.in.read()) + int64(h.BlockSize)*int64(d.info.channels)
		passed, ok := d.in.again()
		d.passed += passed
		if !ok || d.spent > searchFree+searchRatio*d.in.total {
			if d.in.err != nil && d.in.err != io.EOF {
				return fmt.Errorf("%w: %w", ErrFormat, d.in.err)
			}
			d.cut = !d.tag
			return io.EOF
		}
	}
}

// Cut reports, when Read has come to the end, that frames are missing there.
func (d *Reader) Cut() bool { return d.cut }

// Lost tells whether frames before the last one are missing, and how much silence stands for them.
func (d *Reader) Lost() (frames int64, some bool) { return d.out.Lost() }
