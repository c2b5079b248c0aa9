package kokoro

import (
	"fmt"
	"math"
)

// A predictor says how long every symbol lasts and how pitch and energy move.
type predictor struct {
	style    int
	input    *dense // from ALBERT's width
	lstms    []*lstm
	norms    []*affine
	lstm     *lstm
	duration *dense
	shared   *lstm
	f0, n    []*resBlock
	f0Out    *convolution
	nOut     *convolution
}

func (l *loader) predictor(b *bert, style int) *predictor {
	if l.err != nil {
		return nil
	}
	p := &predictor{style: style, input: l.linear("bert_encoder", b.input.out)}
	if l.err != nil {
		return nil
	}
	width := p.input.out
	const e = "predictor.text_encoder.lstms"
	for i := 0; l.has(fmt.Sprintf("%s.%d.", e, i)); i += 2 {
		p.lstms = append(p.lstms, l.lstm(fmt.Sprintf("%s.%d", e, i), width+style))
		p.norms = append(p.norms, l.affine(fmt.Sprintf("%s.%d", e, i+1), width, style))
	}
	p.lstm = l.lstm("predictor.lstm", width+style)
	p.duration = l.linear("predictor.duration_proj.linear_layer", width)
	p.shared = l.lstm("predictor.shared", width+style)
	p.f0, p.f0Out = l.curve("F0", width, style)
	p.n, p.nOut = l.curve("N", width, style)
	if l.err == nil {
		for _, r := range append(p.lstms, p.lstm, p.shared) {
			if r.width != width {
				l.fail("a recurrent layer of the predictor has %d states; want %d", r.width, width)
			}
		}
	}
	return p
}

// curve loads a stack of blocks and its projection to one channel.
func (l *loader) curve(name string, in, style int) ([]*resBlock, *convolution) {
	var blocks []*resBlock
	for i := range l.count("predictor." + name) {
		b := l.resBlock(fmt.Sprintf("predictor.%s.%d", name, i), in, style)
		if l.err != nil {
			return nil, nil
		}
		blocks, in = append(blocks, b), b.out
	}
	out := l.conv("predictor."+name+"_proj", in, 1, 1, 0)
	if l.err == nil && out.out != 1 {
		l.fail("predictor.%s_proj has %d channels", name, out.out)
	}
	return blocks, out
}

// durations returns the encoding of every symbol and how many frames of 25 ms it
// lasts, at least one each.
func (p *predictor) durations(c *call, hidden plane, s []float32, speed float64) (plane, []int) {
	x := beside(c, p.input.apply(c, hidden), s)
	gain, offset := c.arena.floats(p.input.out), c.arena.floats(p.input.out)
	for i, r := range p.lstms {
		y := r.apply(c, x)
		p.norms[i].at(c, gain, offset, s)
		for t := range y.rows {
			row := y.data[t*y.cols : (t+1)*y.cols]
			standardise(row)
			for k := range row {
				row[k] = row[k]*gain[k] + offset[k]
			}
		}
		x = beside(c, y, s)
	}
	logits := p.duration.apply(c, p.lstm.apply(c, x))
	out := make([]int, x.rows)
	for t := range out {
		var sum float32
		for _, v := range logits.data[t*logits.cols : (t+1)*logits.cols] {
			sum += sigmoid(v)
		}
		out[t] = max(1, int(math.RoundToEven(float64(sum)/speed)))
	}
	return x, out
}

// standardise takes the mean out of x and divides by its deviation.
func standardise(x []float32) {
	var sum, square float64
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		d := float64(v) - mean
		square += d * d
	}
	scale := 1 / math.Sqrt(square/float64(len(x))+1e-5)
	for i, v := range x {
		x[i] = float32((float64(v) - mean) * scale)
	}
}

// curves returns pitch in Hz and energy, two values a frame.
func (p *predictor) curves(c *call, frames plane, s []float32) (f0, n []float32, err error) {
	x := p.shared.apply(c, frames)
	run := func(blocks []*resBlock, out *convolution) ([]float32, error) {
		y := x
		for _, b := range blocks {
			if err := c.ctx.Err(); err != nil {
				return nil, err
			}
			y = b.apply(c, y, s)
		}
		return out.apply(c, y).data, nil
	}
	if f0, err = run(p.f0, p.f0Out); err != nil {
		return nil, nil, err
	}
	n, err = run(p.n, p.nOut)
	return f0, n, err
}

// A decoder turns symbols stretched to frames, pitch and energy into what the
// generator makes sound of.
type decoder struct {
	f0, n  *convolution
	side   *convolution // asr_res
	encode *resBlock
	decode []*resBlock
}

func (l *loader) decoder(width, style int) *decoder {
	d := &decoder{f0: l.conv("decoder.F0_conv", 1, 2, 1, same), n: l.conv("decoder.N_conv", 1, 2, 1, same)}
	d.side = l.conv("decoder.asr_res.0", width, 1, 1, 0)
	d.encode = l.resBlock("decoder.encode", width+2, style)
	if l.err != nil {
		return nil
	}
	in := d.encode.out
	for i := range l.count("decoder.decode") {
		b := l.resBlock(fmt.Sprintf("decoder.decode.%d", i), in+d.side.out+2, style)
		if l.err != nil {
			return nil
		}
		d.decode, in = append(d.decode, b), b.out
	}
	if len(d.decode) == 0 || d.f0.out != 1 || d.n.out != 1 {
		l.fail("the decoder has no blocks")
	}
	return d
}

func (d *decoder) apply(c *call, symbols plane, f0, n, s []float32) (plane, error) {
	curve := func(v *convolution, x []float32) plane {
		return v.apply(c, plane{rows: len(x), cols: 1, data: x})
	}
	a, b := curve(d.f0, f0), curve(d.n, n)
	side := d.side.apply(c, symbols)
	x := d.encode.apply(c, concat(c, symbols, a, b), s)
	for _, block := range d.decode {
		if err := c.ctx.Err(); err != nil {
			return plane{}, err
		}
		x = block.apply(c, concat(c, x, side, a, b), s)
	}
	return x, nil
}
