package asr

import (
	"context"
	"io"
	"sync"

	"quern/engine/asr/audio"
	"quern/engine/asr/vad"
)

// chunks transcribes chunks of the speech side by side and emits their segments
// in order.
func (t *transcriber) chunks(ctx context.Context, emit func(Segment) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	type result struct {
		list   []Segment
		err    error
		at     int
		pieces []vad.Piece
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	cutter := &chunker{g: t.gate, most: framesPerPlace * t.m.config.encoder.places * audio.FrameStep}
	var pending []chan result
	show := func() error {
		r := <-pending[0]
		pending = pending[1:]
		if r.err != nil {
			return r.err
		}
		for _, s := range r.list {
			if !emit(t.placed(s, r.at, r.pieces)) {
				return errStopped
			}
		}
		return nil
	}
	if t.o.Language == "" {
		if err := t.detect(ctx, cutter); err != nil {
			return err
		}
	}
	for {
		ch, err := cutter.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		out := make(chan result, 1)
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := result{at: ch.at, pieces: ch.pieces}
			samples := audio.Samples(ch.audio)
			c := t.newClip(audio.NewReader(&samples), ch.at)
			for r.err == nil {
				var list []Segment
				list, r.err = c.next(ctx)
				r.list = append(r.list, list...)
			}
			if r.err == io.EOF {
				r.err = nil
			}
			out <- r
		}()
		if pending = append(pending, out); len(pending) >= chunksAtATime {
			if err := show(); err != nil {
				return err
			}
		}
	}
	for len(pending) > 0 {
		if err := show(); err != nil {
			return err
		}
	}
	return nil
}

// chunksAtATime is how many chunks of one request are decoded side by side.
const chunksAtATime = 4

// detect finds out the language of the first chunks. Without any it stays open.
func (t *transcriber) detect(ctx context.Context, cutter *chunker) error {
	var v vote
	var seen []chunk
	for !v.sure() {
		ch, err := cutter.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		seen = append(seen, ch)
		s := audio.Samples(ch.audio)
		c := t.newClip(audio.NewReader(&s), 0)
		n, err := c.frames.Need(ctx, c.window)
		if err != nil {
			return err
		}
		if n < leastFrames {
			continue
		}
		if err := c.ask(ctx, &v, 0, n); err != nil {
			return err
		}
	}
	cutter.back = seen
	if v.windows > 0 {
		v.settle(t.o)
	}
	return nil
}

// A chunker cuts speech into chunks of at most a window: at the ends of
// stretches where they leave more than a third of it, else where it is quietest
// near the end.
type chunker struct {
	g    *vad.Gate
	most int     // samples of a chunk
	back []chunk // to be returned once more
	buf  []float32
	from int   // place of buf[0] in what the gate sent
	cuts []int // ends of stretches in buf
	eof  bool
}

// A chunk is audio with its place in what a gate sent, and where that came from.
type chunk struct {
	audio  []float32
	at     int
	pieces []vad.Piece
}

// next returns the next chunk; io.EOF after the last.
func (c *chunker) next(ctx context.Context) (chunk, error) {
	if len(c.back) > 0 {
		ch := c.back[0]
		c.back = c.back[1:]
		return ch, nil
	}
	for len(c.buf) < c.most && !c.eof {
		block := make([]float32, min(audio.Block, c.most-len(c.buf)))
		n, end, err := c.g.Read(ctx, block)
		c.buf = append(c.buf, block[:n]...)
		if end {
			c.cuts = append(c.cuts, len(c.buf))
		}
		if err == io.EOF {
			c.eof = true
		} else if err != nil {
			return chunk{}, err
		}
	}
	if len(c.buf) == 0 {
		return chunk{}, io.EOF
	}
	n := len(c.buf)
	if !c.eof {
		n = quietest(c.buf)
		for _, at := range c.cuts {
			if at > c.most/3 {
				n = at
			}
		}
	}
	c.g.Forget(c.from)
	out := chunk{append([]float32(nil), c.buf[:n]...), c.from, append([]vad.Piece(nil), c.g.Pieces()...)}
	c.buf = append(c.buf[:0], c.buf[n:]...)
	c.from += n
	var left []int
	for _, at := range c.cuts {
		if at > n {
			left = append(left, at-n)
		}
	}
	c.cuts = left
	return out, nil
}

// quietest returns the middle of the tenth of a second with the least energy in
// the last three seconds of x.
func quietest(x []float32) int {
	const span = audio.Rate / 10
	best, at := float32(-1), len(x)
	for from := max(0, len(x)-3*audio.Rate); from+span <= len(x); from += span / 2 {
		var sum float32
		for _, v := range x[from : from+span] {
			sum += v * v
		}
		if best < 0 || sum < best {
			best, at = sum, from+span/2
		}
	}
	return at
}
