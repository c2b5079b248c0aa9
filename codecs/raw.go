package codecs

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"quern/codecs/pcm"
)

// Raw is how samples without a header are stored: little-endian, one channel.
type Raw struct {
	Name    string
	Rate    int // Hz
	Samples pcm.Format
}

// raws are the layouts by name.
var raws = []Raw{
	{"pcm_8000", 8000, pcm.S16},
	{"pcm_16000", 16000, pcm.S16},
	{"pcm_22050", 22050, pcm.S16},
	{"pcm_24000", 24000, pcm.S16},
	{"pcm_44100", 44100, pcm.S16},
	{"pcm_48000", 48000, pcm.S16},
	{"ulaw_8000", 8000, pcm.MuLaw},
	{"alaw_8000", 8000, pcm.ALaw},
	{"pcm_s16le_16", 16000, pcm.S16}, // as ElevenLabs calls pcm_16000 in files
}

// RawByName returns the layout of a name; an error lists the names.
func RawByName(name string) (Raw, error) {
	i := slices.IndexFunc(raws, func(r Raw) bool { return r.Name == name })
	if i < 0 {
		names := make([]string, len(raws))
		for k := range raws {
			names[k] = raws[k].Name
		}
		return Raw{}, fmt.Errorf("must be one of %s, got %.40q", strings.Join(names, ", "), name)
	}
	return raws[i], nil
}

// Open is the stream of samples in r.
func (l Raw) Open(r io.Reader, o Options) (*Stream, error) {
	o = o.withDefaults()
	src := &source{r: r, left: o.MaxBytes}
	s := &Stream{format: &format{name: l.Name, title: "samples"}, dec: &raw{l, src, nil, nil}, src: src, limit: o}
	return s, s.check()
}

// A raw is the decoder of samples.
type raw struct {
	Raw
	r    io.Reader
	buf  []byte
	rest []byte // of a sample that is not whole, at the beginning of buf
}

func (d *raw) Rate() int     { return d.Raw.Rate }
func (d *raw) Channels() int { return 1 }

// Read does not wait for more than a sample.
func (d *raw) Read(dst []float32) (int, error) {
	size := d.Samples.Size()
	if need := min(len(dst), 4096) * size; len(d.buf) < need {
		d.buf = append(d.buf, make([]byte, need-len(d.buf))...)
	}
	b := d.buf[:min(len(dst), 4096)*size]
	have := copy(b, d.rest)
	n, err := io.ReadAtLeast(d.r, b[have:], size-have)
	n += have
	if err == io.ErrUnexpectedEOF {
		err = io.EOF // what is left is no sample
	}
	whole := n / size * size
	pcm.Decode(dst[:0], b[:whole], d.Samples, binary.LittleEndian)
	d.rest = append([]byte(nil), b[whole:n]...)
	return whole / size, err
}
