package kokoro

import (
	"fmt"

	"quern/kernels/conv"
	"quern/kernels/vec"
)

// A generator makes sound: it raises the rate in stages, adds the harmonic
// source to each, and ends in the inverse of a short-time Fourier transform.
//
// Kaneko et al., "iSTFTNet: Fast and Lightweight Mel-spectrogram Vocoder
// Incorporating Inverse Short-time Fourier Transform", 2022.
type generator struct {
	stages []stage
	post   *convolution
	source source
	stft   *transform
}

type stage struct {
	up     *convT
	branch *convolution // of the source's spectrum
	noise  *snakeBlock
	blocks []*snakeBlock
}

func (l *loader) generator(cfg *config, in, style int) *generator {
	const name = "decoder.generator."
	g := &generator{}
	size := cfg.ISTFT.Size
	hop := cfg.ISTFT.Hop
	if size < 4 || size > 4096 || size%2 != 0 || hop < 1 || size%hop != 0 {
		l.fail("an inverse transform of %d samples every %d", size, hop)
		return nil
	}
	g.stft = newTransform(size, hop)
	bins := g.stft.bins()
	n := l.count(name + "ups")
	if n == 0 {
		l.fail("the generator has no stages")
		return nil
	}
	per := l.count(name+"resblocks") / n
	if per == 0 {
		l.fail("the generator has %d stages without blocks", n)
		return nil
	}
	rate := 1
	l.fast = &conv.FastConv{}
	defer func() { l.fast = nil }()
	for i := range n {
		s := stage{up: l.convT(fmt.Sprintf("%sups.%d", name, i), in)}
		if l.err != nil {
			return nil
		}
		in = s.up.out
		rate *= s.up.stride
		s.noise = l.snakeBlock(fmt.Sprintf("%snoise_res.%d", name, i), in, style)
		for j := range per {
			s.blocks = append(s.blocks, l.snakeBlock(fmt.Sprintf("%sresblocks.%d", name, i*per+j), in, style))
		}
		g.stages = append(g.stages, s)
	}
	// The source's spectrum comes at the last rate; earlier stages step over it.
	left := rate
	for i := range g.stages {
		s := &g.stages[i]
		left /= s.up.stride
		pad := 0
		if left > 1 {
			pad = (left + 1) / 2
		}
		s.branch = l.conv(fmt.Sprintf("%snoise_convs.%d", name, i), 2*bins, left, 1, pad)
		if l.err == nil && (s.branch.out != s.up.out || left > 1 && s.branch.taps != 2*left || left == 1 && s.branch.taps != 1) {
			l.fail("source branch %d has %d channels and a kernel of %d", i, s.branch.out, s.branch.taps)
		}
	}
	g.post = l.conv(name+"conv_post", in, 1, 1, same)
	if l.err == nil && g.post.out != 2*bins {
		l.fail("the generator ends in %d channels; want %d", g.post.out, 2*bins)
	}
	g.source = source{mix: l.vector(harmonics, name+"m_source.l_linear.weight"), hold: rate * hop}
	if b := l.vector(1, name+"m_source.l_linear.bias"); b != nil {
		g.source.bias = b[0]
	}
	return g
}

// apply returns x.rows · source.hold samples from the decoder's output, which it
// overwrites, and the source's spectrum.
func (g *generator) apply(c *call, x, spectrum plane, s []float32) ([]float32, error) {
	out := make([]float32, x.rows*g.source.hold)
	m := c.arena.mark()
	for i := range g.stages {
		c.leak(x, 0.1)
		y, err := g.stages[i].apply(c, x, spectrum, s, i == len(g.stages)-1)
		if err != nil {
			return nil, fmt.Errorf("kokoro: stage %d: %w", i, err)
		}
		x = c.arena.keep(m, y)
	}
	c.leak(x, 0.01)
	y := g.post.apply(c, x)
	c.seam("decoder.generator.conv_post", y)
	g.stft.inverse(c, out, y)
	return out, nil
}

// apply returns the mean of the blocks' outputs. At the last rate one reflected
// step goes in front.
func (st *stage) apply(c *call, x, spectrum plane, s []float32, last bool) (plane, error) {
	sum := st.branch.apply(c, spectrum)
	if err := st.noise.apply(c, sum, s); err != nil {
		return plane{}, err
	}
	m := c.arena.mark()
	up := st.up.apply(c, x)
	w, skip := up.cols, 0
	if last {
		skip = 1
	}
	if up.rows+skip != sum.rows {
		return plane{}, fmt.Errorf("%d steps, and %d of the source", up.rows+skip, sum.rows)
	}
	if last {
		vec.Add(sum.data[:w], sum.data[:w], up.data[min(1, up.rows-1)*w:][:w])
	}
	c.add(plane{rows: up.rows, cols: w, data: sum.data[skip*w:]}, up)
	c.arena.release(m)

	// The first block works where the mean will be, the last where its input is:
	// so four more planes of the stage's size are alive at most.
	var mean plane
	for j, b := range st.blocks {
		inner := c.arena.mark()
		y := sum
		if j < len(st.blocks)-1 {
			y = c.arena.plane(sum.rows, sum.cols)
			copy(y.data, sum.data)
		}
		if err := b.apply(c, y, s); err != nil {
			return plane{}, err
		}
		if j == 0 {
			mean = y
			continue
		}
		c.add(mean, y)
		c.arena.release(inner)
	}
	c.scale(mean, 1/float32(len(st.blocks)))
	return mean, nil
}
