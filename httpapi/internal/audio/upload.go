package audio

import (
	"io"

	"quern/codecs"
	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/transcript"
)

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

// openUpload detects the format of an upload, unless its layout is given.
func openUpload(r io.Reader, layout codecs.Raw) (*transcript.Sound, error) {
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
	return &transcript.Sound{Source: m, Missing: s.Missing}, nil
}
