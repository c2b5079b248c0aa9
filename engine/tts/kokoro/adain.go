package kokoro

import (
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// normEps is added to the variance.
const normEps = 1e-5

// A norm is one adaptive instance normalisation followed by an activation.
type norm struct {
	affine *affine
	m      *vec.AdaIN
	act    vec.AdaINActivation
}

// apply normalises x over time with style s.
func (n *norm) apply(c *call, x plane, s []float32) plane {
	y := c.arena.plane(x.rows, x.cols)
	n.to(c, y, x, s)
	return y
}

// to writes x normalised to y, which may be x.
func (n *norm) to(c *call, y, x plane, s []float32) {
	m := c.arena.mark()
	gain, bias := c.arena.floats(x.cols), c.arena.floats(x.cols)
	n.affine.at(c, gain, bias, s)
	n.m.Run(c.pool, y.data, x.data, x.rows, gain, bias, normEps, n.act)
	c.arena.release(m)
}

// chunkRows is how many steps a worker takes at a time where no kernel does.
const chunkRows = 256

// each calls f for chunks of [0, rows) on the pool.
func (c *call) each(rows int, f func(from, to int)) {
	region := threads.Region{F: func(_, chunk int) {
		f(chunk*chunkRows, min((chunk+1)*chunkRows, rows))
	}}
	c.pool.Run((rows+chunkRows-1)/chunkRows, &region)
}

// scale multiplies x.
func (c *call) scale(x plane, by float32) {
	c.each(x.rows, func(from, to int) {
		part := x.data[from*x.cols : to*x.cols]
		vec.Scale(part, part, by)
	})
}

// add adds y to x.
func (c *call) add(x, y plane) {
	c.each(x.rows, func(from, to int) {
		part := x.data[from*x.cols : to*x.cols]
		vec.Add(part, part, y.data[from*x.cols:to*x.cols])
	})
}
