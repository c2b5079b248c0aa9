package mp3

import (
	"errors"
	"fmt"
	"io"
)

// maxJunk is how far the first frame may lie behind the tags.
const maxJunk = 64 << 10

// Reader decodes a stream. Its memory does not depend on the stream's length.
//
// A tag frame of Xing, LAME or VBRI is not decoded; with the delay and padding
// of LAME's, what the encoder added is cut off at both ends, as mpg123 does. ID3
// and APE tags are skipped wherever they lie, and so is anything else between
// frames. A frame whose main data begins in a frame that is missing is silent. A
// mono frame in a stereo stream goes to both channels, a stereo frame in a mono
// stream is mixed down.
type Reader struct {
	src  io.Reader
	err  error // of src
	cut  bool  // the last frame was incomplete
	lost bool  // bytes between frames belong to none
	buf  [4 * maxFrame]byte
	r, w int // what buf holds

	head    header // of the first frame
	free    int    // bytes of a frame of free format, without padding
	info    info
	inSync  bool
	pending bool // the first frame is at r, checked

	t        *tables
	main     [511 + maxFrame + 8]byte
	mainLen  int
	side     sideInfo
	factors  [2]scalefactors
	spectra  [2]spectrum
	hybrids  [2]hybrid
	synths   [2]synthesis
	slots    [18][subbands]float32
	mix      [lines]float32
	channels int // of the last frame

	out      [2 * lines * 2]float32
	outR     int // floats
	outW     int
	position int64 // in frames of samples, of what is decoded next
	begin    int64 // what lies before is the encoder's
	end      int64 // what lies from here to total is, too
	total    int64
}

// NewReader reads up to the first frame of r.
func NewReader(r io.Reader) (*Reader, error) {
	d := &Reader{src: r, t: shared()}
	if err := d.first(); err != nil {
		return nil, err
	}
	d.channels = d.head.channels()
	frame := d.buf[d.r : d.r+d.head.size(d.free)]
	if in, ok := parseInfo(frame, d.head); ok {
		d.info = in
		d.r += len(frame)
		d.pending = false
		d.total = in.frames * int64(d.head.granules()*lines)
		d.end = d.total
		if in.delay >= 0 && in.frames > 0 {
			begin := int64(in.delay) + DecoderDelay
			end := min(d.total-int64(in.padding)+DecoderDelay, d.total)
			if begin < end {
				d.begin, d.end = begin, end
			}
		} else if in.delay > 0 { // a stream: its end is not known, its beginning is
			d.begin = int64(in.delay) + DecoderDelay
		}
	}
	return d, nil
}

// Rate returns the samples per second of a channel.
func (d *Reader) Rate() int { return d.head.rate() }

// Channels returns 1 or 2.
func (d *Reader) Channels() int { return d.head.channels() }

// Frames returns how many frames of samples the stream's tag promises, -1 if it
// does not tell.
func (d *Reader) Frames() int64 {
	if d.info.frames == 0 {
		return -1
	}
	return d.end - d.begin
}

// Cut reports, when Read has come to the end, that the last frame was incomplete.
func (d *Reader) Cut() bool { return d.cut }

// Lost tells whether sound between frames is missing. Nothing tells how much: no silence stands for it.
func (d *Reader) Lost() (frames int64, some bool) { return 0, d.lost }

// Read decodes whole frames of interleaved samples in [-1, 1] (an overdriven
// stream goes beyond) into dst and returns how many floats it wrote. At the end
// it returns io.EOF; an incomplete last frame is dropped. Errors wrap ErrUnsupported
// or are src's.
func (d *Reader) Read(dst []float32) (int, error) {
	nch := d.Channels()
	if len(dst) < nch {
		return 0, io.ErrShortBuffer
	}
	dst = dst[:len(dst)/nch*nch]
	for d.outR == d.outW {
		frame, h, err := d.next()
		if err != nil {
			return 0, err
		}
		d.decode(frame, h)
		d.r += len(frame)
		d.trim()
	}
	n := copy(dst, d.out[d.outR:d.outW])
	d.outR += n
	return n, nil
}

// trim drops what the encoder added from the frame just decoded.
func (d *Reader) trim() {
	nch := int64(d.Channels())
	from := d.position
	n := int64(d.outW) / nch
	d.position += n
	lo := min(max(d.begin-from, 0), n)
	hi := n
	if from < d.total { // beyond what the tag announced, all is sound
		hi = min(max(d.end-from, lo), n)
	}
	d.outR, d.outW = int(lo*nch), int(hi*nch)
}

// fill has at least n bytes in the buffer, unless the input ends before.
func (d *Reader) fill(n int) bool {
	if d.w-d.r >= n {
		return true
	}
	if d.r > 0 {
		copy(d.buf[:], d.buf[d.r:d.w])
		d.w -= d.r
		d.r = 0
	}
	for empty := 0; d.w < n && d.err == nil; {
		var k int
		k, d.err = d.src.Read(d.buf[d.w : len(d.buf)-8])
		d.w += k
		if k > 0 {
			empty = 0
		} else if empty++; empty >= 100 && d.err == nil {
			d.err = io.ErrNoProgress
		}
	}
	return d.w >= n
}

// skip drops n bytes.
func (d *Reader) skip(n int64) {
	for n > 0 && d.fill(1) {
		k := min(n, int64(d.w-d.r))
		d.r += int(k)
		n -= k
	}
}

// ended is the error when the input has no more frames.
func (d *Reader) ended() error {
	if d.err != nil && !errors.Is(d.err, io.EOF) {
		return d.err
	}
	return io.EOF
}

// first finds the first frame and keeps its header.
func (d *Reader) first() error {
	for junk := 0; junk <= maxJunk; {
		if !d.fill(32) && d.w-d.r < 4 {
			if err := d.ended(); err != io.EOF {
				return err
			}
			break
		}
		if n, ok := tagSize(d.buf[d.r:d.w]); ok {
			d.skip(n)
			continue
		}
		h := headerOf(d.buf[d.r:])
		if h.valid() {
			free := 0
			if h.free() && h.layer() == layer3 {
				free = d.freeSize(h)
			}
			if (!h.free() || free > 0) && d.follows(h, free, 1) {
				if h.layer() != layer3 {
					return h.unsupported()
				}
				d.head, d.free, d.inSync, d.pending = h, free, true, true
				return nil
			}
		}
		d.r++
		junk++
	}
	return fmt.Errorf("%w: no frame of MPEG audio", ErrFormat)
}

// next returns the next frame, which stays in the buffer until d.r moves.
func (d *Reader) next() ([]byte, header, error) {
	for {
		if !d.fill(32) && d.w-d.r < 4 {
			return nil, 0, d.ended()
		}
		if n, ok := tagSize(d.buf[d.r:d.w]); ok {
			d.skip(n)
			continue
		}
		h := headerOf(d.buf[d.r:])
		switch {
		case !h.valid():
		case d.pending, h.like(d.head) && (d.inSync || d.follows(h, d.free, 1)):
			size := h.size(d.free)
			if size < h.head() || size > maxFrame {
				break
			}
			if !d.fill(size) {
				d.cut = true
				return nil, 0, d.ended()
			}
			d.lost = d.lost || !d.inSync
			d.pending, d.inSync = false, true
			return d.buf[d.r : d.r+size], h, nil
		case h.layer() == layer3 && !h.free() && h.rate() != d.head.rate() && d.follows(h, 0, 3):
			return nil, 0, fmt.Errorf("%w: the sample rate changes from %d to %d Hz", ErrUnsupported, d.head.rate(), h.rate())
		}
		// Lost: main data that begins before this place may be missing its middle.
		d.inSync, d.mainLen = false, 0
		d.r++
	}
}

// follows tells whether the frame with header h at d.r is followed by n others
// of its kind, or by a tag or the end of the input.
func (d *Reader) follows(h header, free, n int) bool {
	at := 0
	o := h
	for range n {
		size := o.size(free)
		if size < o.head() || size > maxFrame {
			return false
		}
		at += size
		if at+32 > len(d.buf)-8 {
			return true
		}
		if !d.fill(at+32) && d.w-d.r < at+4 {
			return d.w-d.r >= at
		}
		if _, ok := tagSize(d.buf[d.r+at : d.w]); ok {
			return true
		}
		o = headerOf(d.buf[d.r+at:])
		if !o.valid() || !o.like(h) {
			return false
		}
	}
	return true
}

// freeSize finds the length of the frames of free format, without padding, as
// the distance at which two headers follow that of d.r; 0 if there is none.
func (d *Reader) freeSize(h header) int {
	d.fill(2*maxFrame + 8)
	b := d.buf[d.r:d.w]
	for at := h.head(); at <= maxFrame && at+4 <= len(b); at++ {
		if b[at] != 0xFF {
			continue
		}
		o := headerOf(b[at:])
		if !o.valid() || !o.like(h) {
			continue
		}
		free := at - h.padding()
		third := at + o.size(free)
		if third+4 > len(b) {
			if third == len(b) {
				return free
			}
			continue
		}
		if p := headerOf(b[third:]); p.valid() && p.like(h) {
			return free
		}
	}
	return 0
}
