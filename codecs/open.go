package codecs

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"quern/codecs/aac"
	"quern/codecs/flac"
	"quern/codecs/mp3"
	"quern/codecs/mp4"
	"quern/codecs/ogg"
	"quern/codecs/wav"
	"quern/codecs/webm"
)

// Options bound what an input may cost. Zero fields have the default given.
type Options struct {
	MaxBytes    int64         // of input: 1 GiB
	MaxDuration time.Duration // of audio: 12 h
	MaxFrames   int64         // of audio, at its own rate: 1<<32
	MaxChannels int           // 16
	Memory      int64         // bytes of input held when a format needs random access and the input has none: 64 MiB
}

func (o Options) withDefaults() Options {
	o.MaxBytes = cmp.Or(o.MaxBytes, 1<<30)
	o.MaxDuration = cmp.Or(o.MaxDuration, 12*time.Hour)
	o.MaxFrames = cmp.Or(o.MaxFrames, 1<<32)
	o.MaxChannels = cmp.Or(o.MaxChannels, 16)
	o.Memory = cmp.Or(o.Memory, 64<<20)
	return o
}

// format is a kind of file.
type format struct {
	name  string // as Stream.Format returns it
	title string
	match func(head []byte) bool
	frame func([]byte) int // size of a frame, of formats without a beginning; nil of others

	// One of these; formats of the second kind need random access.
	open   func(r io.Reader) (Decoder, error)
	openAt func(r io.ReaderAt, size int64) (Decoder, error)
}

// formats lists what is decoded.
var formats = []format{
	{
		name: "wav", title: "WAV", match: isWAV,
		open: func(r io.Reader) (Decoder, error) { return wav.NewReader(r) },
	},
	{
		name: "flac", title: "FLAC", match: prefix("fLaC"),
		open: func(r io.Reader) (Decoder, error) { return flac.NewReader(r) },
	},
	{
		name: "ogg", title: "Ogg", match: prefix("OggS"),
		open: func(r io.Reader) (Decoder, error) { return ogg.NewReader(r) },
	},
	{
		name: "webm", title: "WebM or Matroska", match: prefix("\x1a\x45\xdf\xa3"),
		open: func(r io.Reader) (Decoder, error) { return webm.NewReader(r) },
	},
	{
		name: "mp4", title: "MP4", match: isMP4,
		openAt: func(r io.ReaderAt, size int64) (Decoder, error) { return mp4.NewReader(r, size) },
	},
	{
		name: "mp3", title: "MPEG audio", match: isMP3, frame: mpegFrame,
		open: func(r io.Reader) (Decoder, error) { return mp3.NewReader(r) },
	},
	{
		name: "aac", title: "AAC", match: isADTS, frame: adtsFrame,
		open: func(r io.Reader) (Decoder, error) { return aac.NewReader(r) },
	},
}

// Open finds out what r holds and reads its headers. MP4 needs random access: if
// r has no ReadAt and Seek, as files and bytes.Reader have, the input is held in
// memory.
//
// What is wrong with the input is an *Error; an error of r is returned as it is.
func Open(r io.Reader, o Options) (*Stream, error) {
	o = o.withDefaults()
	src := &source{r: r, left: o.MaxBytes}
	at, size, err := random(r)
	if err != nil {
		return nil, err
	}
	head := bufio.NewReaderSize(src, headSize)
	tagged, err := skipTags(head)
	if err != nil {
		return nil, src.explain("ID3 tag", fmt.Errorf("%w: cut off", ErrFormat))
	}
	f, junk := early(head), 0
	if f == nil {
		b, err := head.Peek(headSize)
		if err != nil && err != io.EOF {
			return nil, src.explain("input", err)
		}
		if f, junk = recognise(b); f == nil {
			return nil, describe(b, tagged)
		}
	}
	s := &Stream{format: f, src: src, limit: o}
	err = protect(func() (err error) {
		if f.open != nil {
			if _, err := head.Discard(junk); err != nil {
				return err
			}
			s.dec, err = f.open(head)
			return err
		}
		if at == nil {
			if at, size, err = hold(head, o.Memory); err != nil {
				return err
			}
		} else {
			at = &sourceAt{r: at, src: src}
		}
		if size > o.MaxBytes {
			return fmt.Errorf("%w: %d bytes, the limit is %d", ErrLimit, size, o.MaxBytes)
		}
		s.dec, err = f.openAt(at, size)
		return err
	})
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return nil, s.explain(err)
	}
	return s, nil
}

// random returns random access to the rest of r, nil if r does not offer it.
func random(r io.Reader) (io.ReaderAt, int64, error) {
	f, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, 0, nil
	}
	start, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, 0, nil // a pipe
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(start, io.SeekStart)
	}
	return io.NewSectionReader(f, start, end-start), end - start, err
}

// hold reads r into memory.
func hold(r io.Reader, limit int64) (io.ReaderAt, int64, error) {
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(r, limit+1)); err != nil {
		return nil, 0, err
	}
	if n := int64(b.Len()); n > limit {
		return nil, 0, fmt.Errorf("%w: more than %d bytes that need random access", ErrLimit, limit)
	}
	return bytes.NewReader(b.Bytes()), int64(b.Len()), nil
}

// source is the input, with a limit and a memory for its own error.
type source struct {
	r    io.Reader
	left int64
	err  error // of r, but io.EOF; or ErrLimit
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	// One byte more than allowed tells a file that is too long from one that
	// just fits.
	if int64(len(p)) > s.left+1 {
		p = p[:s.left+1]
	}
	n, err := s.r.Read(p)
	if int64(n) > s.left {
		n, err = int(s.left), fmt.Errorf("%w: more bytes than the limit", ErrLimit)
	}
	s.left -= int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// sourceAt is random access to the input; its first error is the source's, so
// that a failing disk is not taken for a malformed file.
type sourceAt struct {
	r   io.ReaderAt
	src *source
}

func (s *sourceAt) ReadAt(p []byte, off int64) (int, error) {
	if s.src.err != nil {
		return 0, s.src.err
	}
	n, err := s.r.ReadAt(p, off)
	if err != nil && err != io.EOF {
		s.src.err = err
	}
	return n, err
}

// explain returns the error to report when reading found failed with err.
func (s *source) explain(found string, err error) error {
	if s.err != nil {
		err = s.err
	}
	for _, kind := range []error{ErrLimit, ErrFormat, ErrEmpty} {
		if errors.Is(err, kind) {
			return &Error{Found: found, Kind: kind, Err: err}
		}
	}
	return err
}

// protect calls f and turns a panic, which only a decoder's bug can cause, into
// an error.
func protect(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decoder: %v", p)
		}
	}()
	return f()
}
