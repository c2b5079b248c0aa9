package cuda

import (
	"unsafe"

	"quern/engine/graph"
	gpu "quern/kernels/cuda"
	"quern/kernels/cuda/driver"
)

// maxRanked is how many rows a step may have for its logits to be ranked: larger
// ones are prompts.
const maxRanked = 64

// A rankBy is which kernels rank the rows of a step.
type rankBy uint8

const (
	unranked rankBy = iota
	byArgmax        // one logit a row
	byTop           // gpu.MaxTop
)

// A ranker is memory on a device and here for the largest logits of maxRanked rows.
type ranker struct {
	ids, values, partial driver.Ptr
	mail                 []byte // pinned: numbers, then logits

	// Once rows have masks: which one each row has, 4 bytes each, and the masks.
	masks  driver.Ptr
	masked []byte // pinned
}

// appendRows appends what Batch.Take is given of the last run, whose logits are those
// of the rows that were not ranked.
func (p *part) appendRows(rows []graph.Row, in *graph.Batch, logits []float32) []graph.Row {
	width := p.e.p.Values[p.out[0]].Width()
	for i := range in.Want {
		if p.run.rank != unranked && p.ranks(in.Top[i]) {
			rows = append(rows, p.ranker.row(i, p.run.rank, len(in.Want), width))
		} else {
			rows = append(rows, graph.Row{Logits: logits[i*width : (i+1)*width]})
		}
	}
	return rows
}

// ranks reports whether a row is ranked of which n logits are needed.
func (p *part) ranks(n int) bool {
	return n > 0 && n <= gpu.MaxTop && n < p.e.p.Values[p.out[0]].Width()
}

// rank decides how the rows of a step are ranked.
func (p *part) rank(in *graph.Batch, top []int) (by rankBy, masked bool) {
	for _, n := range top {
		switch {
		case !p.ranks(n):
		case n > 1:
			by = byTop
		default:
			by = max(by, byArgmax)
		}
	}
	if by == unranked || p.run.want > maxRanked || !p.reserveRanker() {
		return unranked, false
	}
	for _, i := range in.Masked {
		masked = masked || p.ranks(top[i])
	}
	if masked && !p.reserveMasks() {
		return unranked, false
	}
	return by, masked
}

// ranked is how many rows there is memory for.
func (p *part) ranked() int { return min(maxRanked, p.e.p.Want) }

// reserveRanker takes the memory for rankings. Without it logits go to the host as
// they are.
func (p *part) reserveRanker() bool {
	if p.ranker != nil {
		return true
	}
	n := p.ranked() * gpu.MaxTop
	r := &ranker{}
	var err error
	for _, want := range []struct {
		at    *driver.Ptr
		bytes int
	}{{&r.ids, 4 * n}, {&r.values, 4 * n}, {&r.partial, 8 * n * gpu.TopSlices(p.e.p.Values[p.out[0]].Width())}} {
		if *want.at, err = p.d.alloc(int64(want.bytes)); err != nil {
			break
		}
	}
	if err == nil {
		r.mail, err = p.d.ctx.Pinned(8 * n)
	}
	if err != nil {
		// A device in trouble says so again in what follows.
		r.free(p.d)
		return false
	}
	p.ranker = r
	return true
}

func (r *ranker) free(d *device) error {
	for _, at := range []driver.Ptr{r.ids, r.values, r.partial, r.masks} {
		if at == 0 {
			continue
		}
		if err := d.ctx.Free(at); err != nil {
			return err
		}
	}
	for _, b := range [][]byte{r.mail, r.masked} {
		if b == nil {
			continue
		}
		if err := d.ctx.FreePinned(b); err != nil {
			return err
		}
	}
	return nil
}

// reserveMasks takes the memory for masks. Without it logits go to the host.
func (p *part) reserveMasks() bool {
	r := p.ranker
	if r.masked != nil {
		return true
	}
	n := 4 * p.ranked() * (1 + gpu.MaskWords(p.e.p.Values[p.out[0]].Width()))
	var err error
	if r.masks == 0 {
		if r.masks, err = p.d.alloc(int64(n)); err != nil {
			return false
		}
	}
	r.masked, err = p.d.ctx.Pinned(n)
	return err == nil
}

// bar sends the masks of the rows that are ranked and bars their other logits. The step is under
// way meanwhile, so that masks may still be in work.
func (p *part) bar(in *graph.Batch, top []int) error {
	r, width := p.ranker, p.e.p.Values[p.out[0]].Width()
	all := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(r.masked))), len(r.masked)/4)
	at, bits := all[:p.ranked()], all[p.ranked():]
	for i := range at {
		at[i] = -1
	}
	n, words := 0, gpu.MaskWords(width)
	for _, i := range in.Masked {
		if !p.ranks(top[i]) {
			continue
		}
		mask := in.Allow(int(i))
		if mask == nil {
			continue // nothing is drawn
		}
		at[i] = int32(n)
		to := bits[n*words : (n+1)*words]
		for k := range to {
			to[k] = 0
			if k < len(mask) {
				to[k] = int32(mask[k])
			}
		}
		n++
	}
	if err := p.d.stream.Upload(r.masks, r.masked[:4*(len(at)+n*words)]); err != nil {
		return err
	}
	return p.start("bar", gpu.Dims{Rows: p.run.want, Out: width}, uint64(p.value(p.out[0])), uint64(r.masks), uint64(r.masks)+4*uint64(len(at)), i32(width))
}

// launchRank launches what ranks the step's logits.
func (p *part) launchRank() error {
	rows := p.run.want
	if p.run.rank == unranked || rows == 0 {
		return nil
	}
	r, logits, n := p.ranker, uint64(p.value(p.out[0])), p.e.p.Values[p.out[0]].Width()
	if p.run.rank == byArgmax {
		return p.start("argmax", gpu.Dims{Rows: rows}, uint64(r.ids), uint64(r.values), logits, i32(n))
	}
	if err := p.start("top_part", gpu.Dims{Rows: rows, Out: n}, uint64(r.partial), logits, i32(n)); err != nil {
		return err
	}
	return p.start("top", gpu.Dims{Rows: rows}, uint64(r.ids), uint64(r.values), uint64(r.partial), i32(gpu.TopSlices(n)))
}

// fetchRanked copies rankings, and of the logits those rows that have none, to x.
func (p *part) fetchRanked(x []byte, top []int) error {
	r, width := p.ranker, p.e.p.Values[p.out[0]].Width()
	for i, n := range top {
		if row := 4 * width; !p.ranks(n) {
			if err := p.d.stream.Download(x[i*row:(i+1)*row], p.value(p.out[0])+driver.Ptr(i*row)); err != nil {
				return err
			}
		}
	}
	half := 4 * p.run.rank.each() * len(top)
	if err := p.d.stream.Download(r.mail[:half], r.ids); err != nil {
		return err
	}
	return p.d.stream.Download(r.mail[half:2*half], r.values)
}

// each is how many logits of a row are ranked.
func (by rankBy) each() int {
	if by == byArgmax {
		return 1
	}
	return gpu.MaxTop
}

// row is the ranking of row i of so many rows of logits.
func (r *ranker) row(i int, by rankBy, rows, width int) graph.Row {
	half := 4 * by.each() * rows
	ids := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(r.mail))), half/4)
	// top writes as many as it has room for, and perhaps fewer logits exist.
	from, to := i*by.each(), i*by.each()+min(by.each(), width)
	return graph.Row{IDs: ids[from:to], Logits: bytesFloat(r.mail[half : 2*half])[from:to]}
}
