package vec

import (
	"fmt"
	"math"

	"quern/kernels/threads"
)

// An AdaINActivation follows the norm. Where Alpha is set, Slope is ignored.
type AdaINActivation struct {
	// Slope is that of the leaky ReLU below zero: 1 leaves values as they are.
	Slope float32
	// Alpha (channels), where not nil, makes it snake: t + sin²(α·t)/α, and t
	// where α is 0. |α·t| must be below 2²² for the error bound of sin.
	Alpha []float32
}

// An AdaIN normalises every channel over time and applies a style's scale and shift and
// an activation, in two passes over its input: adaptive instance normalisation. It is made once per width and is not safe for concurrent use.
//
// Ulyanov, Vedaldi & Lempitsky, "Instance Normalization", 2016, eq. 2; Huang &
// Belongie, "Arbitrary Style Transfer in Real-time with Adaptive Instance
// Normalization", 2017, eq. 8; Ziyin, Hartwig & Ueda, "Neural Networks Fail to
// Learn Periodic Functions and How to Fix It", 2020, eq. 3.
type AdaIN struct {
	channels     int
	sums         []float32 // (blocks, 2, channels): sum, then squares about the block's mean
	scale, shift []float32
	inverse      []float32 // 1/α

	dst, x           []float32
	rows             int
	act              AdaINActivation
	measure, perform threads.Region
}

// statRows is the number of rows in a block of the statistics: so few that the second
// pass reads the block from the cache, and a constant, so that bits do not depend on the
// number of threads.
const statRows = 256

// NewAdaIN prepares norms of that many channels.
func NewAdaIN(channels int) *AdaIN {
	if channels <= 0 {
		panic(fmt.Sprintf("vec: a norm of %d channels", channels))
	}
	c := &AdaIN{channels: channels, scale: make([]float32, channels), shift: make([]float32, channels), inverse: make([]float32, channels)}
	c.measure.F, c.perform.F = c.measureBlock, c.performBlock
	return c
}

// Run writes act(gain · (x - mean) / √(variance + eps) + bias) to dst. x and dst
// are (rows, channels), gain and bias (channels), mean and variance (biased)
// are over the rows. nil gain and bias are ones and zeros. dst may be x.
//
// Sums are float32 over blocks of 256 rows, with each block's own mean, and
// float64 over the blocks: Chan, Golub & LeVeque, "Algorithms for Computing the
// Sample Variance", 1983, eq. 2.1.
func (c *AdaIN) Run(p *threads.Pool, dst, x []float32, rows int, gain, bias []float32, eps float32, act AdaINActivation) {
	n := c.channels
	if len(x) != rows*n || len(dst) != rows*n || gain != nil && len(gain) != n || bias != nil && len(bias) != n || act.Alpha != nil && len(act.Alpha) != n {
		panic(fmt.Sprintf("vec: norm of %d rows of %d channels in %d floats into %d, with %d, %d and %d parameters", rows, n, len(x), len(dst), len(gain), len(bias), len(act.Alpha)))
	}
	if rows == 0 {
		return
	}
	blocks := (rows + statRows - 1) / statRows
	if len(c.sums) < blocks*2*n {
		c.sums = make([]float32, blocks*2*n)
	}
	c.dst, c.x, c.rows, c.act = dst, x, rows, act
	p.Run(blocks, &c.measure)
	for i := range n {
		var mean, m2 float64
		for q := range blocks {
			count := float64(min(statRows, rows-q*statRows))
			sum, squares := float64(c.sums[2*q*n+i]), float64(c.sums[(2*q+1)*n+i])
			before := float64(q * statRows)
			d := sum/count - mean
			mean += d * count / (before + count)
			m2 += squares + d*d*before*count/(before+count)
		}
		scale, shift := 1/math.Sqrt(m2/float64(rows)+float64(eps)), 0.0
		if gain != nil {
			scale *= float64(gain[i])
		}
		if bias != nil {
			shift = float64(bias[i])
		}
		c.scale[i], c.shift[i] = float32(scale), float32(shift-mean*scale)
	}
	c.invert()
	p.Run(blocks, &c.perform)
	c.dst, c.x, c.act = nil, nil, AdaINActivation{}
}

func (c *AdaIN) invert() {
	for i, a := range c.act.Alpha {
		c.inverse[i] = 0
		if a != 0 {
			c.inverse[i] = 1 / a
		}
	}
}

// measureBlock writes a block's sums and its squares about its mean.
func (c *AdaIN) measureBlock(_, block int) {
	n := c.channels
	r0, r1 := block*statRows, min((block+1)*statRows, c.rows)
	x, sums, squares := c.x[r0*n:r1*n], c.sums[2*block*n:][:n], c.sums[(2*block+1)*n:][:n]
	v := vectors()
	done := v.whole(n)
	if done > 0 {
		v.columnSums(&sums[0], &x[0], n, r1-r0, done)
	}
	clear(sums[done:])
	clear(squares[done:])
	if done < n {
		for at := 0; at < len(x); at += n {
			Add(sums[done:], sums[done:], x[at+done:at+n])
		}
	}
	// The mean is kept in the place of the squares until they are written.
	by := 1 / float32(r1-r0)
	Scale(squares, sums, by)
	for i := done; i < n; i++ {
		mean, s := squares[i], float32(0)
		for at := i; at < len(x); at += n {
			d := x[at] - mean
			s += float32(d * d)
		}
		squares[i] = s
	}
	if done > 0 {
		v.columnSquares(&squares[0], &x[0], &squares[0], n, r1-r0, done)
	}
}

func (c *AdaIN) performBlock(_, block int) {
	n := c.channels
	v := vectors()
	done := v.whole(n)
	for r := block * statRows; r < min((block+1)*statRows, c.rows); r++ {
		x, dst := c.x[r*n:(r+1)*n], c.dst[r*n:(r+1)*n]
		if c.act.Alpha != nil {
			if done > 0 {
				v.snake(&dst[0], &x[0], &c.scale[0], &c.shift[0], &c.act.Alpha[0], &c.inverse[0], done)
			}
			for i := done; i < n; i++ {
				t := float32(x[i]*c.scale[i]) + c.shift[i]
				s := sin(c.act.Alpha[i] * t)
				dst[i] = t + s*s*c.inverse[i]
			}
			continue
		}
		if done > 0 {
			v.leaky(&dst[0], &x[0], &c.scale[0], &c.shift[0], done, c.act.Slope)
		}
		for i := done; i < n; i++ {
			t := float32(x[i]*c.scale[i]) + c.shift[i]
			dst[i] = max(t, 0) + c.act.Slope*min(t, 0)
		}
	}
}
