package asr

import (
	"context"
	"io"
	"sync"

	"quern/engine/asr/audio"
	"quern/engine/asr/vad"
	"quern/engine/rescue"
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
	most := framesPerPlace * t.m.config.encoder.places * audio.FrameStep
	cutter := vad.NewCutter(t.gate, most, most)
	var pending []chan result
	show := func() error {
		r := <-pending[0]
		pending = pending[1:]
		if r.err != nil {
			return r.err
		}
		for _, s := range r.list {
			if !emit(s.Placed(r.at, r.pieces)) {
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
		ch, err := cutter.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		out := make(chan result, 1)
		wg.Go(func() {
			r := result{at: ch.At, pieces: ch.Pieces}
			defer func() { out <- r }()
			defer rescue.Panic(&r.err)
			samples := audio.Samples(ch.Audio)
			c := t.newClip(audio.NewReader(&samples), ch.At)
			for r.err == nil {
				var list []Segment
				list, r.err = c.next(ctx)
				r.list = append(r.list, list...)
			}
			if r.err == io.EOF {
				r.err = nil
			}
		})
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
func (t *transcriber) detect(ctx context.Context, cutter *vad.Cutter) error {
	var v vote
	var seen []vad.Chunk
	for !v.sure() {
		ch, err := cutter.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		seen = append(seen, ch)
		s := audio.Samples(ch.Audio)
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
	cutter.Return(seen)
	if v.windows > 0 {
		v.settle(t.o)
	}
	return nil
}
