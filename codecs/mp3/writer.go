package mp3

import (
	"errors"
	"fmt"
	"io"
	"math"

	"quern/codecs/internal/psycho"
	"quern/codecs/pcm"
)

// EncoderDelay is by how many samples the sound lies behind the start of what
// Writer writes, beyond a decoder's own DecoderDelay: a decoder that trims
// nothing puts the first sample written at EncoderDelay + DecoderDelay.
const EncoderDelay = 1104

// Writer encodes a stream at a constant bitrate. No frame uses data of another
// (main_data_begin is 0), so that the stream may be cut between any two frames and
// such pieces may be joined.
//
// The first frame is a tag with no sound that tells decoders what lies in front of the
// first sample. When the destination can seek, Close adds how many frames there are and
// what lies behind the last sample.
type Writer struct {
	dst   io.Writer
	err   error
	head  header
	kbps  int
	rest  int // of the division that gives the frame size: padding
	limit int // lines from here on are left out

	t        *analysisTables
	layouts  *[3]layout
	edges    []int
	models   [2]*psycho.Model // long, short
	counter  counter
	channels [2]analysis
	short    [4]bool // granules of analysis.sub that want short blocks
	last     int     // block type before
	parts    [4]part
	ms       [2][2]part // the sum and difference of granules' channels
	bits     bitWriter

	in      []float32 // interleaved, less than a frame
	tag     int       // bytes of the tag frame, 0 before it is written
	bytes   int64     // of the frames behind it
	written int64     // frames of samples
	framed  int64     // frames of samples that left in MP3 frames
	closed  bool
}

// NewWriter returns a Writer of a stream of rate Hz with 1 or 2 channels at
// kbps kbit/s. Rates and bitrates are those the standards have; the error for others
// names the nearest.
func NewWriter(w io.Writer, rate, channels, kbps int) (*Writer, error) {
	h, err := newHeader(rate, channels, kbps)
	if err != nil {
		return nil, err
	}
	r := h.bands()
	e := &Writer{dst: w, head: h, kbps: kbps, t: analysisShared(), layouts: &shared().layouts[r]}
	e.edges = sfBands[r].long[:]
	e.models = [2]*psycho.Model{newModel(&e.layouts[kindLong], rate), newModel(&e.layouts[kindShort], rate)}
	e.counter.lengths = lengthsShared()
	e.in = make([]float32, 0, h.granules()*lines*channels)
	e.limit = min(int(psycho.Cutoff(kbps/channels)*2*lines/float64(rate))+1, lines)
	return e, nil
}

// rates are the sample rates there are, with the header's version and code.
var rates = []struct{ rate, version, code int }{
	{8000, mpeg25, 2}, {11025, mpeg25, 0}, {12000, mpeg25, 1},
	{16000, mpeg2, 2}, {22050, mpeg2, 0}, {24000, mpeg2, 1},
	{32000, mpeg1, 2}, {44100, mpeg1, 0}, {48000, mpeg1, 1},
}

func newHeader(rate, channels, kbps int) (header, error) {
	if channels != 1 && channels != 2 {
		return 0, fmt.Errorf("%w: %d channels, at most 2", ErrUnsupported, channels)
	}
	near := rates[0]
	for _, r := range rates {
		if abs(r.rate-rate) < abs(near.rate-rate) {
			near = r
		}
	}
	if near.rate != rate {
		return 0, fmt.Errorf("%w: a sample rate of %d Hz, the nearest is %d", ErrUnsupported, rate, near.rate)
	}
	table := &kbpsTable[0][0]
	if near.version != mpeg1 {
		table = &kbpsTable[1][0]
	}
	index := 1
	for i := 2; i < len(table); i++ {
		if abs(table[i]-kbps) < abs(table[index]-kbps) {
			index = i
		}
	}
	if table[index] != kbps {
		return 0, fmt.Errorf("%w: %d kbit/s at %d Hz, the nearest is %d", ErrUnsupported, kbps, rate, table[index])
	}
	mode := modeMono
	if channels == 2 {
		mode = modeJoint
	}
	const sync, noCRC, original header = 0x7FF << 21, 1 << 16, 1 << 2
	return sync | noCRC | original | header(near.version<<19|layer3<<17|index<<12|near.code<<10|mode<<6), nil
}

func abs(v int) int { return max(v, -v) }

// Write encodes frames of interleaved samples in [-1, 1] and writes every MP3
// frame that is complete. Samples beyond are clipped; those that are not finite
// are an error. The encoder looks ahead one granule, so the last samples leave
// with Close.
func (e *Writer) Write(x []float32) error {
	if nch := e.head.channels(); len(x)%nch != 0 {
		panic(fmt.Sprintf("mp3: Write of %d samples in %d channels", len(x), nch))
	}
	if e.closed && e.err == nil {
		e.err = errors.New("mp3: Write after Close")
	}
	if err := pcm.Check(x); err != nil && e.err == nil {
		return fmt.Errorf("mp3: %w", err)
	}
	e.begin()
	e.written += int64(len(x) / e.head.channels())
	for len(x) > 0 && e.err == nil {
		n := min(len(x), cap(e.in)-len(e.in))
		for _, v := range x[:n] {
			e.in = append(e.in, max(-1, min(1, v)))
		}
		x = x[n:]
		if len(e.in) == cap(e.in) {
			e.encode()
		}
	}
	return e.err
}

// Close writes the frames that hold the end of the sound: decoded, the stream
// has at least EncoderDelay + DecoderDelay samples more than were written.
func (e *Writer) Close() error {
	if e.closed {
		return e.err
	}
	e.closed = true
	for e.err == nil && e.written > 0 && e.framed < e.written+EncoderDelay+DecoderDelay {
		for len(e.in) < cap(e.in) {
			e.in = append(e.in, 0)
		}
		e.encode()
	}
	e.finish()
	return e.err
}

// begin writes the tag once.
func (e *Writer) begin() {
	if e.tag > 0 || e.err != nil {
		return
	}
	tag := infoFrame(e.head, e.kbps, info{delay: EncoderDelay}, 0)
	e.tag = len(tag)
	_, e.err = e.dst.Write(tag)
}

// finish completes the tag where the destination can seek.
func (e *Writer) finish() {
	seek, ok := e.dst.(io.Seeker)
	if !ok || e.err != nil || e.framed == 0 {
		return
	}
	frames := e.framed / int64(e.head.granules()*lines)
	padding := e.framed - e.written - EncoderDelay
	if _, err := seek.Seek(-int64(e.tag)-e.bytes, io.SeekCurrent); err != nil {
		return // not a file after all, a pipe
	}
	in := info{frames: frames, delay: EncoderDelay, padding: int(padding)}
	if _, e.err = e.dst.Write(infoFrame(e.head, e.kbps, in, int64(e.tag)+e.bytes)); e.err == nil {
		_, e.err = seek.Seek(e.bytes, io.SeekCurrent)
	}
}

// encode makes a frame of e.in.
func (e *Writer) encode() {
	h := e.head
	ngr, nch := h.granules(), h.channels()
	e.analyse(ngr, nch)
	e.in = e.in[:0]

	bytes := 72000 * ngr * e.kbps
	size := bytes / h.rate()
	e.rest += bytes % h.rate()
	if e.rest >= h.rate() {
		e.rest -= h.rate()
		size++
		h |= 1 << 9
	}

	var parts [4]*part
	ms := e.spectra(&parts, ngr, nch)
	if ms {
		h |= 1 << 5
	}
	used := parts[:ngr*nch]
	budget := 8 * (size - h.head())
	level := estimate(used, budget)
	fbits := 0
	for _, p := range used {
		p.setPow()
		p.chooseFactors(level, h.lsf(), true)
		fbits += p.fbits
	}
	if fbits > budget/4 { // too dear
		for _, p := range used {
			p.chooseFactors(level, h.lsf(), false)
		}
	}
	fit(used, &e.counter, budget)
	e.bits.frame(h, used, size)
	e.framed += int64(ngr * lines)
	e.bytes += int64(len(e.bits.Buf))
	_, e.err = e.dst.Write(e.bits.Buf)
}

// analyse moves the subband samples on by a frame and chooses short blocks.
func (e *Writer) analyse(ngr, nch int) {
	copy(e.short[:], e.short[ngr:ngr+2])
	for ch := range nch {
		a := &e.channels[ch]
		copy(a.sub[:2], a.sub[ngr:ngr+2])
		for gr := range ngr {
			a.polyphase(e.t, e.in[gr*lines*nch+ch:], nch, &a.sub[2+gr])
		}
	}
	for gr := 2; gr < 2+ngr; gr++ {
		e.short[gr] = false
		for ch := range nch {
			s := &e.channels[ch].sub
			e.short[gr] = e.short[gr] || attack(&s[gr-2], &s[gr-1], &s[gr])
		}
	}
}

// spectra fills the parts of a frame and tells whether they hold sum and
// difference.
func (e *Writer) spectra(parts *[4]*part, ngr, nch int) (ms bool) {
	plain, joint := 0.0, 0.0
	for gr := range ngr {
		typ := psycho.NextBlock(e.last, e.short[gr+1], e.short[gr+2])
		e.last = typ
		for ch := range nch {
			p := &e.parts[gr*nch+ch]
			parts[gr*nch+ch] = p
			e.prepare(p, typ)
			s := &e.channels[ch].sub
			mdct(e.t, &s[gr], &s[gr+1], typ, e.limit, &p.x)
			if typ == 2 {
				p.windowOrder()
			}
			p.noiseTargets(e.models[p.kind()])
		}
		if nch == 2 {
			a, b := e.joint(gr, typ)
			plain += a
			joint += b
		}
	}
	if nch == 1 || joint >= plain {
		return false
	}
	for gr := range ngr {
		for ch := range nch {
			parts[gr*nch+ch] = &e.ms[gr][ch]
		}
	}
	return true
}

// joint fills e.ms[gr] with the sum and difference of the granule's channels
// and estimates the bits of both ways. What noise the difference gets, both channels
// hear: it must suit the one that bears less.
func (e *Writer) joint(gr, typ int) (plain, joint float64) {
	left, right := &e.parts[2*gr], &e.parts[2*gr+1]
	mid, side := &e.ms[gr][0], &e.ms[gr][1]
	e.prepare(mid, typ)
	e.prepare(side, typ)
	for i, l := range left.x {
		r := right.x[i]
		mid.x[i], side.x[i] = (l+r)/math.Sqrt2, (l-r)/math.Sqrt2
	}
	for _, p := range [2]*part{mid, side} {
		p.noiseTargets(e.models[p.kind()])
		for b := range p.l.n {
			p.target[b] = min(left.target[b], right.target[b])
		}
	}
	level := math.Exp2(-6)
	for i, p := range [4]*part{left, right, mid, side} {
		var noise [39]float64
		for b := range p.l.n {
			noise[b] = p.target[b] * level
		}
		if i < 2 {
			plain += psycho.Entropy(p.energy[:p.l.n], noise[:], p.l.width[:])
		} else {
			joint += psycho.Entropy(p.energy[:p.l.n], noise[:], p.l.width[:])
		}
	}
	return plain, joint
}

// prepare sets what a part's block type decides.
func (e *Writer) prepare(p *part, typ int) {
	p.blockType = typ
	p.l = &e.layouts[p.kind()]
	p.edges = e.edges
	p.regions[0] = implicitRegion(e.head, &p.granule)
}

// windowOrder undoes reorder: the windows of each band after one another.
func (p *part) windowOrder() {
	var tmp [lines]float32
	for i := 0; i < p.l.n; i += 3 {
		at, w := int(p.l.start[i]), int(p.l.width[i])
		for j := range w {
			for win := range 3 {
				tmp[at+win*w+j] = p.x[at+3*j+win]
			}
		}
	}
	p.x = tmp
}
