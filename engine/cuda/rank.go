package cuda

import (
	"context"
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
	ids, values, part driver.Ptr
	mail              []byte // pinned: numbers, then logits
	rankings          []graph.Ranking
}

// RunRanked implements graph.Ranker.
func (e *exec) RunRanked(ctx context.Context, in *graph.Batch, kv graph.Cache, top []int) ([][]float32, []graph.Ranking, error) {
	results, err := e.run(ctx, in, kv, top)
	if err != nil {
		return nil, nil, err
	}
	return results, e.parts[len(e.parts)-1].ranked(len(in.Want)), nil
}

// ranked returns the rankings of the last run, of which there may be none.
func (p *part) ranked(rows int) []graph.Ranking {
	if p.run.rank == unranked {
		return make([]graph.Ranking, rows)
	}
	return p.ranker.rankings
}

// ranks says whether a row is ranked of which n logits are needed.
func (p *part) ranks(n int) bool {
	return n > 0 && n <= gpu.MaxTop && n < p.e.p.Values[p.out[0]].Width()
}

// rank decides how the rows of a step are ranked.
func (p *part) rank(top []int) rankBy {
	by := unranked
	for _, n := range top {
		switch {
		case !p.ranks(n):
		case n > 1:
			by = byTop
		default:
			by = max(by, byArgmax)
		}
	}
	if by == unranked || p.run.want > maxRanked || p.e.p.Values[p.out[0]].Lead != graph.PerWant || !p.reserveRanker() {
		return unranked
	}
	return by
}

// reserveRanker takes the memory for rankings. Without it logits go to the host as
// they are.
func (p *part) reserveRanker() bool {
	if p.ranker != nil {
		return true
	}
	rows := min(maxRanked, p.e.p.Want)
	n := rows * gpu.MaxTop
	r := &ranker{rankings: make([]graph.Ranking, rows)}
	var err error
	for _, want := range []struct {
		at    *driver.Ptr
		bytes int
	}{{&r.ids, 4 * n}, {&r.values, 4 * n}, {&r.part, 8 * n * gpu.TopSlices(p.e.p.Values[p.out[0]].Width())}} {
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
	for _, at := range []driver.Ptr{r.ids, r.values, r.part} {
		if at == 0 {
			continue
		}
		if err := d.ctx.Free(at); err != nil {
			return err
		}
	}
	if r.mail == nil {
		return nil
	}
	return d.ctx.FreePinned(r.mail)
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
	if err := p.start("top_part", gpu.Dims{Rows: rows, Out: n}, uint64(r.part), logits, i32(n)); err != nil {
		return err
	}
	return p.start("top", gpu.Dims{Rows: rows}, uint64(r.ids), uint64(r.values), uint64(r.part), i32(gpu.TopSlices(n)))
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
	each := gpu.MaxTop
	if p.run.rank == byArgmax {
		each = 1
	}
	half := 4 * each * len(top)
	ids, values := r.mail[:half], r.mail[half:2*half]
	if err := p.d.stream.Download(ids, r.ids); err != nil {
		return err
	}
	if err := p.d.stream.Download(values, r.values); err != nil {
		return err
	}
	numbers, logits := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(ids))), half/4), bytesFloat(values)
	r.rankings = r.rankings[:0]
	for i, n := range top {
		var k graph.Ranking
		if p.ranks(n) {
			// top writes as many as it has room for, and perhaps fewer logits exist.
			from, to := i*each, i*each+min(each, width)
			k = graph.Ranking{IDs: numbers[from:to], Logits: logits[from:to]}
		}
		r.rankings = append(r.rankings, k)
	}
	return nil
}
