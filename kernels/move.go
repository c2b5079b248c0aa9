package kernels

// Move copies packed weights to memory the caller owns, n floats a call, and
// forgets its own. Weights of hundreds of megabytes are better kept outside the
// Go heap: the collector lets a heap grow in proportion to what lives in it.
// That memory has to stay until the last product.
func (p *Panels) Move(memory func(n int) []float32) { p.data = moved(p.data, memory) }

// Move is Move of the packed weights.
func (g *Gemm) Move(memory func(n int) []float32) { g.w.Move(memory) }

// Move is Move of the packed weights of all directions.
func (l *LSTM) Move(memory func(n int) []float32) {
	l.input.Move(memory)
	for _, s := range l.sides {
		s.rec.Move(memory)
	}
}

// Move is Move of the packed weights.
func (c *Conv) Move(memory func(n int) []float32) {
	if c.fast != nil {
		for _, w := range c.fast.w {
			w.Move(memory)
		}
		return
	}
	c.w.Move(memory)
	c.phase.w = c.w.data
}

// Move is Move of the packed weights.
func (c *ConvTranspose) Move(memory func(n int) []float32) {
	for i := range c.phases {
		if f := &c.phases[i]; f.w != nil {
			f.w = moved(f.w, memory)
		}
	}
}

func moved(w []float32, memory func(n int) []float32) []float32 {
	to := memory(len(w))[:len(w):len(w)]
	copy(to, w)
	return to
}
