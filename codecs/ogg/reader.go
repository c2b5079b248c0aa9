package ogg

import (
	"cmp"
	"fmt"
	"io"

	"quern/codecs/internal/decoded"
)

// maxLinks bounds the links of a chain. A link of a few hundred bytes can ask
// for a decoder whose tables take milliseconds to build.
const maxLinks = 1000

// A Reader decodes the first audio stream of an Ogg file and, when files were
// chained, of every link. Links must agree in rate; a mono link after a stereo
// one, or the other way round, comes out with the channels of the first.
type Reader struct {
	pages          pageReader
	codec          string
	rate, channels int

	// The link being read.
	links   int // with those before
	link    link
	serial  uint32
	pack    packets
	data    bool   // a page after the first ones was seen
	audio   bool   // the headers are read
	last    bool   // the last page was seen
	decoded int64  // frames
	start   int64  // granule position of the first frame
	started bool   // start is known
	skip    int    // frames still to drop
	limit   int64  // frames that count, -1 when all do
	number  uint32 // of the next page
	passed  int64  // bytes that belong to no page, since the last page of the link
	hole    bool   // pages before those in queue are missing

	granule int64    // of the page in queue
	queue   [][]byte // packets of one page that wait
	store   []byte   // their bytes

	out  decoded.Sound
	note error // why the first stream that was passed over was
}

// NewReader reads up to the first packet of audio.
func NewReader(r io.Reader) (*Reader, error) {
	d := &Reader{pages: newPageReader(r)}
	for len(d.queue) == 0 {
		err := d.readPage()
		if err == io.EOF {
			err = d.nothing()
		}
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// nothing says why there is no audio up to the end of the input.
func (d *Reader) nothing() error {
	switch {
	case d.link != nil:
		return fmt.Errorf("%w: the %s stream ends before its first packet of audio", ErrFormat, d.codec)
	case d.note != nil:
		return d.note
	case d.data:
		return fmt.Errorf("%w: the first page is missing (a later MediaRecorder slice)", ErrUnsupported)
	}
	return fmt.Errorf("%w: no page", ErrFormat)
}

// Codec returns "Opus", "Vorbis" or "FLAC".
func (d *Reader) Codec() string { return d.codec }

// Rate returns the sampling rate in Hz, 48000 for Opus.
func (d *Reader) Rate() int { return d.rate }

// Channels returns the number of channels; more than two come in WAVE order.
func (d *Reader) Channels() int { return d.channels }

// Read fills dst with whole frames, interleaved. Packets that do not decode are
// dropped; when none decodes, the stream ends with the first one's error. Where the position
// of the page behind missing ones tells how much is missing, silence stands for it.
func (d *Reader) Read(dst []float32) (int, error) {
	dst = dst[:len(dst)/d.channels*d.channels]
	return d.out.Read(dst, func() bool { return len(d.queue) > 0 }, d.decode, d.readPage)
}

// Cut reports, when Read has come to the end, that the stream's last page was not
// there.
func (d *Reader) Cut() bool { return d.out.Err == io.EOF && !d.last }

// Lost tells whether sound within the stream is missing, and how much silence stands for it.
func (d *Reader) Lost() (frames int64, some bool) {
	frames, some = d.out.Lost()
	return frames, some || d.hole
}

// readPage takes the next page and queues its packets of audio.
func (d *Reader) readPage() error {
	p, err := d.pages.next()
	if err != nil {
		return err
	}
	d.passed += p.passed
	if p.flags&flagFirst != 0 {
		if d.hole || d.audio && !d.last && d.passed > 0 {
			d.out.Hole(0, d.passed, d.rate) // the end of the link
		}
		if d.data {
			d.link, d.data = nil, false
		}
		if d.link != nil {
			return nil
		}
		if d.links++; d.links > maxLinks {
			return fmt.Errorf("%w: more than %d streams one after the other", ErrUnsupported, maxLinks)
		}
		d.openLink(p)
		return nil
	}
	d.data = true
	if d.last && d.passed > 0 && p.serial != d.serial {
		d.out.Hole(0, d.passed, d.rate) // a link whose first page is missing
	}
	if d.link == nil || p.serial != d.serial || d.last {
		return nil
	}
	d.follow(p)
	var ends []int
	d.store = d.store[:0]
	err = d.pack.add(p, func(packet []byte) error {
		if !d.audio {
			if wanted, err := d.link.header(packet); wanted || err != nil {
				return err
			}
			if err := d.begin(); err != nil {
				return err
			}
		}
		d.store = append(d.store, packet...)
		ends = append(ends, len(d.store))
		return nil
	})
	if err != nil {
		return err
	}
	from := 0
	for _, end := range ends {
		d.queue = append(d.queue, d.store[from:end])
		from = end
	}
	d.granule = p.granule
	d.last = p.flags&flagLast != 0
	return nil
}

// follow notes whether pages of the link are missing before p. Where nothing was passed over
// before the first sound, a stream was joined in its middle.
func (d *Reader) follow(p page) {
	if missing := p.number > d.number && (d.started || d.passed > 0); missing {
		d.hole = true
		d.pack.drop() // its rest is missing
	}
	if !d.hole {
		d.passed = 0
	}
	d.number = p.number + 1
}

// openLink starts a link with the packet on its first page, unless that is not
// for us.
func (d *Reader) openLink(p page) {
	l, codec, err := openLink(p.body)
	if err != nil {
		if d.note == nil {
			d.note = err
		}
		return
	}
	*d = Reader{
		pages: d.pages, codec: d.codec, rate: d.rate, channels: d.channels,
		links: d.links, link: l, serial: p.serial, limit: -1, number: p.number + 1,
		queue: d.queue, store: d.store, pack: packets{partial: d.pack.partial[:0]},
		out: d.out, note: d.note,
	}
	d.codec = cmp.Or(d.codec, codec)
}

// begin is called between the headers of a link and its first packet of audio.
func (d *Reader) begin() error {
	rate, channels := d.link.Rate(), d.link.Channels()
	if d.rate == 0 {
		d.rate, d.channels = rate, channels
	}
	if rate != d.rate || channels != d.channels && (channels > 2 || d.channels > 2) {
		return fmt.Errorf("%w: a link of %d Hz and %d channels follows one of %d Hz and %d",
			ErrUnsupported, rate, channels, d.rate, d.channels)
	}
	d.audio, d.skip = true, d.link.preSkip()
	return nil
}

// maxBehind bounds the samples of a page that are decoded at once.
const maxBehind = 1 << 22

// decode decodes the next packet of the queue. Behind a hole it decodes all of them, since the
// page's position is that of their end.
func (d *Reader) decode() {
	packets := 1
	for d.out.Add(d.link, d.queue[0]); d.hole && packets < len(d.queue) && len(d.out.Buf) < maxBehind; packets++ {
		d.out.Add(d.link, d.queue[packets])
	}
	d.queue = append(d.queue[:0], d.queue[packets:]...)
	channels := d.link.Channels()
	n := len(d.out.Buf) / channels
	silent := d.bridge(n)
	if len(d.queue) == 0 && !d.started && d.granule >= 0 {
		// A stream cut from a longer one does not start at 0.
		d.start, d.started = max(d.granule-d.decoded-int64(n), 0), true
	}
	// A position before the page itself makes no sense: it is ignored.
	if end := d.granule - d.start; d.last && d.limit < 0 && end >= d.decoded {
		d.limit = end
	}
	if d.limit >= 0 {
		n = int(min(int64(n), max(d.limit-d.decoded, 0)))
	}
	d.decoded += int64(n)
	early := min(silent, int64(d.skip))
	d.skip -= int(early)
	d.out.Silence = (silent - early) * int64(d.channels)
	drop := min(n, d.skip)
	d.skip -= drop
	d.out.Buf = rechannel(d.out.Buf[drop*channels:n*channels], channels, d.channels)
}

// bridge returns how many frames of silence stand for the pages that are missing before the
// page just decoded, which has n frames, if any are.
func (d *Reader) bridge(n int) (silent int64) {
	if !d.hole {
		return 0
	}
	missing := int64(0)
	if len(d.queue) == 0 && d.granule >= 0 {
		missing = d.granule - d.start - d.decoded - int64(n)
	}
	silent = d.out.Hole(missing, d.passed, d.rate)
	d.decoded += silent
	d.hole, d.passed = false, 0
	if silent == 0 {
		d.started = false // what is missing does not count
	}
	return silent
}

// rechannel turns mono into stereo or stereo into mono, in place if it can.
func rechannel(x []float32, from, to int) []float32 {
	switch {
	case from < to:
		out := make([]float32, 0, 2*len(x))
		for _, v := range x {
			out = append(out, v, v)
		}
		return out
	case from > to:
		for i := range len(x) / 2 {
			x[i] = (x[2*i] + x[2*i+1]) / 2
		}
		return x[:len(x)/2]
	}
	return x
}
