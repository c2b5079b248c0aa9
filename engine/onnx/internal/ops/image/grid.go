package image

import (
	"math"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// A sampler reads images between their elements.
type sampler struct {
	mode, padding string
	align         bool
	cubic         kernelOf
}

// edges returns between which coordinates a dimension of n is reflected.
func (s *sampler) edges(n int) (lo, hi float64) {
	if s.align {
		return 0, float64(n - 1)
	}
	return -0.5, float64(n) - 0.5
}

func mirrored(v, lo, hi float64) float64 {
	size := hi - lo
	if size <= 0 {
		return lo
	}
	if v = math.Mod(v-lo, 2*size); v < 0 {
		v += 2 * size
	}
	if v > size {
		v = 2*size - v
	}
	return lo + v
}

// element returns which element stands for i, -1 for zero.
func (s *sampler) element(i, n int) int {
	if i >= 0 && i < n {
		return i
	}
	switch s.padding {
	case "border":
		return min(max(i, 0), n-1)
	case "reflection":
		lo, hi := s.edges(n)
		return min(max(int(mirrored(float64(i), lo, hi)), 0), n-1)
	}
	return -1
}

// weights returns the elements of a dimension of n, and their weights, that
// make the value at v, from -1 to 1 over the image.
func (s *sampler) weights(v float64, n int, from *[4]int, weight *[4]float64) int {
	if s.align {
		v = (v + 1) / 2 * float64(n-1)
	} else {
		v = ((v+1)*float64(n) - 1) / 2
	}
	if math.IsNaN(v) {
		v = -1e9
	}
	v = min(max(v, -1e9), 1e9)
	if s.mode == "nearest" {
		v = math.RoundToEven(v)
	}
	if lo, hi := s.edges(n); v < lo || v > hi {
		switch s.padding {
		case "border":
			v = min(max(v, 0), float64(n-1))
		case "reflection":
			v = mirrored(v, lo, hi)
		}
	}
	base := int(math.Floor(v))
	rest := v - float64(base)
	switch s.mode {
	case "nearest":
		from[0], weight[0] = s.element(int(v), n), 1
		return 1
	case "linear", "bilinear":
		from[0], weight[0] = s.element(base, n), 1-rest
		from[1], weight[1] = s.element(base+1, n), rest
		return 2
	}
	for j := range 4 {
		from[j], weight[j] = s.element(base-1+j, n), s.cubic.weight(float64(j-1)-rest)
	}
	return 4
}

// gridSample reads x (batch, channels, space…) at the points of grid (batch,
// points…, dimensions), the last dimension of x first.
func gridSample(c *run.Call) []*tensor.Tensor {
	x, grid := c.X(0), c.X(1)
	r := len(x.Shape) - 2
	if r < 1 || r > 3 || len(grid.Shape) != r+2 || grid.Shape[0] != x.Shape[0] || grid.Shape[r+1] != r || x.S != nil || grid.F == nil && grid.D == nil {
		tensor.Malformed("grid of shape %d over %d", grid.Shape, x.Shape)
	}
	s := sampler{c.Text("mode", "linear"), c.Text("padding_mode", "zeros"), c.Int("align_corners", 0) != 0, cubicKernel(-0.75)}
	switch s.mode {
	case "nearest", "linear", "bilinear", "cubic", "bicubic":
	default:
		tensor.Malformed("samples by %.20q", s.mode)
	}
	channels, points, plane := x.Shape[1], tensor.Count(grid.Shape[1:r+1]), tensor.Count(x.Shape[2:])
	out := c.Zeros(x.Type, append([]int{x.Shape[0], channels}, grid.Shape[1:r+1]...)...)
	if out.Len() == 0 || plane == 0 {
		return run.One(out)
	}
	size := three(x.Shape[2:], 1)
	c.ByRows(x.Shape[0]*points, channels*16, func(a, b int) {
		for p := a; p < b; p++ {
			var from [3][4]int
			var weight [3][4]float64
			n := [3]int{1, 1, 1}
			for d := range 3 {
				weight[d][0] = 1
				if j := 2 - d; j < r {
					n[d] = s.weights(grid.At(p*r+j), size[d], &from[d], &weight[d])
				}
			}
			for ch := range channels {
				base, sum := (p/points*channels+ch)*plane, 0.0
				for i := range n[0] {
					for j := range n[1] {
						for k := range n[2] {
							if z, y, x0 := from[0][i], from[1][j], from[2][k]; z >= 0 && y >= 0 && x0 >= 0 {
								sum += weight[0][i] * weight[1][j] * weight[2][k] * x.At(base+(z*size[1]+y)*size[2]+x0)
							}
						}
					}
				}
				out.Put((p/points*channels+ch)*points+p%points, sum)
			}
		}
	})
	return run.One(out)
}

// affineGrid returns the points theta (batch, d, d+1) moves those of an image to.
func affineGrid(c *run.Call) []*tensor.Tensor {
	theta, size := c.X(0), c.X(1).List()
	d := len(size) - 2
	if d < 2 || d > 3 || len(theta.Shape) != 3 || theta.Shape[0] != size[0] || theta.Shape[1] != d || theta.Shape[2] != d+1 || theta.F == nil && theta.D == nil {
		tensor.Malformed("grid of shape %d by %d", size, theta.Shape)
	}
	align := c.Int("align_corners", 0) != 0
	out := c.Blank(theta.Type, append(append([]int{size[0]}, size[2:]...), d)...)
	points := tensor.Count(size[2:])
	c.ByRows(size[0]*points, 4*d, func(a, b int) {
		for p := a; p < b; p++ {
			at := [4]float64{}
			at[d] = 1
			rest := p % points
			for j := range d { // the last dimension is x
				n := size[len(size)-1-j]
				i := float64(rest % n)
				rest /= n
				switch {
				case !align:
					at[j] = (2*i+1)/float64(n) - 1
				case n > 1:
					at[j] = 2*i/float64(n-1) - 1
				default:
					at[j] = -1
				}
			}
			for i := range d {
				v := 0.0
				for j := range d + 1 {
					v += theta.At((p/points*d+i)*(d+1)+j) * at[j]
				}
				out.Put(p*d+i, v)
			}
		}
	})
	return run.One(out)
}
