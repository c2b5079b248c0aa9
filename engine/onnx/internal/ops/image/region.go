package image

import (
	"cmp"
	"math"
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// maxSamples bounds the points RoiAlign takes for one cell.
const maxSamples = 1 << 16

// roiAlign averages points of each cell of a grid laid over regions (left, top,
// right, bottom).
//
// He et al., "Mask R-CNN", 2017, §3.
func roiAlign(c *run.Call) []*tensor.Tensor {
	x, rois, batches := c.X(0), c.X(1), c.X(2).List()
	if len(x.Shape) != 4 || len(rois.Shape) != 2 || rois.Shape[1] != 4 || len(batches) != rois.Shape[0] || x.F == nil && x.D == nil || rois.F == nil && rois.D == nil {
		tensor.Malformed("regions of shape %d of %d", rois.Shape, x.Shape)
	}
	rows, columns := c.Int("output_height", 1), c.Int("output_width", 1)
	ratio, scale := c.Int("sampling_ratio", 0), c.Float("spatial_scale", 1)
	best := c.Text("mode", "avg") == "max"
	missing := "half_pixel"
	if c.Opset < 16 {
		missing = "output_half_pixel"
	}
	half := c.Text("coordinate_transformation_mode", missing) == "half_pixel"
	channels, height, width := x.Shape[1], x.Shape[2], x.Shape[3]
	out := c.Zeros(x.Type, rois.Shape[0], channels, rows, columns)
	if out.Len() == 0 || height == 0 || width == 0 {
		return run.One(out)
	}
	for r := range rois.Shape[0] {
		c.Check()
		b := tensor.Inside(int64(batches[r]), x.Shape[0])
		var edge [4]float64
		for k := range edge {
			if edge[k] = rois.At(r*4+k) * scale; half {
				edge[k] -= 0.5
			}
		}
		w, h := edge[2]-edge[0], edge[3]-edge[1]
		if !half {
			w, h = max(w, 1), max(h, 1)
		}
		cellH, cellW := h/float64(rows), w/float64(columns)
		ny, nx := ratio, ratio
		if ratio <= 0 {
			if !(cellH < maxSamples && cellW < maxSamples) {
				tensor.Unsupported("a region of %v by %v", h, w)
			}
			ny, nx = max(0, int(math.Ceil(cellH))), max(0, int(math.Ceil(cellW)))
		}
		if ny > maxSamples || nx > maxSamples || ny*nx > maxSamples {
			tensor.Unsupported("%d by %d samples", ny, nx)
		}
		c.ByRows(channels*rows*columns, max(1, ny*nx*8), func(from, to int) {
			for i := from; i < to; i++ {
				base := (b*channels + i/(rows*columns)) * height * width
				top := edge[1] + float64(i/columns%rows)*cellH
				left := edge[0] + float64(i%columns)*cellW
				sum, most := 0.0, math.Inf(-1)
				for j := range ny {
					y := top + (float64(j)+0.5)*cellH/float64(ny)
					for k := range nx {
						xx := left + (float64(k)+0.5)*cellW/float64(nx)
						s, m := corners(x, base, height, width, y, xx)
						sum, most = sum+s, max(most, m)
					}
				}
				switch {
				case ny*nx == 0:
				case best:
					out.Put(r*channels*rows*columns+i, most)
				default:
					out.Put(r*channels*rows*columns+i, sum/float64(ny*nx))
				}
			}
		})
	}
	return run.One(out)
}

// corners returns the sum and the largest of the four neighbours of a point,
// each times its weight.
func corners(x *tensor.Tensor, base, height, width int, y, xx float64) (sum, most float64) {
	if !(y >= -1 && y <= float64(height) && xx >= -1 && xx <= float64(width)) {
		return 0, 0
	}
	y, xx = min(max(y, 0), float64(height-1)), min(max(xx, 0), float64(width-1))
	y0, x0 := int(y), int(xx)
	y1, x1 := min(y0+1, height-1), min(x0+1, width-1)
	fy, fx := y-float64(y0), xx-float64(x0)
	four := [4]float64{
		(1 - fy) * (1 - fx) * x.At(base+y0*width+x0), (1 - fy) * fx * x.At(base+y0*width+x1),
		fy * (1 - fx) * x.At(base+y1*width+x0), fy * fx * x.At(base+y1*width+x1),
	}
	return four[0] + four[1] + four[2] + four[3], slices.Max(four[:])
}

// nonMaxSuppression chooses boxes by score that overlap no better one too much.
func nonMaxSuppression(c *run.Call) []*tensor.Tensor {
	boxes, scores := c.X(0), c.X(1)
	if len(boxes.Shape) != 3 || boxes.Shape[2] != 4 || len(scores.Shape) != 3 || scores.Shape[0] != boxes.Shape[0] || scores.Shape[2] != boxes.Shape[1] || boxes.F == nil || scores.F == nil {
		tensor.Malformed("boxes of shape %d, scores of %d", boxes.Shape, scores.Shape)
	}
	number := func(i int, missing float64) float64 {
		if t := c.Opt(i); t != nil {
			return t.Scalar().At(0)
		}
		return missing
	}
	limit, overlap, least := number(2, 0), float32(number(3, 0)), float32(number(4, math.Inf(-1)))
	n := boxes.Shape[1]
	// Boxes as their edges: top, left, bottom, right.
	edges := make([][4]float32, boxes.Shape[0]*n)
	for i := range edges {
		b := boxes.F[i*4 : i*4+4]
		if c.Int("center_point_box", 0) != 0 {
			edges[i] = [4]float32{b[1] - b[3]/2, b[0] - b[2]/2, b[1] + b[3]/2, b[0] + b[2]/2}
		} else {
			edges[i] = [4]float32{min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3])}
		}
	}
	var out []int64
	for bc := range scores.Shape[0] * scores.Shape[1] {
		batch := bc / scores.Shape[1]
		row := scores.F[bc*n : (bc+1)*n]
		var order []int
		for i, s := range row {
			if s > least {
				order = append(order, i)
			}
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(row[j], row[i]) })
		var kept []int
		for _, i := range order {
			c.Check()
			if float64(len(kept)) >= limit {
				break
			}
			if !slices.ContainsFunc(kept, func(j int) bool { return overlaps(edges[batch*n+i], edges[batch*n+j]) > overlap }) {
				kept = append(kept, i)
				out = append(out, int64(batch), int64(bc%scores.Shape[1]), int64(i))
			}
		}
	}
	t := tensor.New(onnx.Int64, len(out)/3, 3)
	copy(t.I, out)
	return run.One(t)
}

// overlaps returns the area two boxes share over that of both.
func overlaps(a, b [4]float32) float32 {
	h, w := min(a[2], b[2])-max(a[0], b[0]), min(a[3], b[3])-max(a[1], b[1])
	if h <= 0 || w <= 0 {
		return 0
	}
	return h * w / ((a[2]-a[0])*(a[3]-a[1]) + (b[2]-b[0])*(b[3]-b[1]) - h*w)
}

// maxRoiPool takes the largest of each cell of a grid laid over regions
// (batch, left, top, right, bottom).
//
// Girshick, "Fast R-CNN", 2015, §2.1.
func maxRoiPool(c *run.Call) []*tensor.Tensor {
	x, rois, grid := c.X(0), c.X(1), c.List("pooled_shape", -1)
	if len(x.Shape) != 4 || len(rois.Shape) != 2 || rois.Shape[1] != 5 || len(grid) != 2 || grid[0] < 1 || grid[1] < 1 || x.S != nil || rois.S != nil {
		tensor.Malformed("regions of shape %d of %d in %d", rois.Shape, x.Shape, grid)
	}
	scale := c.Float("spatial_scale", 1)
	channels, height, width := x.Shape[1], x.Shape[2], x.Shape[3]
	out := c.Zeros(x.Type, rois.Shape[0], channels, grid[0], grid[1])
	cell := func(first, last float64, i, n, size int) (int, int) {
		span := max(last-first+1, 1) / float64(n)
		lo, hi := first+math.Floor(float64(i)*span), first+math.Ceil(float64(i+1)*span)
		return int(min(max(lo, 0), float64(size))), int(min(max(hi, 0), float64(size)))
	}
	at := 0
	for r := range rois.Shape[0] {
		b := tensor.Inside(int64(rois.At(r*5)), x.Shape[0])
		var edge [4]float64
		for k := range edge {
			edge[k] = math.Floor(rois.At(r*5+1+k)*scale + 0.5)
		}
		for ch := range channels {
			for i := range grid[0] {
				y0, y1 := cell(edge[1], edge[3], i, grid[0], height)
				for j := range grid[1] {
					x0, x1 := cell(edge[0], edge[2], j, grid[1], width)
					best := math.Inf(-1)
					for y := y0; y < y1; y++ {
						for k := x0; k < x1; k++ {
							best = max(best, x.At(((b*channels+ch)*height+y)*width+k))
						}
					}
					if y0 < y1 && x0 < x1 {
						out.Put(at, best)
					}
					at++
				}
			}
		}
	}
	return run.One(out)
}
