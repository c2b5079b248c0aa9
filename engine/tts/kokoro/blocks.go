package kokoro

import (
	"fmt"
	"math"

	"quern/kernels/vec"
)

// A resBlock is an adaptive residual block: (r + shortcut)/√2 with r two
// convolutions of three taps, each after a normalisation with style.
type resBlock struct {
	in, out      int
	norm1, norm2 norm
	conv1, conv2 *convolution
	shortcut     *convolution // 1 tap where in ≠ out, else nil
	pool         *upsample    // where the block doubles the length, else nil
}

func (l *loader) resBlock(name string, in, style int) *resBlock {
	b := &resBlock{in: in}
	b.norm1 = l.norm(name+".norm1", in, style, vec.AdaINActivation{Slope: 0.2})
	b.conv1 = l.conv(name+".conv1", in, 1, 1, same)
	if l.err != nil {
		return nil
	}
	b.out = b.conv1.out
	b.norm2 = l.norm(name+".norm2", b.out, style, vec.AdaINActivation{Slope: 0.2})
	b.conv2 = l.conv(name+".conv2", b.out, 1, 1, same)
	if l.has(name + ".conv1x1.") {
		b.shortcut = l.conv(name+".conv1x1", in, 1, 1, 0)
	}
	if l.has(name + ".pool.") {
		b.pool = l.pool(name+".pool", in)
	}
	if l.err == nil && b.shortcut == nil && in != b.out {
		l.fail("block %q goes from %d to %d channels without a shortcut", name, in, b.out)
	}
	return b
}

func (b *resBlock) apply(c *call, x plane, s []float32) plane {
	rows := x.rows
	if b.pool != nil {
		rows *= 2
	}
	y := c.arena.plane(rows, b.out)
	m := c.arena.mark()
	r := b.norm1.apply(c, x, s)
	if b.pool != nil {
		r = b.pool.apply(c, r)
	}
	r = b.conv1.apply(c, r)
	b.norm2.to(c, r, r, s)
	r = b.conv2.apply(c, r)
	cut := x
	if b.shortcut != nil {
		cut = b.shortcut.apply(c, x) // before the doubling: a single tap does not mind
	}
	for t := range rows {
		from := t
		if b.pool != nil {
			from = t / 2
		}
		row := cut.data[from*b.out : (from+1)*b.out]
		for i, v := range r.data[t*b.out : (t+1)*b.out] {
			y.data[t*b.out+i] = (v + row[i]) * (1 / math.Sqrt2)
		}
	}
	c.arena.release(m)
	return y
}

// An upsample is the transposed convolution per channel that doubles a length: three
// taps, stride 2, padding 1 and output padding 1.
type upsample struct {
	w, bias []float32 // (3, cols), (cols)
}

func (l *loader) pool(name string, cols int) *upsample {
	w, shape := l.weight(name)
	if l.err != nil {
		return nil
	}
	if len(w) != 3*cols || shape[0] != cols {
		l.fail("the weight of %q has shape %v; it should have 3 taps for %d channels", name, shape, cols)
		return nil
	}
	p := &upsample{w: make([]float32, 3*cols), bias: l.vector(cols, name+".bias")}
	for i := range cols {
		for k := range 3 {
			p.w[k*cols+i] = w[i*3+k]
		}
	}
	return p
}

// apply returns a plane of twice the rows.
func (p *upsample) apply(c *call, x plane) plane {
	n := x.cols
	y := c.arena.plane(2*x.rows, n)
	in := x.data
	w0, w1, w2 := p.w[:n], p.w[n:2*n], p.w[2*n:]
	for t := range x.rows {
		row := in[t*n : (t+1)*n]
		even, odd := y.data[2*t*n:(2*t+1)*n], y.data[(2*t+1)*n:(2*t+2)*n]
		for i, v := range row {
			even[i] = w1[i]*v + p.bias[i]
			odd[i] = w2[i]*v + p.bias[i]
		}
		if t+1 < x.rows {
			for i, v := range in[(t+1)*n : (t+2)*n] {
				odd[i] += w0[i] * v
			}
		}
	}
	return y
}

// A snakeBlock is the generator's residual block: three times x += conv(snake(
// conv dilated(snake(x)))).
type snakeBlock struct {
	norm1, norm2 []norm
	conv1, conv2 []*convolution
}

// dilations of the first convolution of each round.
var dilations = [...]int{1, 3, 5}

func (l *loader) snakeBlock(name string, cols, style int) *snakeBlock {
	b := &snakeBlock{}
	for i, d := range dilations {
		b.norm1 = append(b.norm1, l.norm(fmt.Sprintf("%s.adain1.%d", name, i), cols, style, vec.AdaINActivation{Alpha: l.vector(cols, fmt.Sprintf("%s.alpha1.%d", name, i))}))
		b.norm2 = append(b.norm2, l.norm(fmt.Sprintf("%s.adain2.%d", name, i), cols, style, vec.AdaINActivation{Alpha: l.vector(cols, fmt.Sprintf("%s.alpha2.%d", name, i))}))
		b.conv1 = append(b.conv1, l.conv(fmt.Sprintf("%s.convs1.%d", name, i), cols, 1, d, same))
		b.conv2 = append(b.conv2, l.conv(fmt.Sprintf("%s.convs2.%d", name, i), cols, 1, 1, same))
	}
	if l.err == nil {
		for i := range dilations {
			if b.conv1[i].out != cols || b.conv2[i].out != cols {
				l.fail("block %q changes its %d channels", name, cols)
			}
		}
	}
	return b
}

// apply puts the block's output for x in its place.
func (b *snakeBlock) apply(c *call, x plane, s []float32) error {
	m := c.arena.mark()
	defer c.arena.release(m)
	r, h := c.arena.plane(x.rows, x.cols), c.arena.plane(x.rows, x.cols)
	for i := range b.conv1 {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		b.norm1[i].to(c, r, x, s)
		b.conv1[i].to(c, h, r)
		b.norm2[i].to(c, h, h, s)
		b.conv2[i].addTo(c, x, h)
	}
	return nil
}
