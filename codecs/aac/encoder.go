package aac

import (
	"errors"
	"fmt"
	"math"

	"quern/codecs/internal/bitio"
	"quern/codecs/internal/psycho"
	"quern/codecs/pcm"
)

// EncoderDelay is how many samples lie before the first one written in what a decoder
// makes of an Encoder's units. It is what the slopes of windows need and no less; the
// usual 1024 would be silence.
const EncoderDelay = (maxFrame + maxFrame/8) / 2

// maxBits is what a decoder's buffer holds for each channel.
const maxBits = 6144

// An Encoder makes units of AAC-LC at a constant bit rate: a unit may have more bits than
// its share where others before it left some, up to what a decoder's buffer holds.
//
// It allocates nothing once it is made.
type Encoder struct {
	emit      func(unit []byte) error
	err       error
	closed    bool
	channels  int
	rateIndex int
	written   int64 // frames of samples
	units     int64

	words    *words
	analysis *analysis
	schemes  [2]scheme // long, short
	in       [2][]float32
	onsets   [2]onset
	last     int     // sequence
	short    [2]bool // what the unit to be made and the next want
	spectra  [2][]float32
	group    []int

	division division
	pair     [2]coding
	joint    [maxParts]bool // coded as middle and side
	mask     int            // ms_mask_present
	bands    int            // that are coded

	sections sectioning
	rate     rate
	bits     bitio.Writer
}

// NewEncoder returns an encoder of sound of 1 or 2 channels at bitrate bit/s, of which
// overhead bits a unit are the container's. It passes every unit to emit, which may not
// keep it.
func NewEncoder(rate, channels, bitrate, overhead int, emit func(unit []byte) error) (*Encoder, error) {
	index, err := checkOptions(rate, channels, bitrate)
	if err != nil {
		return nil, err
	}
	e := &Encoder{
		emit: emit, channels: channels, rateIndex: index,
		words: wordsShared(), analysis: newAnalysis(),
		last: eightShort, group: make([]int, 0, 8),
	}
	hz := psycho.Cutoff(bitrate / channels / 1000)
	t := &bandsAtRate[index]
	e.schemes = [2]scheme{newScheme(t.long, maxFrame, rate, hz), newScheme(t.short, maxFrame/8, rate, hz)}
	for c := range channels {
		e.in[c] = make([]float32, EncoderDelay, 3*maxFrame)
		e.spectra[c] = make([]float32, maxFrame)
		e.pair[c].division = &e.division
	}
	e.rate.init(rate, channels, bitrate, overhead)
	return e, nil
}

// Bounds of the bit rate: what a decoder's buffer allows a unit, and what a unit needs to
// hold anything.
func bitrates(rate, channels int) (least, most int) {
	return max(8000, rate/4), maxBits * channels * rate / maxFrame
}

func checkOptions(rate, channels, bitrate int) (index int, err error) {
	if channels != 1 && channels != 2 {
		return 0, fmt.Errorf("%w: %d channels to encode, at most 2", ErrUnsupported, channels)
	}
	for i, r := range rates {
		if max(r-rate, rate-r) < max(rates[index]-rate, rate-rates[index]) {
			index = i
		}
	}
	if rates[index] != rate {
		return 0, fmt.Errorf("%w: a sample rate of %d Hz, the nearest is %d", ErrUnsupported, rate, rates[index])
	}
	if least, most := bitrates(rate, channels); bitrate < least || bitrate > most {
		return 0, fmt.Errorf("%w: %d bit/s for %d channels at %d Hz, which take %d to %d", ErrUnsupported, bitrate, channels, rate, least, most)
	}
	return index, nil
}

// Config is the AudioSpecificConfig of the stream. It says that there is no band replication,
// which decoders else expect at low rates.
func (e *Encoder) Config() []byte {
	const none = syncSBR<<13 | objectSBR<<8
	return []byte{
		objectLC<<3 | byte(e.rateIndex>>1), byte(e.rateIndex<<7 | e.channels<<3),
		none >> 16, none >> 8 & 0xff, none & 0xff,
	}
}

// Frames is how many frames of samples were written.
func (e *Encoder) Frames() int64 { return e.written }

// Reservoir is how many bits units to come may have beyond their share.
func (e *Encoder) Reservoir() int { return e.rate.fill }

// Write encodes frames of interleaved samples in [-1, 1] and emits every unit that is
// complete. Samples beyond are clipped; those that are not finite are an error. Units are
// held until the two frames after them are known; the last ones leave with Close.
func (e *Encoder) Write(x []float32) error {
	n := e.channels
	if len(x)%n != 0 {
		panic(fmt.Sprintf("aac: Write of %d samples in %d channels", len(x), n))
	}
	if e.closed && e.err == nil {
		e.err = errors.New("aac: Write after Close")
	}
	if err := pcm.Check(x); err != nil && e.err == nil {
		return fmt.Errorf("aac: %w", err)
	}
	e.written += int64(len(x) / n)
	for len(x) > 0 && e.err == nil {
		k := min(len(x)/n, e.space())
		for c := range n {
			in := e.in[c]
			for i := range k {
				in = append(in, max(-1, min(1, x[i*n+c])))
			}
			e.in[c] = in
		}
		x = x[k*n:]
		if e.space() == 0 {
			e.encode()
		}
	}
	return e.err
}

func (e *Encoder) space() int { return cap(e.in[0]) - len(e.in[0]) }

// Close emits the units that hold the end of the sound.
func (e *Encoder) Close() error {
	if e.closed {
		return e.err
	}
	e.closed = true
	for e.err == nil && e.written > 0 && e.units*maxFrame < e.written+EncoderDelay {
		for c := range e.channels {
			n := len(e.in[c])
			e.in[c] = e.in[c][:cap(e.in[c])]
			clear(e.in[c][n:])
		}
		e.encode()
	}
	return e.err
}

// encode makes a unit of the first two frames of in.
func (e *Encoder) encode() {
	if e.units == 0 {
		for c := range e.channels {
			e.onsets[c].push(e.in[c][:maxFrame])
			e.onsets[c].push(e.in[c][maxFrame:][:maxFrame])
			e.short[0] = e.short[0] || e.onsets[c].attack()
		}
	}
	e.short[1] = false
	for c := range e.channels {
		e.onsets[c].push(e.in[c][2*maxFrame:])
		e.short[1] = e.short[1] || e.onsets[c].attack()
	}
	e.last = psycho.NextBlock(e.last, e.short[0], e.short[1])
	e.short[0] = e.short[1]
	e.analyse()
	if e.channels == 2 {
		e.choosePairing()
	}
	for c := range e.channels {
		e.pair[c].prepare(e.words)
	}
	e.fit()
	e.writeUnit()
	e.units++
	e.err = e.emit(e.bits.Buf)
	for c := range e.channels {
		e.in[c] = e.in[c][:copy(e.in[c], e.in[c][maxFrame:])]
	}
}

// analyse makes the spectra and divides them.
func (e *Encoder) analyse() {
	for c := range e.channels {
		e.analysis.run(e.spectra[c], e.in[c], e.last)
	}
	scheme := &e.schemes[0]
	e.group = append(e.group[:0], 1)
	if e.last == eightShort {
		scheme = &e.schemes[1]
		e.group = grouped(e.group, e.spectra[:e.channels])
	}
	e.division.set(scheme, e.last, e.group)
	for c := range e.channels {
		s := &e.pair[c]
		e.division.arrange(s.x[:], e.spectra[c])
		s.measure()
	}
}

// choosePairing codes as middle and side what takes fewer bits that way. What noise the
// side gets, both channels have: it must suit the one that bears less.
func (e *Encoder) choosePairing() {
	l, r := &e.pair[0], &e.pair[1]
	level := e.rate.level()
	some, all := false, true
	for p := range e.division.parts {
		least := min(l.target[p], r.target[p])
		mid, side := 0.0, 0.0
		y := r.x[l.start[p]:l.start[p+1]]
		for i, v := range l.x[l.start[p]:l.start[p+1]] {
			m, s := float64(v+y[i])/2, float64(v-y[i])/2
			mid += m * m
			side += s * s
		}
		n := float64(l.lines[p])
		bits := func(energy, noise float64) float64 { return math.Log2(1 + energy/(noise*level)) }
		plain := bits(l.energy[p], l.target[p]) + bits(r.energy[p], r.target[p])
		joint := bits(mid/n, least/2) + bits(side/n, least/2)
		e.joint[p] = joint < plain
		some, all = some || e.joint[p], all && e.joint[p]
		if !e.joint[p] {
			continue
		}
		for i, v := range l.x[l.start[p]:l.start[p+1]] {
			l.x[int(l.start[p])+i], y[i] = (v+y[i])/2, (v-y[i])/2
		}
		l.energy[p], r.energy[p] = mid/n, side/n
		l.target[p], r.target[p] = least/2, least/2
	}
	e.mask = 0
	switch {
	case all:
		e.mask = 2
	case some:
		e.mask = 1
	}
}
