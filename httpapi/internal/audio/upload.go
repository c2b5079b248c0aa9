package audio

import (
	"fmt"
	"io"
	"math"

	"quern/codecs"
	"quern/engine"
	"quern/httpapi/internal/body"
)

// silent is the level below which nothing can be heard: -60 dBFS.
const silent = 1e-3

// An upload is the sound of a request. It notes what its sender should know of it.
type upload struct {
	mono   *codecs.Mono
	stream *codecs.Stream
	frames int
	peak   float32
	ended  bool
}

// ReadLayout reads file_format: the layout of samples without a header; the zero layout is
// of files whose content says what they are.
func ReadLayout(f *body.Form) (l codecs.Raw) {
	name := f.Str("file_format")
	if name == "" || name == "other" {
		return l
	}
	l, err := codecs.RawByName(name)
	if err != nil {
		f.Invalid("file_format", "%v, or other", err)
	}
	return l
}

// openUpload finds out what an upload is, unless its layout is told.
func openUpload(r io.Reader, layout codecs.Raw) (*upload, error) {
	open := codecs.Open
	if layout.Rate != 0 {
		open = layout.Open
	}
	s, err := open(r, codecs.Options{})
	if err != nil {
		return nil, soundError(err)
	}
	m, err := codecs.NewMono(s, engine.HearingRate)
	if err != nil {
		return nil, soundError(err)
	}
	return &upload{mono: m, stream: s}, nil
}

// Read implements engine.Source.
func (u *upload) Read(dst []float32) (int, error) {
	n, err := u.mono.Read(dst)
	for _, x := range dst[:n] {
		u.peak = max(u.peak, x, -x)
	}
	u.frames += n
	u.ended = u.ended || err == io.EOF
	return n, err
}

// warnings says what is wrong with the sound, after it was read: that some is
// missing, that it is silent, or that it holds no speech, where nothing was heard.
func (u *upload) warnings(heard bool) (out []string) {
	if u.ended {
		if told := u.stream.CutShort(); told != "" {
			out = append(out, told)
		}
	}
	seconds := float64(u.frames) / engine.HearingRate
	switch {
	case u.peak == 0:
		out = append(out, fmt.Sprintf("the audio is silent: all samples of its %.1f s are zero", seconds))
	case u.peak < silent:
		out = append(out, fmt.Sprintf("the audio is silent: the loudest sample of its %.1f s lies at %.0f dBFS", seconds, 20*math.Log10(float64(u.peak))))
	case !heard:
		out = append(out, fmt.Sprintf("no speech was found in the %.1f s of audio", seconds))
	}
	return out
}
