package token

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A pretokenizer is what a name in tokenizer.ggml.pre stands for. Each pattern
// cuts the pieces that the one before leaves.
type pretokenizer struct {
	patterns     []string
	raw          bool // tokens are UTF-8 with U+2581 for spaces, not byte-level
	ignoreMerges bool // GGUF does not store this and the next two
	addBOS       bool
	addSEP       bool
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

	upToThree     = `\p{N}{1,3}`
	threeDigits   = `[0-9][0-9][0-9]`
	oneSign       = `[\p{P}!-/:-@\[-\x60{-~]`
	lines         = `[^\n]+|[\n]+`
	kanaHan       = `[一-龥぀-ゟ゠-ヿ]+`
	eastAsian     = `[一-龥ࠀ-一가-퟿]+`
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
	gpt2Pattern     = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
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
	gpt2    = []string{gpt2Pattern}
	llama3  = []string{llama3Pattern}
	qwen2   = []string{qwen2Pattern}
	qwen35  = []string{qwen35Pattern}
	gpt4o   = []string{gpt4oPattern}
	bloom   = []string{bloomWords}
	digits  = []string{`\p{N}`, gpt2Pattern}
	seek3   = []string{upToThree, kanaHan, deepseekPattern}
	tinyAya = []string{thousandsWordPattern, gpt4oPattern}
)

// pretokenizers maps llama.cpp's names to what they stand for. The patterns
// come from the tokenizer.json files of the models.
var pretokenizers = map[string]pretokenizer{
	"default": {patterns: []string{`[\p{P}$+<=>^~|]+`, gpt2Pattern, `\p{N}+`, threeDigits}},

	"gpt-2":           {patterns: gpt2},
	"phi-2":           {patterns: gpt2},
	"jina-es":         {patterns: gpt2},
	"jina-de":         {patterns: gpt2},
	"jina-v2-es":      {patterns: gpt2},
	"jina-v2-de":      {patterns: gpt2},
	"jina-v1-en":      {patterns: gpt2, addSEP: true},
	"jina-v2-code":    {patterns: gpt2, addSEP: true},
	"roberta-bpe":     {patterns: gpt2, addSEP: true},
	"gigachat":        {patterns: gpt2},
	"a.x-4.0":         {patterns: gpt2},
	"mellum":          {patterns: gpt2},
	"modern-bert":     {patterns: gpt2},
	"exaone4":         {patterns: gpt2},
	"mpt":             {patterns: gpt2},
	"olmo":            {patterns: gpt2},
	"jais":            {patterns: gpt2},
	"trillion":        {patterns: gpt2},
	"granite-docling": {patterns: gpt2},

	"llama3":       {patterns: llama3, ignoreMerges: true, addBOS: true},
	"llama-v3":     {patterns: llama3, ignoreMerges: true, addBOS: true},
	"llama-bpe":    {patterns: llama3, ignoreMerges: true, addBOS: true},
	"falcon3":      {patterns: llama3, ignoreMerges: true, addBOS: true},
	"falcon-h1":    {patterns: llama3, ignoreMerges: true, addBOS: true},
	"pixtral":      {patterns: llama3, ignoreMerges: true, addBOS: true},
	"midm-2.0":     {patterns: llama3, ignoreMerges: true, addBOS: true},
	"lfm2":         {patterns: llama3, ignoreMerges: true, addBOS: true},
	"jina-v5-nano": {patterns: llama3, ignoreMerges: true, addBOS: true},
	"dbrx":         {patterns: llama3},
	"smaug-bpe":    {patterns: llama3},
	"glm4":         {patterns: llama3},
	"chatglm-bpe":  {patterns: llama3},
	"jais-2":       {patterns: []string{contraction + `|` + word + `|\p{N}{1,3}|` + signs + `[\r\n]*|` + ladder}},
	"minicpm5": {
		patterns:     []string{upToThree, contraction + `|` + word + `|\p{N}+|` + signs + `[\r\n]*|` + blanks},
		ignoreMerges: true,
	},

	"qwen2":            {patterns: qwen2},
	"deepseek-r1-qwen": {patterns: qwen2},
	"kormo":            {patterns: qwen2},
	"f2llmv2":          {patterns: qwen2},
	"megrez":           {patterns: qwen2},
	"stablelm2":        {patterns: qwen2},
	"hunyuan":          {patterns: qwen2},
	"solar-open":       {patterns: qwen2},
	"grok-2":           {patterns: qwen2},
	"bailingmoe":       {patterns: qwen2},
	"bailingmoe2":      {patterns: qwen2},
	"llada-moe":        {patterns: qwen2},
	"qwen35":           {patterns: qwen35},
	"ufakzeka":         {patterns: []string{word + `|\p{N}|` + signs + `[\r\n]*|` + blanks}},
	"seed-coder":       {patterns: []string{contraction + `|` + word + `|\p{N}|` + signs + `|` + blanks}},
	"exaone-moe":       {patterns: []string{contraction + `|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|` + signs + `[\r\n/]?|` + blanks}},
	"laguna":           {patterns: []string{lines, qwen2[0]}},

	"gpt-4o":                  {patterns: gpt4o},
	"llama4":                  {patterns: gpt4o},
	"kanana2":                 {patterns: gpt4o},
	"talkie":                  {patterns: gpt4o},
	"minimax-m2":              {patterns: gpt4o},
	"granite-embed-multi-97m": {patterns: gpt4o, ignoreMerges: true},
	"tekken": {
		patterns:     []string{tekkenPattern},
		ignoreMerges: true, addBOS: true,
	},
	"kimi-k2":    {patterns: []string{`\p{Han}+|` + cased(capitalNoHan, smallNoHan, ending) + `|\p{N}{1,3}|` + signs + `[\r\n]*|` + blanks}},
	"tiny_aya":   {patterns: tinyAya},
	"cohere2moe": {patterns: tinyAya},
	"youtu": {
		patterns: []string{
			`[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|` + kanaHan,
			cased(capital, small, ending) + `|\p{N}|` + signs + `[\r\n/]*|` + blanks,
		},
		ignoreMerges: true,
	},

	"deepseek-llm": {patterns: []string{
		`[\r\n]`, `\s?[` + deepseekLetters + `]+`, `\s?[!-/:-~！-／：-～‘-‟　-。]+`,
		`\s+\z`, eastAsian, `\p{N}+`,
	}},
	"deepseek-coder": {patterns: []string{`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, eastAsian, `\p{N}`}},
	"deepseek-v3":    {patterns: seek3},
	"hunyuan-dense":  {patterns: seek3},
	"joyai-llm":      {patterns: seek3},
	"hy_v4":          {patterns: seek3},
	"spark2_5":       {patterns: []string{upToThree, kanaHan, deepseekWords + `|[\r\n]|\s+(?!\S)|\s+`, `\p{N}`}},

	"falcon":     {patterns: []string{`[\p{P}$+<=>^~|\x60]+`, gpt2Pattern, threeDigits}},
	"starcoder":  {patterns: digits},
	"refact":     {patterns: digits},
	"command-r":  {patterns: digits},
	"smollm":     {patterns: digits},
	"codeshell":  {patterns: digits},
	"exaone":     {patterns: digits},
	"minerva-7b": {patterns: digits},
	"mellum2":    {patterns: digits},

	"poro-chat":    {patterns: bloom},
	"bloom":        {patterns: bloom},
	"gpt3-finnish": {patterns: bloom},
	"viking":       {patterns: []string{bloomWords, `\p{N}`}},

	"superbpe": {patterns: []string{`\p{N}+`, thousandsPattern}},
	"chameleon": {
		patterns: []string{
			`<sentinel:[0-9]+>`, `IMGIMG[A-I]{1,4}Z`, "[\t\n]|    |  ", `\p{N}`,
			oneSign, gpt2Pattern,
		},
		addBOS: true,
	},

	"gemma4":                   {patterns: []string{lines}, raw: true, addBOS: true},
	"granite-embed-multi-311m": {patterns: []string{lines}, raw: true, addBOS: true},
	"sarvam-moe":               {patterns: []string{lines}, raw: true},
}

// pretokenizerOf finds a pre-tokenizer by name; "" is "default".
func pretokenizerOf(name string) (pretokenizer, error) {
	if name == "" {
		name = "default"
	}
	p, ok := pretokenizers[name]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(pretokenizers)), " ")
		return p, fmt.Errorf("%w: pre-tokenizer %q; known: %s", ErrUnsupported, name, known)
	}
	return p, nil
}
