package codecs

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"quern/codecs/aac"
	"quern/codecs/flac"
	"quern/codecs/mp3"
	"quern/codecs/mp4"
	"quern/codecs/ogg"
	"quern/codecs/opus"
	"quern/codecs/pcm"
	"quern/codecs/resample"
	"quern/codecs/wav"
)

// ErrEncoding is wrapped by the error for an encoding that is not offered, or
// not with these options.
var ErrEncoding = errors.New("encoding not offered")

// EncodeOptions says what Create makes. Zero fields have a default.
type EncodeOptions struct {
	Rate    int  // of the output, in Hz; the encoding's, where it is of one, or the input's
	Bitrate int  // in bit/s, where the encoding is lossy; the encoding's own default
	Speech  bool // tune for speech where the encoding can

	// Streamed says that output must not wait for Close. The header of a WAV or FLAC
	// file is then without sizes; otherwise the file is held in memory for true ones,
	// unless the destination can seek. An M4A file is then in fragments; otherwise it is
	// always held in memory, for its header is in front.
	Streamed bool
}

// Encoding is a kind of output.
type Encoding struct {
	Name string // as clients ask for it
	MIME string
	Ext  string // with the dot

	rate   int // of samples without a header that are of one, in Hz; 0 is any
	create func(w io.Writer, rate, channels int, o EncodeOptions) (Encoder, error)
}

// g711Rate is the rate of G.711, whose samples tell none.
const g711Rate = 8000

// encodings lists what is written.
var encodings = []Encoding{
	{"mp3", "audio/mpeg", ".mp3", 0, createMP3},
	{"wav", "audio/wav", ".wav", 0, createWAV},
	{"flac", "audio/flac", ".flac", 0, createFLAC},
	{"opus", "audio/ogg", ".opus", 0, createOpus},
	{"aac", "audio/aac", ".aac", 0, createAAC},
	{"m4a", "audio/mp4", ".m4a", 0, createM4A},
	{"pcm", "audio/pcm", ".pcm", 0, createPCM(pcm.S16)},
	{"mulaw", "audio/basic", ".ulaw", g711Rate, createPCM(pcm.MuLaw)},
	{"alaw", "audio/x-alaw-basic", ".alaw", g711Rate, createPCM(pcm.ALaw)},
}

// Encodings returns what Create offers, in a fixed order.
func Encodings() []Encoding { return append([]Encoding(nil), encodings...) }

// EncodingByName returns the encoding of that name.
func EncodingByName(name string) (Encoding, error) {
	for _, e := range encodings {
		if e.Name == name {
			return e, nil
		}
	}
	return Encoding{}, fmt.Errorf("%w: %q", ErrEncoding, name)
}

// Create returns an Encoder that writes to w what it is given at rate and
// channels. Errors that the options cause wrap ErrEncoding.
func (e Encoding) Create(w io.Writer, rate, channels int, o EncodeOptions) (Encoder, error) {
	if rate <= 0 || channels <= 0 {
		panic(fmt.Sprintf("codecs: Create with %d Hz, %d channels", rate, channels))
	}
	o.Rate = cmp.Or(o.Rate, e.rate, rate)
	conv, err := resample.New(rate, o.Rate, channels)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrEncoding, e.Name, err)
	}
	enc, err := e.create(w, o.Rate, channels, o)
	if err != nil {
		if errors.Is(err, ErrUnsupported) {
			return nil, fmt.Errorf("%w: %s: %w", ErrEncoding, e.Name, err)
		}
		return nil, err
	}
	if o.Rate == rate {
		return enc, nil
	}
	return &converted{enc: enc, conv: conv}, nil
}

// createMP3 takes 64 kbit/s a channel by default, which every rate of MPEG-1 and
// MPEG-2 has, and is transparent for speech.
func createMP3(w io.Writer, rate, channels int, o EncodeOptions) (Encoder, error) {
	kbps := o.Bitrate / 1000
	if o.Bitrate == 0 {
		kbps = 64 * channels
	}
	return mp3.NewWriter(w, rate, channels, kbps)
}

// aacBitrate is bitrate, or 64 kbit/s a channel, less below 16 kHz, where a decoder's
// buffer would not hold that.
func aacBitrate(bitrate, rate, channels int) int {
	if bitrate == 0 {
		return min(64000, 4*rate) * channels
	}
	return bitrate
}

// createAAC writes ADTS.
func createAAC(w io.Writer, rate, channels int, o EncodeOptions) (Encoder, error) {
	return aac.NewWriter(w, rate, channels, aacBitrate(o.Bitrate, rate, channels))
}

func createM4A(w io.Writer, rate, channels int, o EncodeOptions) (Encoder, error) {
	return mp4.NewWriter(w, rate, channels, aacBitrate(o.Bitrate, rate, channels), o.Streamed)
}

func createWAV(w io.Writer, rate, channels int, o EncodeOptions) (Encoder, error) {
	if _, ok := w.(io.Seeker); ok || o.Streamed {
		return wav.NewWriter(w, rate, channels, pcm.S16), nil
	}
	return wav.NewBufferedWriter(w, rate, channels, pcm.S16), nil
}

func createFLAC(w io.Writer, rate, channels int, o EncodeOptions) (Encoder, error) {
	if _, ok := w.(io.Seeker); ok || o.Streamed {
		return flac.NewWriter(w, rate, channels)
	}
	h := &held{w: w}
	enc, err := flac.NewWriter(&h.file, rate, channels)
	h.Encoder = enc
	return h, err
}

// held is an encoder whose file is in memory until Close, so that its header is true.
type held struct {
	Encoder
	file memory
	w    io.Writer
}

func (h *held) Close() error {
	if err := h.Encoder.Close(); err != nil {
		return err
	}
	_, err := h.w.Write(h.file.b)
	return err
}

// memory is a file.
type memory struct {
	b  []byte
	at int
}

func (m *memory) Write(p []byte) (int, error) {
	n := copy(m.b[m.at:], p)
	m.b = append(m.b, p[n:]...)
	m.at += len(p)
	return len(p), nil
}

func (m *memory) Seek(offset int64, whence int) (int64, error) {
	to := offset + [...]int64{io.SeekStart: 0, io.SeekCurrent: int64(m.at), io.SeekEnd: int64(len(m.b))}[whence]
	if to < 0 || to > int64(len(m.b)) {
		return 0, fmt.Errorf("codecs: seek to %d of %d bytes", to, len(m.b))
	}
	m.at = int(to)
	return to, nil
}

func createOpus(w io.Writer, rate, channels int, o EncodeOptions) (Encoder, error) {
	app := opus.Audio
	if o.Speech {
		app = opus.VoIP
	}
	return ogg.NewOpusWriter(w, rate, channels, o.Bitrate, app)
}

// createPCM returns a constructor of encoders without a header.
func createPCM(f pcm.Format) func(w io.Writer, rate, channels int, o EncodeOptions) (Encoder, error) {
	return func(w io.Writer, _, _ int, _ EncodeOptions) (Encoder, error) {
		return &rawEncoder{w: w, format: f}, nil
	}
}

// rawEncoder writes samples and nothing else.
type rawEncoder struct {
	w      io.Writer
	format pcm.Format
	buf    []byte
}

func (e *rawEncoder) Write(x []float32) error {
	if err := pcm.Check(x); err != nil {
		return err
	}
	e.buf = pcm.Encode(e.buf[:0], x, e.format)
	_, err := e.w.Write(e.buf)
	return err
}

func (e *rawEncoder) Close() error { return nil }

// converted changes the rate in front of an encoder.
type converted struct {
	enc  Encoder
	conv *resample.Resampler
	buf  []float32
}

func (e *converted) Write(x []float32) error {
	if err := pcm.Check(x); err != nil {
		return err
	}
	e.buf = e.conv.Process(e.buf[:0], x)
	return e.enc.Write(e.buf)
}

func (e *converted) Close() error {
	e.buf = e.conv.Flush(e.buf[:0])
	return errors.Join(e.enc.Write(e.buf), e.enc.Close())
}
