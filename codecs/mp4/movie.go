package mp4

import (
	"fmt"
	"io"
	"math"
	"slices"
)

const (
	maxTracks  = 1000
	maxHeader  = 64      // bytes of a header box that are read
	maxDetails = 1 << 20 // bytes of a sound description, with an ALAC cookie or a FLAC header
)

// A movie is what the header of a file, moov, says of its sound.
type movie struct {
	scale     uint32 // units of a second of its durations
	fragments bool
	duration  uint64 // of fragments, in its units
	track     track
	gapless   *span // of an iTunSMPB tag, in units of the track
}

// A track is a sequence of samples of sound.
type track struct {
	id       uint32
	enabled  bool
	scale    uint32 // units of a second of its times
	duration uint64
	entry    entry
	edits    []edit
	table    box // stbl
}

// An edit is a part of what is played: where it begins in the track, in units
// of the track, and how long it is, in units of the movie. A start of -1 is a
// pause.
type edit struct {
	duration uint64
	start    int64
}

// findMovie returns the box moov of f, or why there is none.
func (f *file) findMovie() (box, error) {
	w := walk{f, 0, f.size}
	var first string
	fragment := false
	for {
		b, err := w.next()
		if err != nil && err != io.EOF {
			return b, err
		}
		if first == "" && err == nil {
			if first = b.kind; !slices.Contains(firstBoxes[:], first) {
				return b, fmt.Errorf("%w: begins with %q", ErrFormat, first)
			}
		}
		switch {
		case err == io.EOF && first == "":
			return b, fmt.Errorf("%w: empty file", ErrFormat)
		case err == io.EOF && fragment:
			return b, fmt.Errorf("%w: a piece of a stream without the header (moov) of its first piece", ErrFormat)
		case err == io.EOF:
			return b, fmt.Errorf("%w: no header (moov): the recording was cut off or is not complete", ErrFormat)
		case b.kind == "moov":
			return b, nil
		case b.kind == "moof":
			fragment = true
		}
	}
}

// firstBoxes are the kinds of boxes that files begin with.
var firstBoxes = [...]string{
	"ftyp", "moov", "mdat", "wide", "free", "skip", "pnot", "styp", "sidx", "moof", "uuid", "emsg", "prft",
}

// readMovie reads moov, for its first enabled track of sound, or its first one
// if none is.
func (f *file) readMovie(moov box) (*movie, error) {
	m := &movie{scale: 1}
	var refused error
	found, tracks := false, 0
	for w := f.walk(moov, 0); ; {
		b, err := w.next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		switch b.kind {
		case "cmov":
			return nil, fmt.Errorf("%w: compressed header", ErrUnsupported)
		case "mvhd":
			if m.scale, _, err = f.readTimes(b); err != nil {
				return nil, err
			}
		case "mvex":
			m.fragments = true
			if mehd, ok := f.find(b, "mehd"); ok {
				p, err := f.content(mehd, 8, 12)
				if err != nil {
					return nil, err
				}
				m.duration = uint64(be.Uint32(p[4:]))
				if p[0] == 1 && len(p) == 12 {
					m.duration = be.Uint64(p[4:])
				}
			}
		case "trak":
			if tracks++; tracks > maxTracks || found && m.track.enabled {
				continue
			}
			t, sound, err := f.readTrack(b)
			if !sound {
				continue
			}
			if err != nil {
				if refused == nil || t.enabled {
					refused = err
				}
				continue
			}
			if !found || t.enabled {
				m.track, found = t, true
			}
		}
	}
	switch {
	case !found && refused != nil:
		return nil, refused
	case !found:
		return nil, fmt.Errorf("%w: no audio track", ErrUnsupported)
	}
	if m.scale == 0 || m.track.scale == 0 {
		return nil, fmt.Errorf("%w: no time scale", ErrFormat)
	}
	m.gapless = f.readGapless(moov)
	return m, nil
}

// readTimes reads the time scale and the duration that mvhd and mdhd hold
// alike. All ones are a duration that is not known, 0 here.
func (f *file) readTimes(b box) (scale uint32, duration uint64, err error) {
	p, err := f.content(b, 20, maxHeader)
	if err != nil {
		return 0, 0, err
	}
	if p[0] == 1 {
		if len(p) < 32 {
			return 0, 0, errShort
		}
		if duration = be.Uint64(p[24:]); duration == math.MaxUint64 {
			duration = 0
		}
		return be.Uint32(p[20:]), duration, nil
	}
	if duration = uint64(be.Uint32(p[16:])); duration == math.MaxUint32 {
		duration = 0
	}
	return be.Uint32(p[12:]), duration, nil
}

// readTrack reads trak, and reports whether it is of sound.
func (f *file) readTrack(trak box) (t track, sound bool, err error) {
	hdlr, ok := f.find(trak, "mdia", "hdlr")
	if !ok {
		return t, false, nil
	}
	p, err := f.content(hdlr, 12, 12)
	if err != nil || string(p[8:12]) != "soun" {
		return t, false, err
	}
	tkhd, ok := f.find(trak, "tkhd")
	if !ok {
		return t, true, fmt.Errorf("%w: track without header", ErrFormat)
	}
	if p, err = f.content(tkhd, 24, 24); err != nil {
		return t, true, err
	}
	t.enabled = p[3]&1 != 0
	t.id = be.Uint32(p[12:])
	if p[0] == 1 {
		t.id = be.Uint32(p[20:])
	}
	mdhd, ok := f.find(trak, "mdia", "mdhd")
	if !ok {
		return t, true, fmt.Errorf("%w: track without media header", ErrFormat)
	}
	if t.scale, t.duration, err = f.readTimes(mdhd); err != nil {
		return t, true, err
	}
	if elst, ok := f.find(trak, "edts", "elst"); ok {
		if t.edits, err = f.readEdits(elst); err != nil {
			return t, true, err
		}
	}
	if t.table, ok = f.find(trak, "mdia", "minf", "stbl"); !ok {
		return t, true, fmt.Errorf("%w: track without sample table", ErrFormat)
	}
	stsd, ok := f.find(t.table, "stsd")
	if !ok {
		return t, true, fmt.Errorf("%w: track without sound description", ErrFormat)
	}
	if p, err = f.content(stsd, 8, 8); err != nil {
		return t, true, err
	}
	version := p[0]
	w := f.walk(stsd, 8)
	b, err := w.next()
	if err != nil {
		return t, true, noEOF(err)
	}
	if p, err = f.content(b, 0, maxDetails); err != nil {
		return t, true, err
	}
	t.entry, err = parseEntry(b.kind, p, version)
	if t.entry.rate == 0 {
		// One that the 16 bits of a description do not hold.
		t.entry.rate = int(min(t.scale, maxRate))
	}
	return t, true, err
}

// sampleSize returns what mvex says of the size of a track's samples.
func (f *file) sampleSize(moov box, track uint32) (int64, error) {
	mvex, ok := f.find(moov, "mvex")
	if !ok {
		return 0, nil
	}
	for w := f.walk(mvex, 0); ; {
		b, err := w.next()
		if err == io.EOF {
			return 0, nil
		} else if err != nil {
			return 0, err
		}
		if b.kind != "trex" {
			continue
		}
		p, err := f.content(b, 20, 20)
		if err != nil {
			return 0, err
		}
		if be.Uint32(p[4:]) == track {
			return int64(be.Uint32(p[16:])), nil
		}
	}
}
