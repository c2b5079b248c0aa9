package local

import (
	"context"
	"fmt"
	"strings"

	"quern/engine"
	"quern/engine/device"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/quantize"
	"quern/engine/tts/kokoro"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// An Estimate says what a model takes of memory, in bytes, before it is loaded.
type Estimate struct {
	Weights int64
	Made    int64 // of the weights, what is made at load and not mapped from the file
	Cache   int64 // keys and values
	Compute int64 // values between the steps of a pass

	Context int // tokens one request gets
	Tokens  int // tokens the cache holds, of all requests together

	OneRequest int64 // of Cache, what a request of Context tokens fills
}

// Total is everything together.
func (s Estimate) Total() int64 { return s.Weights + s.Cache + s.Compute }

// least is Total with a cache for one request.
func (s Estimate) least() int64 { return s.Weights + s.OneRequest + s.Compute }

// EstimateFile says what a model file would take if it were served with o on a
// machine with limit bytes for models; limit 0 is what is free now. Only headers
// are read.
func EstimateFile(path string, o engine.ModelOptions, limit int64) (Estimate, error) {
	if limit <= 0 {
		limit = device.Available()
	}
	file, err := OpenFile(path)
	if err != nil {
		return Estimate{}, err
	}
	defer file.Close()
	m := &textModel{id: path, file: file}
	if err := m.open(context.Background(), o, 0); err != nil {
		return Estimate{}, err
	}
	p, err := m.plan(o, limit)
	if err != nil {
		return Estimate{}, err
	}
	return p.Estimate, nil
}

// CanRun says what quern lacks to run the model of a file, which stays the
// caller's; nil when nothing. Of Kokoro it knows a tensor, and reads no further.
func CanRun(file *weights.Set) error {
	if _, ok := file.Tensor(kokoro.Signature); ok {
		return nil // it speaks; its file has no configuration that could be wrong
	}
	m := &textModel{file: file}
	if err := m.open(context.Background(), engine.ModelOptions{}, 0); err != nil {
		return err
	}
	return m.openVocab(m.lm.Config())
}

// A plan is how a model will lie in memory.
type plan struct {
	Estimate
	cache   graph.CacheSpec
	program *graph.Program // nil for models that make embeddings only
}

// open reads what m.file says of the model: its weights in GGUF's terms, still
// without their data where that has to be made, and its architecture.
func (m *textModel) open(ctx context.Context, o engine.ModelOptions, threads int) (err error) {
	file := m.file
	if classifies(&file.Meta) {
		if file, m.head, err = withoutHead(file); err != nil {
			return err
		}
	}
	if m.set, err = model.Translate(file); err != nil {
		return err
	}
	if m.head != nil {
		if m.set, err = withSecond(m.set); err != nil {
			return err
		}
	}
	if o.Quantize != "" && !isQuantised(m.set) {
		if m.set, err = quantize.Set(ctx, m.set, o.Quantize, threads); err != nil {
			return err
		}
	}
	if m.lm, err = model.Open(m.set); err != nil {
		return err
	}
	c := m.lm.Config()
	if m.head != nil {
		c.Pooling = model.PoolCLS
	}
	m.context = contextLength(&o, c)
	c.Served = m.context
	return nil
}

// isQuantised reports whether matrices of set have blocks already, other than
// those a model was trained with.
func isQuantised(set *weights.Set) bool {
	for t := range set.All() {
		if len(t.Shape) >= 2 && t.Type.Layout().Block > 1 && t.Type != quant.MXFP4 {
			return true
		}
	}
	return false
}

// embeds reports whether a model makes embeddings and nothing else.
func embeds(c *model.Config) bool { return c.Encoder || c.Pooling != model.PoolNone }

// plan sizes what m will take of limit bytes. A cache nobody asked for gives way
// down to one request; where even that does not fit, the plan says what it
// needs and fits tells.
func (m *textModel) plan(o engine.ModelOptions, limit int64) (plan, error) {
	o = o.Defaulted()
	c := m.lm.Config()
	p := plan{Estimate: Estimate{Weights: m.set.Bytes(), Context: m.context}}
	for t := range m.set.All() {
		if t.Data == nil {
			p.Made += int64(t.Size())
		}
	}
	if embeds(c) {
		m.embedder.plan(m, o)
		b := graph.NewBuilder(m.embedder.rows, m.embedder.rows)
		program, err := b.Compile(m.lm.Hidden(b))
		if err != nil {
			return p, err
		}
		p.Compute = buffers(program)
		p.Cache = m.embedder.bytes()
		p.OneRequest, p.Tokens = p.Cache, m.embedder.spec.Blocks*blockSize
		return p, nil
	}
	b := graph.NewBuilder(o.Batch, wanted(&o))
	var err error
	if p.program, err = b.Compile(m.lm.Logits(b, m.lm.Hidden(b))); err != nil {
		return p, err
	}
	p.Compute = buffers(p.program)
	row, ok := o.CacheType.Size(c.HeadDim)
	if !ok {
		return p, engine.Errorf(engine.CodeEngineFailure, "", "model %q: heads of %d do not fit a KV cache of %v; use F16", m.id, c.HeadDim, o.CacheType)
	}
	perBlock := int64(2*c.Layers*c.KVHeads*row) * blockSize
	one := int64((m.context + blockSize - 1) / blockSize)
	blocks := one * int64(o.Slots)
	if o.CacheBytes > 0 {
		blocks = o.CacheBytes / perBlock
	} else {
		room := min(limit/4, limit-p.Weights-p.Compute)
		blocks = min(blocks, max(one, room/perBlock))
	}
	if blocks < one {
		return p, engine.Errorf(engine.CodeOutOfMemory, "", "model %q: cache_memory of %s holds %d tokens of its context of %d; raise cache_memory to %s or lower context_length",
			m.id, MiB(o.CacheBytes), blocks*blockSize, m.context, MiB(one*perBlock))
	}
	blocks = min(blocks, 1<<30)
	p.Cache, p.OneRequest, p.Tokens = blocks*perBlock, one*perBlock, int(blocks)*blockSize
	p.cache = graph.CacheSpec{Layers: c.Layers, KVHeads: c.KVHeads, HeadDim: c.HeadDim, Blocks: int(blocks), BlockSize: blockSize, Type: o.CacheType}
	m.embedder.plan(m, o)
	return p, nil
}

// buffers is the memory of a Program's values.
func buffers(p *graph.Program) int64 {
	var n int64
	for _, b := range p.Buffers {
		n += 4 * int64(b)
	}
	return n
}

// fits refuses a model that a machine with limit bytes cannot hold even alone,
// and says what it could hold.
func (m *textModel) fits(p *Estimate, o engine.ModelOptions, limit int64) error {
	if p.Total() <= limit {
		return nil
	}
	return engine.Errorf(engine.CodeOutOfMemory, "", "model %q needs %s (weights %s, KV cache %s for %d tokens, compute %s) and memory_limit is %s; %s",
		m.id, MiB(p.Total()), MiB(p.Weights), MiB(p.Cache), p.Tokens, MiB(p.Compute), MiB(limit), m.advice(p, o, limit))
}

// shortest is the least context worth advising.
const shortest = 512

// advice says what would fit limit bytes: a shorter context, else fewer bits a
// weight.
func (m *textModel) advice(p *Estimate, o engine.ModelOptions, limit int64) string {
	perToken := max(1, p.OneRequest/int64(max(1, p.Context)))
	if o.CacheBytes > 0 && p.least() <= limit {
		return fmt.Sprintf("cache_memory: %s would fit", strings.ReplaceAll(MiB(p.OneRequest), " ", ""))
	}
	if n := (limit - p.Weights - p.Compute) / perToken / 256 * 256; n >= shortest && n < int64(p.Context) {
		return fmt.Sprintf("context_length: %d would fit", n)
	}
	if !isQuantised(m.set) {
		for _, name := range []string{"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M"} {
			q, err := quantize.Set(context.Background(), m.set, name, 1)
			if err != nil {
				break
			}
			rest := limit - q.Bytes() - p.Compute
			if n := min(int64(p.Context), rest/perToken/256*256); rest > 0 && n >= min(shortest, int64(p.Context)) {
				return fmt.Sprintf("quantize: %s would fit with context_length: %d", strings.ToLower(name), n)
			}
		}
	}
	return "raise memory_limit, or take a smaller model or one with fewer bits a weight"
}
