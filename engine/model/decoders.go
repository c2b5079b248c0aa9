package model

import (
	"math"
	"slices"

	"quern/engine/graph"
	"quern/formats/weights"
)

// traits is what sets an architecture apart from Llama without experts.
type traits struct {
	pairs     pairing
	heads     headNorms
	turned    bool // the norms of heads come behind the rotation
	before    layerNorms
	postNorms bool // there are norms behind both blocks
	layerNorm bool // norms are LayerNorm, not RMSNorm
	bare      bool // norms have no weights
	parallel  bool // attention and feed-forward block are side by side
	learned   bool // positions are rows of a table
	raw       bool // weights of experts do not sum up to 1, unless a file says so
	doors     bool // what attention gives is multiplied by the sigmoid of a projection of its input
	windowed  bool // every layer has a window, where a file says so
	act       graph.Act
	ungated   bool // the feed-forward block has no gate
	sigmoid   bool // experts are scored by it, unless a file says otherwise

	setup func(*decoder)           // reads what further keys say; or nil
	block func(*decoder, int) feed // between a layer's second norm and its end; nil for a dense block
}

// A pairing says which values of a head rotate against one another.
type pairing int

const (
	halves     pairing = iota // one of the first half and one of the second
	permuted                  // the same, whose rows GGUF files have in neighbours' order; see interleave
	neighbours                // in every kind of file
	unrotated
)

// headNorms are norms of queries and keys.
type headNorms int

const (
	noHeads       headNorms = iota
	eachHead                // over each head, by the same weights
	maybeEachHead           // in some models
	allHeads                // over all at once
	ownOfHeads              // over each head by weights of its own, in some models
)

// layerNorms are the norms before a layer's blocks.
type layerNorms int

const (
	twoNorms    layerNorms = iota // attn_norm and ffn_norm
	noNorms                       // none
	oneNorm                       // of both
	falconNorms                   // attn_norm of both, or attn_norm_2 and attn_norm
	stableNorms                   // attn_norm and ffn_norm, or one of both side by side
	glmNorms                      // the second is called post_attention_norm
)

// decoders is every architecture that is a decoder.
//
// llama: Mistral has windows, Mixtral experts: Jiang et al., "Mixtral of Experts", 2024, §2.
// arcee: Arcee, "AFM-4.5B", 2025. bailingmoe: Ling Team, "Every FLOP Counts", 2025, §2.
// apertus: "Apertus", 2025, §2.1. chatglm, glm4: Team GLM, "ChatGLM", 2024, §2. cohere2: Cohere,
// "Command A", 2025, §2. afmoe: Arcee, "Trinity Large Technical Report", 2026. bloom: Le Scao et al., "BLOOM", 2022,
// §3.2. deepseek: Dai et al., "DeepSeekMoE", 2024, §3. dots1: "dots.llm1 Technical Report", 2025, §2. ernie4_5: "ERNIE 4.5
// Technical Report", 2025, §2. exaone4: "EXAONE 4.0", 2025, §2. falcon: Almazrouei et al.,
// "The Falcon Series of Open Language Models", 2023, §4. glm4moe: "GLM-4.5", 2025, §2.1. gpt2:
// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, §2.3. gptneox:
// Black et al., "GPT-NeoX-20B", 2022, §2.1. hunyuan-moe: "Hunyuan-A13B Technical Report", 2025.
// internlm2: Cai et al., "InternLM2 Technical Report", 2024, §2.2. minicpm: Hu et al.,
// "MiniCPM", 2024, §3. minimax-m2: "MiniMax-01", 2025, §2. nemotron: Parmar et al., "Nemotron-4
// 15B", 2024, §2. olmo: Groeneveld et al., "OLMo", 2024, §2.1. olmo2: "2 OLMo 2 Furious", 2025,
// §2; "Olmo 3", 2025, §3. olmoe: Muennighoff et al., "OLMoE", 2024, §2. phi2: Li et al.,
// "Textbooks Are All You Need II", 2023, §2.1. qwen2: "Qwen2 Technical Report", 2024, §2.2.
// qwen3: "Qwen3 Technical Report", 2025, §2. smollm3: Yang et al., "RoPE to NoPE and Back
// Again", 2025, §4. stablelm: Bellagente et al., "Stable LM 2 1.6B", 2024, §3. starcoder: Li
// et al., "StarCoder", 2023, §5. starcoder2: Lozhkov et al., "StarCoder 2 and The Stack v2",
// 2024, §6. gemma: "Gemma", 2024, §2. gptj: Wang & Komatsuzaki, "GPT-J-6B", 2021. mpt: MosaicML, "MPT-7B", 2023.
// opt: Zhang et al., "OPT", 2022, §2.1. qwen: Bai et al., "Qwen Technical Report", 2023, §2.3.
var decoders = map[string]traits{
	"llama":    {pairs: permuted, windowed: true, block: (*decoder).mixtral},
	"mistral3": {pairs: permuted, setup: (*decoder).tempers, block: (*decoder).mixtral},
	"granite":  {pairs: permuted, setup: (*decoder).graniteScales},
	"smollm3":  {pairs: permuted, setup: func(m *decoder) { m.unrotate = 4 }},
	"ernie4_5": {pairs: neighbours},

	"qwen2":         {},
	"qwen2moe":      {block: (*decoder).qwen2Experts},
	"qwen2vl":       {},
	"seed_oss":      {before: glmNorms},
	"qwen3":         {heads: eachHead},
	"qwen3moe":      {heads: eachHead, block: (*decoder).normalisedExperts},
	"qwen3vl":       {heads: eachHead},
	"qwen3vlmoe":    {heads: eachHead, block: (*decoder).normalisedExperts},
	"hunyuan-dense": {heads: eachHead, turned: true},

	"glm4moe":      {heads: maybeEachHead, before: glmNorms, sigmoid: true, block: (*decoder).routed},
	"minimax-m2":   {heads: allHeads, sigmoid: true, block: (*decoder).routed},
	"ernie4_5-moe": {pairs: neighbours, heads: maybeEachHead, block: (*decoder).routed},

	"chatglm": {pairs: neighbours, setup: (*decoder).glmPairs},
	"glm4":    {pairs: neighbours, postNorms: true, setup: (*decoder).glmPairs},
	"olmo2":   {heads: allHeads, before: noNorms, postNorms: true, setup: (*decoder).olmoWindows},
	"exaone4": {heads: eachHead, before: noNorms, postNorms: true, setup: (*decoder).exaoneWindows},

	"starcoder2": {layerNorm: true, windowed: true, ungated: true, act: graph.GELUTanh},
	"falcon":     {layerNorm: true, before: falconNorms, parallel: true, ungated: true, act: graph.GELU},
	"phi2":       {layerNorm: true, before: oneNorm, parallel: true, ungated: true, act: graph.GELUTanh},
	"command-r":  {pairs: neighbours, heads: ownOfHeads, layerNorm: true, before: oneNorm, parallel: true, setup: (*decoder).cohereScale},
	"cohere2":    {pairs: neighbours, layerNorm: true, before: oneNorm, parallel: true, setup: (*decoder).cohereWindows},

	"arcee":     {pairs: permuted, ungated: true, act: graph.SquaredReLU},
	"internlm2": {pairs: permuted},
	"minicpm":   {pairs: permuted, setup: (*decoder).miniCPMScales},
	"exaone":    {},
	"nemotron":  {layerNorm: true, ungated: true, act: graph.SquaredReLU},
	"stablelm":  {heads: ownOfHeads, before: stableNorms, layerNorm: true, setup: (*decoder).stableSides},
	"olmo":      {pairs: permuted, layerNorm: true, bare: true, setup: (*decoder).olmoClamp},
	"apertus":   {heads: eachHead, block: (*decoder).curved},
	"gpt2":      {pairs: unrotated, layerNorm: true, learned: true, ungated: true, act: graph.GELUTanh},
	"starcoder": {pairs: unrotated, layerNorm: true, learned: true, ungated: true, act: graph.GELUTanh},
	"gptneox":   {layerNorm: true, ungated: true, act: graph.GELU, setup: (*decoder).neoxSides},

	"gemma":    {act: graph.GELUTanh, setup: (*decoder).hiddenScale},
	"bloom":    {pairs: unrotated, layerNorm: true, ungated: true, act: graph.GELUTanh, setup: (*decoder).bloomStart},
	"mpt":      {pairs: unrotated, layerNorm: true, ungated: true, act: graph.GELU, setup: (*decoder).mptLimits},
	"opt":      {pairs: unrotated, layerNorm: true, learned: true, ungated: true, act: graph.ReLU},
	"gptj":     {pairs: neighbours, layerNorm: true, before: oneNorm, parallel: true, ungated: true, act: graph.GELUTanh},
	"qwen":     {setup: (*decoder).qwenWidth},
	"deepseek": {pairs: permuted, raw: true, block: (*decoder).routed},

	"afmoe":      {heads: eachHead, postNorms: true, doors: true, sigmoid: true, setup: (*decoder).afmoeWindows, block: (*decoder).routed},
	"exaone-moe": {heads: eachHead, sigmoid: true, setup: (*decoder).exaoneMoEWindows, block: (*decoder).routed},

	"olmoe":       {heads: allHeads, block: (*decoder).olmoExperts},
	"hunyuan-moe": {heads: eachHead, turned: true, block: (*decoder).routed},
	"dots1":       {heads: eachHead, sigmoid: true, block: (*decoder).routed},
	"bailingmoe":  {pairs: permuted, block: (*decoder).routed},
	"bailingmoe2": {heads: eachHead, sigmoid: true, block: (*decoder).routed},
}

// tempers reads how Ministral 3 multiplies queries by what grows with their position.
func (m *decoder) tempers() {
	if beta := m.reader.float("attention.temperature_scale", 0); beta > 0 {
		m.temper = graph.Temper{Beta: beta, Period: m.c.Rope.Original}
	} else if beta < 0 {
		m.reader.fail("attention.temperature_scale", "is %g, want 0 or more", beta)
	}
}

func (m *decoder) graniteScales() {
	r := &m.reader
	m.embedScale = float32(r.positive("embedding_scale", 1))
	m.residualScale = float32(r.positive("residual_scale", 1))
	m.attnScale = float32(r.float("attention.scale", 0))
	m.logitScale = float32(1 / r.positive("logit_scale", 1))
	if !r.flag("rope.scaling.finetuned", true) {
		r.refuse("rope.scaling.finetuned", "is false: granite without rotary positions")
	}
}

// glmPairs: GGUF files of models that see have rows permuted for halves, because llama.cpp
// rotates by positions in images only so.
func (m *decoder) glmPairs() {
	sees := slices.Max(append(m.set.Meta.Ints(m.set.prefix+"rope.dimension_sections"), 0)) > 0
	m.rope.Interleaved = m.set.Source != weights.GGUF || !sees
}

// olmoWindows: OLMo 3 scales positions only in the layers without a window.
func (m *decoder) olmoWindows() {
	if m.slides = m.reader.windows(&m.c, 4, 0); m.slides == nil {
		return
	}
	local, err := m.unscaled(m.c.Rope.Base)
	if err != nil && m.reader.err == nil {
		m.reader.err = err
	}
	m.local = &local
}

// exaoneWindows: EXAONE 4 does not rotate layers without a window. Early files of the 32B
// model do not say that it has one; llama.cpp knows them by their layers.
func (m *decoder) exaoneWindows() {
	window := 0
	if m.c.Layers == 64 {
		window = 4096
	}
	if m.slides = m.reader.windows(&m.c, 4, window); m.slides != nil {
		m.global = nil
	}
	m.reader.sameBase(&m.c)
}

// hiddenScale: embeddings are multiplied by the root of their width.
func (m *decoder) hiddenScale() { m.embedScale = float32(math.Sqrt(float64(m.c.Hidden))) }

// bloomStart: embeddings are normed, and scores fall with the distance.
func (m *decoder) bloomStart() {
	m.start = m.tensors.norm("token_embd_norm", m.c.Hidden)
	m.slopes = slopes(m.c.Heads, 8)
}

// mptLimits: a file without a bias of scores has learned positions, which no published one has.
func (m *decoder) mptLimits() {
	m.olmoClamp()
	m.slopes = slopes(m.c.Heads, m.reader.positive("attention.max_alibi_bias", 0))
}

// qwenWidth: files count gate and up together.
func (m *decoder) qwenWidth() {
	if m.c.FF%2 != 0 {
		m.reader.fail("feed_forward_length", "is %d, want an even number", m.c.FF)
	}
	m.c.FF = max(1, m.c.FF/2)
}

// afmoeWindows are Trinity's.
func (m *decoder) afmoeWindows() {
	m.hiddenScale()
	m.unrotated()
}

// exaoneMoEWindows: K-EXAONE's layers without a window do not rotate either.
func (m *decoder) exaoneMoEWindows() {
	m.slides = m.reader.windows(&m.c, 4, 128)
	m.global = nil
	m.reader.sameBase(&m.c)
}

// cohereScale: logits are multiplied. Command R+ has norms of query and key heads.
func (m *decoder) cohereScale() {
	m.logitScale = float32(m.reader.positive("logit_scale", 1))
}

// cohereWindows are those of Command R7B and A.
func (m *decoder) cohereWindows() {
	m.cohereScale()
	m.unrotated()
}

// unrotated: three of four layers see a window, which files have to say; the others do not rotate.
func (m *decoder) unrotated() {
	if m.slides = m.reader.windows(&m.c, 4, 0); m.slides == nil {
		m.reader.fail("attention.sliding_window", "is missing")
	}
	m.global = nil
	m.reader.sameBase(&m.c)
}

// miniCPMFactors: old files, and all of MiniCPM 3, leave them out; they are the same in all
// models but for the depth and width.
func (m *base) miniCPMFactors() factors {
	r, c := &m.reader, &m.c
	return factors{
		embedScale:    float32(r.positive("embedding_scale", 12)),
		residualScale: float32(r.positive("residual_scale", 1.4/math.Sqrt(float64(c.Layers)))),
		logitScale:    float32(1 / r.positive("logit_scale", float64(c.Hidden)/256)),
	}
}

func (m *decoder) miniCPMScales() {
	m.factors = m.miniCPMFactors()
	m.long, m.short = m.divisors()
}

// stableSides: the norms of a file say whether its blocks are side by side; the key is wrong in
// files of the 3B model.
func (m *decoder) stableSides() { m.reader.flag("use_parallel_residual", true) }

func (m *decoder) olmoClamp() {
	if limit := m.reader.float("attention.clamp_kqv", 0); limit > 0 {
		m.clamp = float32(limit)
	} else if limit < 0 {
		m.reader.fail("attention.clamp_kqv", "is %g, want 0 or more", limit)
	}
}

// neoxActivation is no key of GGUF's: llama.cpp has tanh's approximation of GELU for every
// file. Most published models, Pythia's among them, have GELU itself.
const neoxActivation = "hidden_activation"

func (m *decoder) neoxSides() {
	m.beside = m.reader.flag("use_parallel_residual", true)
	if m.reader.oneOf(neoxActivation, "gelu", "gelu", "gelu_tanh") == "gelu_tanh" {
		m.act = graph.GELUTanh
	}
}

// xielu are the keys of the numbers of layers' activations, which have no architecture in them:
// one for each layer, or one for all.
var xielu = [...]string{"xielu.alpha_p", "xielu.alpha_n", "xielu.beta", "xielu.eps"}

// curved is a block without a gate whose activation has numbers of its own. Files have the
// first two as softplus takes them.
//
// Huang & Schlag, "Deriving Activation Functions Using Integration", 2025, §3.
func (m *decoder) curved(i int) feed {
	f := m.plain(i)
	var v [len(xielu)]float64
	for k, key := range xielu {
		switch x, _ := m.set.Meta.Lookup(key); x := x.(type) {
		case float64:
			v[k] = x
		case []float64:
			if len(x) == m.c.Layers {
				v[k] = x[i]
				continue
			}
			m.reader.wrong("%s has %d entries for %d layers", key, len(x), m.c.Layers)
		default:
			m.reader.wrong("%s is missing or no number", key)
		}
	}
	for k, x := range v {
		if math.IsNaN(x) || math.Abs(x) > 1e6 {
			m.reader.wrong("%s is %g in layer %d", xielu[k], x, i)
		}
	}
	soft := func(x float64) float64 { return math.Log1p(math.Exp(-math.Abs(x))) + max(x, 0) }
	o := graph.XIELU{Positive: float32(soft(v[0])), Negative: float32(v[2] + soft(v[1])), Beta: float32(v[2]), Epsilon: float32(v[3])}
	return func(b *graph.Builder, h graph.Value) graph.Value {
		return f.down.of(b, b.XIELU(f.up.of(b, h), o))
	}
}

// olmoExperts: the weights of those chosen do not sum up to 1.
func (m *decoder) olmoExperts(i int) feed {
	return mixture(m.moe(i, graph.SiLU, m.reader.flag("expert_weights_norm", false)), mlp{}, linear{})
}

// mixtral is a dense block, or experts where a model has them.
func (m *decoder) mixtral(i int) feed {
	if m.c.Experts == 0 {
		return feeds(m.gated(i), graph.SiLU)
	}
	return mixture(m.moe(i, graph.SiLU, true), mlp{}, linear{})
}

// qwen2Experts stand beside a shared one, which is weighed by a sigmoid of its own.
func (m *decoder) qwen2Experts(i int) feed {
	t, hidden := &m.tensors, m.c.Hidden
	e := m.moe(i, graph.SiLU, m.reader.flag("expert_weights_norm", false))
	ff := m.reader.countOr("expert_shared_feed_forward_length", maxWidth, m.c.FF)
	return mixture(e, m.sharedOf(i, ff), linear{w: t.row(t.need(blk(i, "ffn_gate_inp_shexp.weight"), hidden))})
}

// normalisedExperts: the weights of those chosen sum up to 1 in every published model;
// Hugging Face files may say no.
func (m *decoder) normalisedExperts(i int) feed {
	return mixture(m.moe(i, graph.SiLU, m.reader.flag("expert_weights_norm", true)), mlp{}, linear{})
}

// routed is the experts of the families after DeepSeek: the first layers may be dense;
// behind them come experts, beside one that every row goes through.
func (m *decoder) routed(i int) feed {
	dense := m.reader.upTo("leading_dense_block_count", m.c.Layers)
	step := m.reader.countOr("interleave_moe_layer_step", m.c.Layers, 1)
	if i < dense || (i+1)%step != 0 {
		return feeds(m.gated(i), graph.SiLU)
	}
	return mixture(m.expertsOf(i, graph.SiLU, m.routing(i, m.sigmoid, !m.raw)), m.sharedExpert(i), linear{})
}
