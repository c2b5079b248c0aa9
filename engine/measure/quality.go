package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"quern/engine"
	"quern/engine/device"
	"quern/engine/graph"
	"quern/engine/lm"
	"quern/engine/token"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// QualityOptions are the parameters of Quality. Zero fields take the defaults given.
type QualityOptions struct {
	Path     string
	Quantize string // as ModelOptions.Quantize
	// CacheType is that of the model's KV cache; 0 means engine.DefaultCacheType, which is the
	// reference's.
	CacheType quant.Type
	Against   string // the reference: the same model in more bits; "" for none
	Text      string
	Context   int // tokens of a window; 0: 512
	Threads   int // 0: physical cores
	Device    string

	// Progress, when not nil, is called with how much of the text is done, 0 to 1.
	Progress func(done float64)
}

// A QualityResult is how well a model predicts a text.
type QualityResult struct {
	Tokens     int     // of the text
	Scored     int     // predicted; those of the second half of each window
	Window     int     // tokens
	Perplexity float64 // exp of the mean loss
	Error      float64 // standard error of Perplexity
	Reference  *Divergence
}

// A Divergence is how far a model's predictions are from a reference's.
type Divergence struct {
	Perplexity float64 // the reference's
	MeanKL     float64 // Kullback-Leibler divergence from the reference, nats a token
	MedianKL   float64
	KL99       float64 // 99 of 100 tokens are below
	MaxKL      float64
	SameTop    float64 // share of tokens where both find the same token likeliest
}

// Quality measures how well a model predicts a text, and how far its
// predictions are from those of a reference. The text is cut into windows that
// share nothing; in each the first half is context only, and BOS takes the place
// of the first token where the tokenizer adds it. llama.cpp's perplexity tool
// does the same, so numbers can be compared.
func Quality(ctx context.Context, o QualityOptions) (QualityResult, error) {
	if o.Threads <= 0 {
		o.Threads = threads.Cores()
	}
	if o.Context <= 0 {
		o.Context = 512
	}
	backend, _, err := device.Open(o.Device, device.Options{Threads: o.Threads})
	if err != nil {
		return QualityResult{}, err
	}
	defer backend.Close()
	m, err := openScorer(ctx, backend, o.Path, o.Quantize, cmp.Or(o.CacheType, engine.DefaultCacheType), &o)
	if err != nil {
		return QualityResult{}, err
	}
	defer m.close()
	var ref *scorer
	if o.Against != "" {
		if ref, err = openScorer(ctx, backend, o.Against, "", engine.DefaultCacheType, &o); err != nil {
			return QualityResult{}, fmt.Errorf("%s: %w", o.Against, err)
		}
		defer ref.close()
	}
	ids := m.m.Vocab.Encode(nil, o.Text, false)
	if ref != nil && (ref.width != m.width || !slices.Equal(ids, ref.m.Vocab.Encode(nil, o.Text, false))) {
		return QualityResult{}, fmt.Errorf("%s has another vocabulary than %s", o.Against, o.Path)
	}
	const least = 16
	if len(ids) < least {
		return QualityResult{}, fmt.Errorf("the text has %d tokens, want at least %d", len(ids), least)
	}
	n := min(o.Context, len(ids), m.m.Context)
	if ref != nil {
		n = min(n, ref.m.Context)
	}
	s := scores{res: QualityResult{Tokens: len(ids), Window: n}}
	windows := len(ids) / n
	for w := range windows {
		window := slices.Clone(ids[w*n : (w+1)*n])
		if m.m.Vocab.AddBOS() {
			window[0] = m.m.Vocab.Special(token.BOS)
		}
		for at := 0; at < n; at += m.rows {
			part := window[at:min(n, at+m.rows)]
			mine, err := m.run(ctx, part, at)
			if err != nil {
				return QualityResult{}, err
			}
			var theirs []float32
			if ref != nil {
				if theirs, err = ref.run(ctx, part, at); err != nil {
					return QualityResult{}, err
				}
			}
			s.add(window, at, len(part), mine, theirs, m.width)
			if o.Progress != nil {
				o.Progress((float64(w) + float64(at+len(part))/float64(n)) / float64(windows))
			}
		}
	}
	return s.result(), nil
}

// A scorer runs one model over windows.
type scorer struct {
	m     *lm.File
	exec  graph.Exec
	cache graph.Cache
	rows  int // of a step
	width int // of the vocabulary
	table []int32
}

func openScorer(ctx context.Context, backend graph.Backend, path, quantize string, cache quant.Type, o *QualityOptions) (s *scorer, err error) {
	s = &scorer{m: &lm.File{ID: path}, rows: 64}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.m.Raw, err = lm.Open(path); err != nil {
		return s, err
	}
	if err = s.m.Open(ctx, engine.ModelOptions{ContextLength: o.Context, Quantize: quantize}, o.Threads); err != nil {
		return s, err
	}
	c := s.m.Config
	if c.Encoder {
		return s, errors.New("a model that makes embeddings predicts no text")
	}
	if err = s.m.OpenVocab(c); err != nil {
		return s, err
	}
	if err = s.m.Set.FillContext(ctx, nil); err != nil {
		return s, err
	}
	s.width = c.Vocab
	b := graph.NewBuilder(s.rows, s.rows)
	p, err := b.Compile(s.m.LM.Logits(b, s.m.LM.Hidden(b)))
	if err != nil {
		return s, err
	}
	if s.exec, err = backend.Compile(ctx, p, graph.Watch{}); err != nil {
		return s, err
	}
	blocks := (o.Context + lm.BlockSize - 1) / lm.BlockSize
	for i := range blocks {
		s.table = append(s.table, int32(i))
	}
	s.cache, err = backend.NewCache(p.CacheSpec(blocks, lm.BlockSize, 1, cache))
	return s, err
}

func (s *scorer) close() {
	if s.exec != nil {
		s.exec.Close()
	}
	if s.cache != nil {
		s.cache.Close()
	}
	s.m.Close()
}

// run returns the logits after each of ids, which stand from position at on.
// They are overwritten by the next run.
func (s *scorer) run(ctx context.Context, ids []token.ID, at int) ([]float32, error) {
	in := &graph.Batch{Tables: [][]int32{s.table}, States: []int32{0}}
	for i, id := range ids {
		in.Tokens, in.Positions = append(in.Tokens, id), append(in.Positions, int32(at+i))
		in.Seq, in.Want = append(in.Seq, 0), append(in.Want, int32(i))
	}
	out, err := s.exec.Run(ctx, in, s.cache)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// scores gathers the scores of single tokens.
type scores struct {
	res       QualityResult
	loss, ref []float64 // of each scored token
	kl        []float64
	same      int
}

// add scores the tokens after positions at to at+n of a window, of which mine
// and theirs, which may be nil, are the logits.
func (s *scores) add(window []token.ID, at, n int, mine, theirs []float32, width int) {
	type score struct {
		loss, ref, kl float64
		same          bool
	}
	first := max(at, len(window)/2)
	last := min(at+n, len(window)-1)
	out := make([]score, max(0, last-first))
	var wg sync.WaitGroup
	for i := range out {
		wg.Go(func() {
			row := (first - at + i) * width
			next := window[first+i+1]
			x := mine[row : row+width]
			sum, top := logSum(x)
			out[i].loss = sum - float64(x[next])
			if theirs == nil {
				return
			}
			y := theirs[row : row+width]
			refSum, refTop := logSum(y)
			out[i].ref, out[i].same = refSum-float64(y[next]), top == refTop
			for k, v := range y {
				p := float64(v) - refSum
				out[i].kl += math.Exp(p) * (p - (float64(x[k]) - sum))
			}
		})
	}
	wg.Wait()
	for _, x := range out {
		s.loss = append(s.loss, x.loss)
		if theirs != nil {
			// Rounding takes equal predictions a little below 0.
			s.ref, s.kl = append(s.ref, x.ref), append(s.kl, max(0, x.kl))
			if x.same {
				s.same++
			}
		}
	}
}

// logSum returns the logarithm of the sum of exponentials, and the place of the
// largest.
func logSum(x []float32) (sum float64, top int) {
	for i, v := range x {
		if v > x[top] {
			top = i
		}
	}
	for _, v := range x {
		sum += math.Exp(float64(v - x[top]))
	}
	return float64(x[top]) + math.Log(sum), top
}

func (s *scores) result() QualityResult {
	r := s.res
	r.Scored = len(s.loss)
	mean, variance := 0.0, 0.0
	for _, x := range s.loss {
		mean += x / float64(len(s.loss))
	}
	for _, x := range s.loss {
		variance += (x - mean) * (x - mean) / float64(max(1, len(s.loss)-1))
	}
	r.Perplexity = math.Exp(mean)
	r.Error = r.Perplexity * math.Sqrt(variance/float64(len(s.loss)))
	if len(s.kl) == 0 {
		return r
	}
	d := &Divergence{SameTop: float64(s.same) / float64(len(s.kl))}
	refMean := 0.0
	for i, x := range s.kl {
		d.MeanKL += x / float64(len(s.kl))
		refMean += s.ref[i] / float64(len(s.kl))
	}
	d.Perplexity = math.Exp(refMean)
	slices.Sort(s.kl)
	d.MedianKL, d.KL99, d.MaxKL = s.kl[len(s.kl)/2], s.kl[len(s.kl)*99/100], s.kl[len(s.kl)-1]
	r.Reference = d
	return r
}
