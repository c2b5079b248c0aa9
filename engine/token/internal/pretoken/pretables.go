package pretoken

import (
	"cmp"
	"fmt"
	"maps"
	"quern/formats/weights"
	"slices"
	"strings"
)

// ErrUnsupported marks a valid description of a tokenizer we do not have.
var ErrUnsupported = weights.Unsupported("tokenizer")

// A Pretokenizer is what a name in tokenizer.ggml.pre stands for. Each pattern
// cuts the pieces that the one before leaves.
type Pretokenizer struct {
	Patterns     []string
	Raw          bool // tokens are UTF-8 with U+2581 for spaces, not byte-level
	IgnoreMerges bool // GGUF does not store this and the next two
	AddBOS       bool
	AddSEP       bool
}

// Parts of patterns. Where llama.cpp's pattern is only an approximation forced
// by its regular expression engine (character classes by case, marks, Unicode
// digits), the pattern here is the one the model was trained with.
const (
	contraction = `'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]`
	word        = `[^\r\n\p{L}\p{N}]?\p{L}+`
	signs       = ` ?[^\s\p{L}\p{N}]+`
	blanks      = `\s*[\r\n]+|\s+(?!\S)|\s+`
	ladder      = `\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|` +
		`\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s`

	capital      = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	small        = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	capitalNoHan = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]`
	smallNoHan   = `[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]`
	ending       = `(?:` + contraction + `)?`

	upToThree   = `\p{N}{1,3}`
	threeDigits = `[0-9][0-9][0-9]`
	OneSign     = `[\p{P}!-/:-@\[-\x60{-~]`
	lines       = `[^\n]+|[\n]+`
	kanaHan     = `[一-龥぀-ゟ゠-ヿ]+`
	eastAsian   = `[一-龥ࠀ-一가-퟿]+`
	eastScripts = "[\u4E00-\u9FFF\u3400-\u4DBF\uF900-\uFAFF\u3040-\u30FF\uFF65-\uFF9F\u2F00-\u2FDF\u0E40-\u0E7F" +
		"\u0E80-\u0EFF\u1780-\u17FF\u1000-\u109F\uAA60-\uAA7F\uA9E0-\uA9FF\uAC00-\uD7AF\u1100-\u11FF]+"
	bloomWords    = ` ?[^(\s|.,!?…。，、।۔،)]+`
	deepseekWords = `[!-/:-@\[-\x60{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+`

	// The letters that the DeepSeek LLM tokenizer spells out.
	deepseekLetters = "A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293" +
		"\u0295-\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C" +
		"\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5" +
		"\u13A0-\u13F5\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77" +
		"\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59" +
		"\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC" +
		"\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107" +
		"\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139" +
		"\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE" +
		"\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E" +
		"\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\U00010400-\U0001044F" +
		"\U000104B0-\U000104D3\U000104D8-\U000104FB\U00010C80-\U00010CB2" +
		"\U00010CC0-\U00010CF2\U000118A0-\U000118DF\U0001E900-\U0001E943"
)

// Whole patterns, as tokenizer.json files write them but for contractions in
// capitals.
const (
	GPT2            = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	llama3Pattern   = contraction + `|` + word + `|\p{N}{1,3}|` + signs + `[\r\n]*|` + blanks
	qwen2Pattern    = contraction + `|` + word + `|\p{N}|` + signs + `[\r\n]*|` + blanks
	qwen35Pattern   = contraction + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|` + blanks
	deepseekPattern = deepseekWords + `[\r\n]*|` + blanks
)

var (
	gpt4oPattern  = cased(capital, small, ending) + `|\p{N}{1,3}|` + signs + `[\r\n/]*|` + blanks
	tekkenPattern = cased(capital, small, ``) + `|\p{N}|` + signs + `[\r\n/]*|` + blanks
)

// cased is words that break before capitals.
func cased(capital, small, ending string) string {
	const lead = `[^\r\n\p{L}\p{N}]?`
	return lead + capital + `*` + small + `+` + ending + `|` + lead + capital + `+` + small + `*` + ending
}

// Lists of patterns that several names share.
var (
	gpt2    = []string{GPT2}
	llama3  = []string{llama3Pattern}
	qwen2   = []string{qwen2Pattern}
	qwen35  = []string{qwen35Pattern}
	gpt4o   = []string{gpt4oPattern}
	bloom   = []string{bloomWords}
	digits  = []string{`\p{N}`, GPT2}
	seek3   = []string{upToThree, kanaHan, deepseekPattern}
	tinyAya = []string{thousandsWordPattern, gpt4oPattern}
)

// All maps llama.cpp's names to what they stand for. The patterns
// come from the tokenizer.json files of the models.
var All = map[string]Pretokenizer{
	"default": {Patterns: []string{`[\p{P}$+<=>^~|]+`, GPT2, `\p{N}+`, threeDigits}},

	"gpt-2":           {Patterns: gpt2},
	"phi-2":           {Patterns: gpt2},
	"jina-es":         {Patterns: gpt2},
	"jina-de":         {Patterns: gpt2},
	"jina-v2-es":      {Patterns: gpt2},
	"jina-v2-de":      {Patterns: gpt2},
	"jina-v1-en":      {Patterns: gpt2, AddSEP: true},
	"jina-v2-code":    {Patterns: gpt2, AddSEP: true},
	"roberta-bpe":     {Patterns: gpt2, AddSEP: true},
	"gigachat":        {Patterns: gpt2},
	"a.x-4.0":         {Patterns: gpt2},
	"mellum":          {Patterns: gpt2},
	"modern-bert":     {Patterns: gpt2},
	"exaone4":         {Patterns: gpt2},
	"mpt":             {Patterns: gpt2},
	"olmo":            {Patterns: gpt2},
	"jais":            {Patterns: gpt2},
	"trillion":        {Patterns: gpt2},
	"granite-docling": {Patterns: gpt2},

	"llama3":       {Patterns: llama3, IgnoreMerges: true, AddBOS: true},
	"llama-v3":     {Patterns: llama3, IgnoreMerges: true, AddBOS: true},
	"llama-bpe":    {Patterns: llama3, IgnoreMerges: true, AddBOS: true},
	"falcon3":      {Patterns: llama3, IgnoreMerges: true, AddBOS: true},
	"falcon-h1":    {Patterns: llama3, IgnoreMerges: true, AddBOS: true},
	"pixtral":      {Patterns: llama3, IgnoreMerges: true, AddBOS: true},
	"midm-2.0":     {Patterns: llama3, IgnoreMerges: true, AddBOS: true},
	"lfm2":         {Patterns: llama3, IgnoreMerges: true, AddBOS: true},
	"jina-v5-nano": {Patterns: llama3, IgnoreMerges: true, AddBOS: true},
	"dbrx":         {Patterns: llama3},
	"smaug-bpe":    {Patterns: llama3},
	"glm4":         {Patterns: llama3},
	"chatglm-bpe":  {Patterns: llama3},
	"jais-2":       {Patterns: []string{contraction + `|` + word + `|\p{N}{1,3}|` + signs + `[\r\n]*|` + ladder}},
	"minicpm5": {
		Patterns:     []string{upToThree, contraction + `|` + word + `|\p{N}+|` + signs + `[\r\n]*|` + blanks},
		IgnoreMerges: true,
	},

	"qwen2":            {Patterns: qwen2},
	"deepseek-r1-qwen": {Patterns: qwen2},
	"kormo":            {Patterns: qwen2},
	"f2llmv2":          {Patterns: qwen2},
	"megrez":           {Patterns: qwen2},
	"stablelm2":        {Patterns: qwen2},
	"hunyuan":          {Patterns: qwen2},
	"solar-open":       {Patterns: qwen2},
	"grok-2":           {Patterns: qwen2},
	"bailingmoe":       {Patterns: qwen2},
	"bailingmoe2":      {Patterns: qwen2},
	"llada-moe":        {Patterns: qwen2},
	"qwen35":           {Patterns: qwen35},
	"ufakzeka":         {Patterns: []string{word + `|\p{N}|` + signs + `[\r\n]*|` + blanks}},
	"seed-coder":       {Patterns: []string{contraction + `|` + word + `|\p{N}|` + signs + `|` + blanks}},
	"exaone-moe":       {Patterns: []string{contraction + `|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|` + signs + `[\r\n/]?|` + blanks}},
	"laguna":           {Patterns: []string{lines, qwen2[0]}},

	"gpt-4o":                  {Patterns: gpt4o},
	"llama4":                  {Patterns: gpt4o},
	"kanana2":                 {Patterns: gpt4o},
	"talkie":                  {Patterns: gpt4o},
	"minimax-m2":              {Patterns: gpt4o},
	"granite-embed-multi-97m": {Patterns: gpt4o, IgnoreMerges: true},
	"tekken": {
		Patterns:     []string{tekkenPattern},
		IgnoreMerges: true, AddBOS: true,
	},
	"kimi-k2":    {Patterns: []string{`\p{Han}+|` + cased(capitalNoHan, smallNoHan, ending) + `|\p{N}{1,3}|` + signs + `[\r\n]*|` + blanks}},
	"tiny_aya":   {Patterns: tinyAya},
	"cohere2moe": {Patterns: tinyAya},
	"youtu": {
		Patterns: []string{
			`[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|` + kanaHan,
			cased(capital, small, ending) + `|\p{N}|` + signs + `[\r\n/]*|` + blanks,
		},
		IgnoreMerges: true,
	},

	"deepseek-llm": {Patterns: []string{
		`[\r\n]`, `\s?[` + deepseekLetters + `]+`, `\s?[!-/:-~！-／：-～‘-‟　-。]+`,
		`\s+\z`, eastAsian, `\p{N}+`,
	}},
	"deepseek-coder": {Patterns: []string{`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, eastAsian, `\p{N}`}},
	"deepseek-v3":    {Patterns: seek3},
	"hunyuan-dense":  {Patterns: seek3},
	"joyai-llm":      {Patterns: seek3},
	"hy_v4":          {Patterns: seek3},
	"spark2_5":       {Patterns: []string{upToThree, kanaHan, deepseekWords + `|[\r\n]|\s+(?!\S)|\s+`, `\p{N}`}},

	"falcon":     {Patterns: []string{`[\p{P}$+<=>^~|\x60]+`, GPT2, threeDigits}},
	"starcoder":  {Patterns: digits},
	"refact":     {Patterns: digits},
	"command-r":  {Patterns: digits},
	"smollm":     {Patterns: digits},
	"codeshell":  {Patterns: digits},
	"exaone":     {Patterns: digits},
	"minerva-7b": {Patterns: digits},
	"mellum2":    {Patterns: digits},

	"poro-chat":    {Patterns: bloom},
	"bloom":        {Patterns: bloom},
	"gpt3-finnish": {Patterns: bloom},
	"viking":       {Patterns: []string{bloomWords, `\p{N}`}},

	"superbpe": {Patterns: []string{`\p{N}+`, thousandsPattern}},
	"afmoe":    {Patterns: []string{`\p{N}+`, thousandsPattern, eastScripts, deepseekPattern}},
	"chameleon": {
		Patterns: []string{
			`<sentinel:[0-9]+>`, `IMGIMG[A-I]{1,4}Z`, "[\t\n]|    |  ", `\p{N}`,
			OneSign, GPT2,
		},
		AddBOS: true,
	},

	"gemma4":                   {Patterns: []string{lines}, Raw: true, AddBOS: true},
	"granite-embed-multi-311m": {Patterns: []string{lines}, Raw: true, AddBOS: true},
	"sarvam-moe":               {Patterns: []string{lines}, Raw: true},
}

// Named finds a pre-tokenizer by name; "" is "default".
func Named(name string) (Pretokenizer, error) {
	name = cmp.Or(name, "default")
	p, ok := All[name]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(All)), " ")
		return p, fmt.Errorf("%w: pre-tokenizer %q; known: %s", ErrUnsupported, name, known)
	}
	return p, nil
}
