package mp3

import "math"

const subbands = 32

// hybrid is the inverse of the encoder's MDCT of every subband.
type hybrid struct {
	overlap [subbands][18]float32
}

// imdctWindows fills t.imdct. Sample n of a transform of 36 is, but for its
// sign, value m of a DCT-IV, and imdct36 leaves that divided by 2·cos of
// m's angle.
func (t *tables) imdctWindows() {
	for typ := range 4 {
		if typ == 2 {
			for i := range 12 {
				w := float32(blockWindow(2, i))
				t.imdct[0][2][i], t.imdct[1][2][i] = w, w
			}
			continue
		}
		for n := range 36 {
			m, sign := 26-n, -1.0
			switch {
			case n < 9:
				m, sign = n+9, 1
			case n >= 27:
				m = n - 27
			}
			w := sign * blockWindow(typ, n) / (2 * math.Cos(float64(2*m+1)*math.Pi/72))
			t.imdct[0][typ][n] = float32(w)
			if n%2 != 0 {
				w = -w
			}
			t.imdct[1][typ][n] = float32(w)
		}
	}
}

// run turns the lines x, zero from end on, into 18 samples of every subband.
// x is changed.
//
// The standard, 2.4.3.4.10.
func (h *hybrid) run(t *tables, x *[lines]float32, end int, g *granule, out *[18][subbands]float32) {
	// Alias reduction between subbands of long blocks.
	edges := 0
	switch g.kind() {
	case kindLong:
		edges = min((end+17)/18, subbands-1)
	case kindMixed:
		edges = 1
	}
	for sb := range edges {
		at := 18 * (sb + 1)
		a, b := (*[8]float32)(x[at-8:]), (*[8]float32)(x[at:])
		for i := range 8 {
			u, v := a[7-i], b[i]
			a[7-i] = u*t.cs[i] - v*t.ca[i]
			b[i] = v*t.cs[i] + u*t.ca[i]
		}
	}
	active := min((end+17)/18+1, subbands)
	for sb := range active {
		typ := g.blockType
		if g.mixed && sb < 2 {
			typ = 0
		}
		in := (*[18]float32)(x[18*sb:])
		w := &t.imdct[sb&1][typ]
		if typ == 2 {
			imdct12(in, w, &h.overlap[sb], out, sb)
		} else {
			imdct36(in, w, &h.overlap[sb], out, sb)
		}
	}
	for sb := active; sb < subbands; sb++ {
		for i, v := range &h.overlap[sb] {
			out[i][sb] = v
		}
		h.overlap[sb] = [18]float32{}
	}
}

// imdct36 adds the first half of the transform of x, windowed by w, to over,
// which goes to subband sb, and leaves the second half in over.
//
// A DCT-IV of 18 values is a DCT-III of the sums of neighbours, up to a factor a
// sample, which w has; that splits into two of 9.
func imdct36(x *[18]float32, w *[36]float32, over *[18]float32, out *[18][subbands]float32, sb int) {
	sb &= subbands - 1
	var a, b [9]float32
	// y[n] = x[n] + x[n-1]; a[j] = y[2j], b[j] = y[2j+1] + y[2j-1].
	a[0] = x[0]
	prev := x[0] + x[1]
	b[0] = prev
	for j := 1; j < 9; j++ {
		a[j] = x[2*j] + x[2*j-1]
		y := x[2*j+1] + x[2*j]
		b[j] = y + prev
		prev = y
	}
	dct9(&a)
	dct9(&b)
	var u [18]float32
	for m := range 9 {
		o := b[m] * sec36[m]
		u[m], u[17-m] = a[m]+o, a[m]-o
	}
	for i := range 9 {
		out[i][sb] = over[i] + u[9+i]*w[i]
		out[17-i][sb] = over[17-i] + u[9+i]*w[17-i]
		over[i] = u[8-i] * w[18+i]
		over[17-i] = u[8-i] * w[35-i]
	}
}

var sec36 = secants(36)

// dct9 replaces a by Σ a[j]·cos(j(2m+1)π/18), for m from 0 to 8.
func dct9(a *[9]float32) {
	const (
		c10 = 0.984807753012208
		c20 = 0.9396926207859084
		c30 = 0.8660254037844387
		c40 = 0.766044443118978
		c50 = 0.6427876096865394
		c70 = 0.3420201433256687
		c80 = 0.17364817766693041
	)
	h := a[0] + 0.5*a[6]
	e0 := h + a[2]*c20 + a[4]*c40 + a[8]*c80
	e2 := h - a[2]*c80 - a[4]*c20 + a[8]*c40
	e3 := h - a[2]*c40 + a[4]*c80 - a[8]*c20
	d := a[2] - a[4] - a[8]
	e1 := a[0] - a[6] + 0.5*d
	e4 := a[0] - a[6] - d
	t := a[3] * c30
	o0 := a[1]*c10 + t + a[5]*c50 + a[7]*c70
	o1 := (a[1] - a[5] - a[7]) * c30
	o2 := a[1]*c50 - t - a[5]*c70 + a[7]*c10
	o3 := a[1]*c70 - t + a[5]*c10 - a[7]*c50
	a[0], a[8] = e0+o0, e0-o0
	a[1], a[7] = e1+o1, e1-o1
	a[2], a[6] = e2+o2, e2-o2
	a[3], a[5] = e3+o3, e3-o3
	a[4] = e4
}

// imdct12 is imdct36 for the three windows of a short block, whose lines lie
// one beside the other in x.
func imdct12(x *[18]float32, w *[36]float32, over *[18]float32, out *[18][subbands]float32, sb int) {
	var y [36]float32
	for win := range 3 {
		at := y[6+6*win : 18+6*win]
		var u [6]float32
		for m := range u {
			c := &dct6[m]
			u[m] = x[win]*c[0] + x[win+3]*c[1] + x[win+6]*c[2] + x[win+9]*c[3] + x[win+12]*c[4] + x[win+15]*c[5]
		}
		for i := range 3 {
			at[i] += u[3+i] * w[i]
			at[3+i] -= u[5-i] * w[3+i]
			at[6+i] -= u[2-i] * w[6+i]
			at[9+i] -= u[i] * w[9+i]
		}
	}
	flip := float32(1)
	for i := range 18 {
		out[i][sb] = over[i] + y[i]*flip
		over[i] = y[18+i] * flip
		if sb&1 != 0 {
			flip = -flip
		}
	}
}

// dct6 is the matrix of a DCT-IV of 6 values.
var dct6 = func() (c [6][6]float32) {
	for m := range c {
		for k := range c[m] {
			c[m][k] = float32(math.Cos(float64((2*m+1)*(2*k+1)) * math.Pi / 24))
		}
	}
	return c
}()
