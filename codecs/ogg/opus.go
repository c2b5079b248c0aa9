package ogg

import (
	"fmt"
	"io"
	"math/rand/v2"

	"quern/codecs/opus"
	"quern/codecs/pcm"
	"quern/codecs/resample"
)

// packetsPerPage is a compromise: a page costs 28 bytes, and a listener waits
// for a page to be full, 400 ms.
const packetsPerPage = 20

// An OpusWriter encodes an Ogg Opus file (RFC 7845).
type OpusWriter struct {
	w        *Writer
	enc      *opus.Encoder
	conv     *resample.Resampler
	channels int
	preSkip  int
	frame    []float32 // at 48 kHz, less than a packet's worth
	packet   []byte
	frames   int64 // encoded
	wanted   int64 // came in, at 48 kHz
}

// NewOpusWriter writes the headers of a stream of one or two channels. Rates
// other than 48 kHz are converted. bitrate is in bit/s, 0 for the encoder's
// choice.
func NewOpusWriter(w io.Writer, rate, channels, bitrate int, app opus.Application) (*OpusWriter, error) {
	enc, err := opus.NewEncoder(channels, bitrate, app)
	if err != nil {
		return nil, err
	}
	conv, err := resample.New(rate, opus.Rate, channels)
	if err != nil {
		return nil, err
	}
	e := &OpusWriter{
		w:   NewWriter(w, rand.Uint32()),
		enc: enc, conv: conv, channels: channels, preSkip: enc.Lookahead(),
	}
	head := opus.Head{Channels: channels, PreSkip: e.preSkip, InputRate: rate}.Append(nil)
	const vendor = "quern"
	tags := "OpusTags" + string(rune(len(vendor))) + "\x00\x00\x00" + vendor + "\x00\x00\x00\x00"
	for _, header := range [][]byte{head, []byte(tags)} {
		if err := e.w.WritePacket(header, 0); err != nil {
			return nil, err
		}
		if err := e.w.Flush(); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Write encodes x, whole frames, interleaved. Samples beyond full scale are
// clipped; those that are not finite are an error.
func (e *OpusWriter) Write(x []float32) error {
	if len(x)%e.channels != 0 {
		panic(fmt.Sprintf("ogg: Write of %d samples for %d channels", len(x), e.channels))
	}
	if err := pcm.Check(x); err != nil { // before the filter spreads it
		return fmt.Errorf("opus: %w", err)
	}
	n := len(e.frame)
	e.frame = e.conv.Process(e.frame, x)
	e.wanted += int64((len(e.frame) - n) / e.channels)
	return e.encode()
}

// encode takes the whole packets out of frame.
func (e *OpusWriter) encode() error {
	size := opus.FrameSize * e.channels
	rest := e.frame
	for len(rest) >= size {
		// A page goes out when the next packet is there, so that one is left
		// for Close, which knows where the stream ends.
		if e.w.Packets() == packetsPerPage {
			if err := e.w.Flush(); err != nil {
				return err
			}
		}
		var err error
		if e.packet, err = e.enc.Encode(e.packet[:0], rest[:size]); err != nil {
			return err
		}
		rest = rest[size:]
		e.frames += opus.FrameSize
		if err := e.w.WritePacket(e.packet, e.frames); err != nil {
			return err
		}
	}
	e.frame = e.frame[:copy(e.frame, rest)]
	return nil
}

// Close encodes what is left and ends the stream. It does not close what it
// writes to.
func (e *OpusWriter) Close() error {
	n := len(e.frame)
	e.frame = e.conv.Flush(e.frame)
	e.wanted += int64((len(e.frame) - n) / e.channels)
	end := e.wanted + int64(e.preSkip)
	// Silence until the encoder has given back the last sample.
	size := opus.FrameSize * int64(e.channels)
	if missing := end*int64(e.channels) - e.frames*int64(e.channels) - int64(len(e.frame)); missing > 0 || len(e.frame) > 0 {
		total := int64(len(e.frame)) + max(missing, 0)
		total = (total + size - 1) / size * size
		e.frame = append(e.frame, make([]float32, total-int64(len(e.frame)))...)
	}
	if err := e.encode(); err != nil {
		return err
	}
	return e.w.Close(end)
}
