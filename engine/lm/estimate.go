package lm

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"quern/engine"
	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/quantize"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// An Estimate is the memory that a model will take, in bytes, before it is loaded.
type Estimate struct {
	Weights  int64 // adapters included
	Adapters int64 // of the weights
	Made     int64 // of the weights, those made at load and not mapped from the file
	Cache    int64 // keys and values
	Compute  int64 // values between the steps of a pass
	Draft    int64 // weights and values of the draft model or layer, whose cache is part of Cache
	State    int64 // states of one sequence, beside keys and values
	Running  int   // sequences that run together

	Arch  string // as GGUF calls it
	Makes string // the model's output

	Context int // tokens one request gets
	Tokens  int // tokens the cache holds, of all requests together

	OneRequest int64  // of Cache, the part that a request of Context tokens fills
	Pools      []Pool // of Cache, blocks of layers with one window
}

// Total is everything together.
func (s Estimate) Total() int64 { return s.Weights + s.Cache + s.Compute + s.Draft }

// least is Total with a cache for one request.
func (s Estimate) least() int64 { return s.Weights + s.OneRequest + s.Compute + s.Draft }

// EstimateFile estimates a model file that is served with o on a
// machine with limit bytes for models; limit 0 is the memory that is free now. Only headers
// are read.
func EstimateFile(path string, o engine.ModelOptions, limit int64) (Estimate, error) {
	if limit <= 0 {
		limit = cpu.Available()
	}
	file, err := Open(path)
	if err != nil {
		return Estimate{}, err
	}
	m := &File{ID: path, Raw: file}
	defer m.Close()
	if err := m.Open(context.Background(), o, 0); err != nil {
		return Estimate{}, err
	}
	p, err := m.Plan(o, limit)
	if err != nil {
		return Estimate{}, err
	}
	return p.Estimate, nil
}

// BlockSize is the tokens of a KV block.
const BlockSize = 32

// A Plan is the memory of a model and the Programs it will run.
type Plan struct {
	Estimate
	KV      graph.CacheSpec
	Program *graph.Program // nil for models that make embeddings only
	Drafts  *DraftPlan     // nil without a model or a layer that drafts
	Encode  EncoderPlan
}

// Plan sizes what m will take of limit bytes. A cache whose size is the default shrinks
// down to one request; where even that does not fit, the plan has what it
// needs, and fits returns the error.
func (m *File) Plan(o engine.ModelOptions, limit int64) (Plan, error) {
	o = o.Defaulted()
	c := m.Config
	p := Plan{Estimate: Estimate{Weights: m.Set.Bytes() + m.Low.Bytes(), Adapters: m.Low.Bytes(), Context: m.Context, Arch: c.Arch, Makes: makes(c)}}
	for _, set := range []*weights.Set{m.Set, m.Low} {
		for t := range set.All() {
			if t.Data == nil {
				p.Made += int64(t.Size())
			}
		}
	}
	if Embeds(c) {
		p.Encode = EncoderPlan{Rows: m.encoderRows(o), Changes: m.changes()}
		program, err := p.Encode.Vectors(m.LM)
		if err != nil {
			return p, err
		}
		p.Encode = m.encoder(o, program)
		p.Compute = buffers(program) + m.room(p.Encode.Rows)
		if program, err = Heads(m.LM); err != nil {
			return p, err
		} else if program != nil {
			p.Compute += buffers(program)
		}
		p.Cache = p.Encode.Bytes()
		p.OneRequest, p.Tokens = p.Cache, p.Encode.Spec.Blocks*BlockSize
		return p, nil
	}
	b := graph.NewBuilder(o.Batch, Wanted(&o))
	b.Adapt(m.changes())
	var err error
	if p.Program, err = b.Compile(m.pass(b)...); err != nil {
		return p, err
	}
	p.Compute = buffers(p.Program) + m.room(o.Batch)
	p.State, p.Running = 4*int64(c.State), o.Slots
	if c.State > 0 {
		p.Running = int(min(int64(o.Slots), max(minRunning, max(statesRoom, limit/16)/(2*p.State))))
	}
	p.KV = p.Program.CacheSpec(0, BlockSize, 2*p.Running, o.CacheType) // as many are kept as run
	for l := range p.KV.Layers {
		if _, ok := p.KV.LayerBytes(l); !ok {
			return p, engine.Errorf(engine.CodeEngineFailure, "", "model %q: heads of %d do not fit a KV cache of %v; use F16", m.ID, p.KV.Layers[l].HeadDim, o.CacheType)
		}
	}
	p.KV.Apart(p.Program, m.Context)
	pools := poolsOf(&p.KV)
	switch {
	case m.Draft != nil:
		p.Drafts, err = m.Draft.planDraft(o, p.Running)
	case m.MTP != nil:
		if p.Drafts, err = m.planMTP(o, p.Running); err == nil {
			p.Weights -= p.Drafts.Weights // which are of m's file
		}
	}
	if err != nil {
		return p, err
	}
	if p.Drafts != nil {
		p.Draft = p.Drafts.Bytes()
		pools[0].Bytes += p.Drafts.KV.BlockBytes(0)
	}
	if err := p.FitCache(m.ID, o, pools, limit); err != nil {
		return p, err
	}
	p.KV.Blocks = pools[0].Blocks
	if p.Drafts != nil {
		p.Drafts.KV.Blocks = p.KV.Blocks
	}
	for i := range p.KV.Near {
		p.KV.Near[i].Blocks = pools[i+1].Blocks
	}
	p.Encode = m.encoder(o, p.Program)
	return p, nil
}

// pass records a step: logits and, where m drafts with a layer of its own, the hidden states of
// all rows.
func (m *File) pass(b *graph.Builder) []graph.Value {
	if m.MTP == nil {
		return []graph.Value{m.LM.Logits(b, m.LM.Hidden(b))}
	}
	all := m.MTP.Rows(b)
	return []graph.Value{m.LM.Logits(b, b.Take(all, b.Wanted())), all}
}

// Where sequences carry states fewer may run together than are allowed: as many as fit
// theirs in a sixteenth of the memory for models or in statesRoom, and minRunning.
const (
	statesRoom = 512 << 20
	minRunning = 4
)

// makes is the output of a model, as text.
func makes(c *model.Config) string {
	switch {
	case c.Pairs:
		return "a score of a pair of texts"
	case c.Labels != nil:
		return "a class of a text"
	case Embeds(c):
		return fmt.Sprintf("a vector of %d numbers", cmp.Or(c.Vector, c.Hidden))
	}
	return "text"
}

// Vectors records the pass that makes the rows that are pooled.
func (p *EncoderPlan) Vectors(m model.LM) (*graph.Program, error) {
	b := graph.NewBuilder(p.Rows, p.Rows)
	b.Adapt(p.Changes)
	return b.Compile(m.Hidden(b))
}

// HeadRows is how many pooled rows the layers behind the pooling take together.
const HeadRows = 64

// Heads records the layers behind the pooling, nil of a model without.
func Heads(m model.LM) (*graph.Program, error) {
	p, ok := m.(model.Projector)
	if !ok {
		return nil, nil
	}
	b := graph.NewBuilder(HeadRows, HeadRows)
	return b.Compile(p.Project(b, b.Features(m.Config().Hidden)))
}

// buffers is the memory of a Program's values, and of the scratch that its mixtures of experts share.
func buffers(p *graph.Program) int64 {
	var n, most int64
	for _, b := range p.Buffers {
		n += 4 * int64(b)
	}
	for _, s := range p.Steps {
		switch op := s.Op.(type) {
		case graph.Experts:
			most = max(most, mixture(p, op))
		case graph.AdaptedExperts:
			most = max(most, mixture(p, op.Experts))
		}
	}
	return n + most
}

// mixture is the scratch of experts: for each row at each of its experts the inputs and the results
// of every stack.
func mixture(p *graph.Program, op graph.Experts) int64 {
	in, ff, out := op.Up.Shape[2], op.Up.Shape[1], op.Down.Shape[1]
	floats := ff + out
	if op.Gate != nil {
		floats += ff
	}
	acts := quant.ActBytes(op.Up.Type.Layout().With, in) + quant.ActBytes(op.Down.Type.Layout().With, ff)
	return int64(p.Rows*op.Used) * int64(acts+4*floats)
}

// Fits returns an error for a model that a machine with limit bytes cannot hold even alone,
// with the options that would fit.
func (m *File) Fits(p *Estimate, o engine.ModelOptions, limit int64) error {
	if p.Total() <= limit {
		return nil
	}
	return engine.Errorf(engine.CodeOutOfMemory, "", "model %q needs %s (weights %s, KV cache %s for %d tokens, compute %s%s) and memory_limit is %s; %s",
		m.ID, engine.MiB(p.Total()), engine.MiB(p.Weights), engine.MiB(p.Cache), p.Tokens, engine.MiB(p.Compute), m.drafting(p), engine.MiB(limit), m.advice(p, o, limit))
}

// drafting is the memory of the model or the layer that drafts, as text.
func (m *File) drafting(p *Estimate) string {
	switch {
	case m.MTP != nil:
		return fmt.Sprintf(", drafting layer %s", engine.MiB(p.Draft))
	case m.Draft == nil:
		return ""
	}
	return fmt.Sprintf(", draft %q %s", m.Draft.ID, engine.MiB(p.Draft))
}

// shortest is the least context worth advising.
const shortest = 512

// advice names options that fit limit bytes: a shorter context, else fewer bits a
// weight.
func (m *File) advice(p *Estimate, o engine.ModelOptions, limit int64) string {
	if m.Draft != nil && p.least()-p.Draft <= limit {
		return "speculation: lookup would fit, without the model that drafts"
	}
	if m.MTP != nil && p.least()-p.Draft <= limit {
		return "speculation: lookup would fit, without the layer that drafts"
	}
	perToken := max(1, p.OneRequest/int64(max(1, p.Context)))
	if o.CacheBytes > 0 && p.least() <= limit {
		return fmt.Sprintf("cache_memory: %s would fit", strings.ReplaceAll(engine.MiB(p.OneRequest), " ", ""))
	}
	if n := (limit - p.Weights - p.Compute) / perToken / 256 * 256; n >= shortest && n < int64(p.Context) {
		return fmt.Sprintf("context_length: %d would fit", n)
	}
	if !Quantised(m.Set) {
		for _, name := range []string{"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M"} {
			q, err := quantize.Set(context.Background(), m.Set, name, 1)
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

// An EncoderPlan is the plan of encoding texts: the rows of a step, and the cache they
// need while they run.
type EncoderPlan struct {
	Rows    int
	Shared  int // rows of a step of several texts: more only leave the CPU's caches
	Spec    graph.CacheSpec
	Changes graph.Changes // of adapters
}

// encoderRows is how many rows a step has that makes embeddings.
func (m *File) encoderRows(o engine.ModelOptions) int {
	if m.Config.Encoder { // a text must fit one step
		return max(o.Batch, m.Context)
	}
	return o.Batch
}

// shortTexts is how many texts of a block or less a step may have at least: more gain nothing.
const shortTexts = 64

// encoder sizes the making of embeddings by p, or by a Program with the same layers.
func (m *File) encoder(o engine.ModelOptions, p *graph.Program) EncoderPlan {
	rows := m.encoderRows(o)
	// Room for one text of full length, or for several short ones.
	spec := p.CacheSpec(max((m.Context+BlockSize-1)/BlockSize, min(rows, shortTexts)), BlockSize, 1, o.CacheType)
	if m.Config.Encoder {
		spec.Type = quant.F32 // its layers share one, which is small
	}
	return EncoderPlan{rows, o.Batch, spec, m.changes()}
}

// Bytes is the memory the cache takes.
func (p *EncoderPlan) Bytes() int64 { return p.Spec.Bytes() }

// Wanted bounds the rows of a step whose logits are read: one per decoding sequence,
// and prompt chunks whose log-probabilities are asked for.
func Wanted(o *engine.ModelOptions) int { return min(o.Batch, max(64, o.Slots)) }
