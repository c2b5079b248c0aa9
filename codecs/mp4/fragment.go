package mp4

import "io"

// Flags of tfhd and trun that say which fields are there.
const (
	tfhdBase        = 1 << 0
	tfhdDescription = 1 << 1
	tfhdDuration    = 1 << 3
	tfhdSize        = 1 << 4

	trunOffset     = 1 << 0
	trunFirstFlags = 1 << 2
	trunDuration   = 1 << 8
	trunSize       = 1 << 9
	trunFlags      = 1 << 10
	trunTime       = 1 << 11
)

// A fragments goes through the samples of one track in the movie fragments of a
// file.
//
// ISO/IEC 14496-12, 8.8.
type fragments struct {
	f         *file
	track     uint32
	trexSize  int64 // of a sample where nothing else says
	top       walk
	moof      walk // track fragments
	moofStart int64
	traf      walk // runs of samples
	base      int64
	size      int64 // of a sample, if its run does not say

	run   cursor
	flags uint32
	left  uint32
	off   int64
}

func newFragments(f *file, track uint32, size int64) *fragments {
	return &fragments{f: f, track: track, trexSize: size, top: walk{f, 0, f.size}}
}

// next returns the next sample, or io.EOF.
func (g *fragments) next() (sample, error) {
	for {
		if g.left > 0 {
			s, err := g.readSample()
			if err != io.EOF {
				return s, err
			}
			// A run that ends early.
			g.left = 0
		}
		// From inside out: the next run, track fragment, movie fragment.
		if b, err := g.traf.next(); err == nil {
			if err := g.openRun(b); err != nil {
				return sample{}, err
			}
			continue
		}
		if b, err := g.moof.next(); err == nil {
			if b.kind == "traf" {
				if err := g.openTrack(b); err != nil {
					return sample{}, err
				}
			}
			continue
		}
		b, err := g.top.next()
		if err != nil {
			return sample{}, err
		}
		if b.kind == "moof" {
			g.moof, g.moofStart = g.f.walk(b, 0), b.start
		}
	}
}

// openTrack begins with a track fragment, if it is of the track.
func (g *fragments) openTrack(traf box) error {
	tfhd, ok := g.f.find(traf, "tfhd")
	if !ok {
		return nil
	}
	c := g.f.cursor(tfhd, 0)
	flags, id := c.u32(), c.u32()
	if c.err != nil || id != g.track {
		return noEOF(c.err)
	}
	g.base, g.size = g.moofStart, g.trexSize
	if flags&tfhdBase != 0 {
		g.base = int64(c.uint(8))
	}
	for _, flag := range []uint32{tfhdDescription, tfhdDuration} {
		if flags&flag != 0 {
			c.u32()
		}
	}
	if flags&tfhdSize != 0 {
		g.size = int64(c.u32())
	}
	if c.err != nil {
		return noEOF(c.err)
	}
	g.off = g.base
	g.traf = g.f.walk(traf, 0)
	return nil
}

// openRun begins with a run of samples, if b is one.
func (g *fragments) openRun(b box) error {
	if b.kind != "trun" {
		return nil
	}
	g.run = g.f.cursor(b, 0)
	g.flags, g.left = g.run.u32(), g.run.u32()
	if g.flags&trunOffset != 0 {
		g.off = g.base + int64(int32(g.run.u32()))
	}
	if g.flags&trunFirstFlags != 0 {
		g.run.u32()
	}
	if g.flags&trunSize == 0 && g.size == 0 {
		g.left = 0 // as many samples of nothing as the run likes
	}
	return noEOF(g.run.err)
}

// readSample reads the fields of a sample.
func (g *fragments) readSample() (sample, error) {
	g.left--
	size := g.size
	for flag := uint32(trunDuration); flag <= trunTime; flag <<= 1 {
		if g.flags&flag == 0 {
			continue
		}
		if v := g.run.u32(); flag == trunSize {
			size = int64(v)
		}
	}
	if g.run.err != nil {
		return sample{}, g.run.err
	}
	s := sample{g.off, size}
	g.off += size
	return s, nil
}

// noEOF turns the end of a box into an error about it.
func noEOF(err error) error {
	if err == io.EOF {
		return errShort
	}
	return err
}
