//go:build !noasm

package gemm

import "quern/kernels/internal/isa"

// gemmTile computes rows of a product with one panel; see tiles_arm64.s. Strides count bytes. It
// calls by name, so that its pointers do not escape to the heap.
func gemmTile(t int, dst *float32, dstStride int, init *float32, initStride int, x *float32, xStride, taps, tapStride, k int, w *float32) {
	switch tileRows[t] {
	case 6:
		gemm6x16NEON(dst, dstStride, init, initStride, x, xStride, taps, tapStride, k, w)
	case 4:
		gemm4x16NEON(dst, dstStride, init, initStride, x, xStride, taps, tapStride, k, w)
	case 2:
		gemm2x16NEON(dst, dstStride, init, initStride, x, xStride, taps, tapStride, k, w)
	default:
		gemm1x16NEON(dst, dstStride, init, initStride, x, xStride, taps, tapStride, k, w)
	}
}

var windowTiles = [len(tileRows)]windowTile{window6x16NEON, window4x16NEON, window2x16NEON, window1x16NEON}

// tiles computes c, which is at most one slab. What is less than a panel is computed beside Dst.
func (c *Product) tiles() {
	if isa.Current() < isa.NEON || c.Taps*c.K == 0 {
		c.tilesGo()
		return
	}
	_, _ = c.X[(c.Rows-1)*c.XStride+(c.Taps-1)*c.TapStride+c.K-1], c.W[(c.N-1)/PanelWidth*c.WStride+c.Taps*c.K*PanelWidth-1]
	for j := 0; j < c.N; j += PanelWidth {
		n := min(PanelWidth, c.N-j)
		for r := 0; r < c.Rows; {
			t := tallest(c.Rows - r)
			rows := tileRows[t]
			dst, dstStride := c.Dst[r*c.DstStride+j:], c.DstStride
			var init []float32
			initStride := c.InitStride
			if c.Init != nil {
				init = c.Init[r*c.InitStride+j:]
			}
			var part [6 * PanelWidth]float32
			if n < PanelWidth {
				dst, dstStride = part[:], PanelWidth
				if init != nil {
					for i := range rows {
						copy(part[i*PanelWidth:], init[i*initStride:][:n])
					}
					init, initStride = part[:], PanelWidth
				}
			}
			_ = dst[(rows-1)*dstStride+PanelWidth-1]
			var from *float32
			if init != nil {
				from = &init[:(rows-1)*initStride+PanelWidth][0]
			}
			gemmTile(t, &dst[0], 4*dstStride, from, 4*initStride, &c.X[r*c.XStride], 4*c.XStride, c.Taps, 4*c.TapStride, c.K, &c.W[j/PanelWidth*c.WStride])
			if n < PanelWidth {
				for i := range rows {
					copy(c.Dst[(r+i)*c.DstStride+j:][:n], part[i*PanelWidth:])
				}
			}
			r += rows
		}
	}
}

// tiles computes c.
func (c *Windows) tiles() {
	if isa.Current() < isa.NEON || len(c.At) == 0 {
		c.tilesGo()
		return
	}
	for r := 0; r < c.Rows; {
		t := tallest(c.Rows - r)
		for j := 0; j < c.N; j += PanelWidth {
			windowTiles[t](&c.Dst[r*c.DstStride+j], 4*c.DstStride, &c.X[r*c.XStride], 4*c.XStride, len(c.At), &c.Source[j], &c.At[0])
		}
		r += tileRows[t]
	}
}

// int8ByFloats reports whether tiles of float32 are the fastest for integers.
func int8ByFloats() bool { return isa.Current() >= isa.NEON }

//go:noescape
func gemm6x16NEON(dst *float32, dstStride int, init *float32, initStride int, x *float32, xStride, taps, tapStride, k int, w *float32)

//go:noescape
func gemm4x16NEON(dst *float32, dstStride int, init *float32, initStride int, x *float32, xStride, taps, tapStride, k int, w *float32)

//go:noescape
func gemm2x16NEON(dst *float32, dstStride int, init *float32, initStride int, x *float32, xStride, taps, tapStride, k int, w *float32)

//go:noescape
func gemm1x16NEON(dst *float32, dstStride int, init *float32, initStride int, x *float32, xStride, taps, tapStride, k int, w *float32)

//go:noescape
func window6x16NEON(dst *float32, dstStride int, x *float32, xStride, k int, source *float32, at *uint32)

//go:noescape
func window4x16NEON(dst *float32, dstStride int, x *float32, xStride, k int, source *float32, at *uint32)

//go:noescape
func window2x16NEON(dst *float32, dstStride int, x *float32, xStride, k int, source *float32, at *uint32)

//go:noescape
func window1x16NEON(dst *float32, dstStride int, x *float32, xStride, k int, source *float32, at *uint32)
