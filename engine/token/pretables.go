package token

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// A pretokenizer is what a name in tokenizer.ggml.pre stands for.
type pretokenizer struct {
	passes       []pass
	raw          bool // tokens are UTF-8 with U+2581 for spaces, not byte-level
	ignoreMerges bool // GGUF does not store this and the next two
	addBOS       bool
	addSEP       bool
}

// The patterns that several names share. Where llama.cpp's pattern is only an
// approximation forced by its regular expression engine (character classes by
// case, marks, Unicode digits), the pattern here is the one the model was
// trained with.
var (
	gpt2    = []pass{gpt2Words}
	llama3  = []pass{(&wordRule{lead: true, digits: 3}).split}
	qwen2   = []pass{(&wordRule{lead: true, digits: 1}).split}
	qwen35  = []pass{(&wordRule{lead: true, digits: 1, marks: true, not: mark}).split}
	gpt4o   = []pass{(&wordRule{tail: true, cased: true, digits: 3, after: slashes}).split}
	bloom   = []pass{bloomWords}
	digits  = []pass{groups(number, 1), gpt2Words}
	seek3   = []pass{groups(number, 3), runs(false, isKanaHan), deepseekWords}
	tinyAya = []pass{thousandsWord, gpt4o[0]}
)

// pretokenizers maps llama.cpp's names to what they stand for. The patterns
// come from the tokenizer.json files of the models.
var pretokenizers = map[string]pretokenizer{
	"default": {passes: []pass{symbolRuns("$+<=>^~|"), gpt2Words, groups(number, 0), threes}},

	"gpt-2":           {passes: gpt2},
	"phi-2":           {passes: gpt2},
	"jina-es":         {passes: gpt2},
	"jina-de":         {passes: gpt2},
	"jina-v2-es":      {passes: gpt2},
	"jina-v2-de":      {passes: gpt2},
	"jina-v1-en":      {passes: gpt2, addSEP: true},
	"jina-v2-code":    {passes: gpt2, addSEP: true},
	"roberta-bpe":     {passes: gpt2, addSEP: true},
	"gigachat":        {passes: gpt2},
	"a.x-4.0":         {passes: gpt2},
	"mellum":          {passes: gpt2},
	"modern-bert":     {passes: gpt2},
	"exaone4":         {passes: gpt2},
	"mpt":             {passes: gpt2},
	"olmo":            {passes: gpt2},
	"jais":            {passes: gpt2},
	"trillion":        {passes: gpt2},
	"granite-docling": {passes: gpt2},

	"llama3":       {passes: llama3, ignoreMerges: true, addBOS: true},
	"llama-v3":     {passes: llama3, ignoreMerges: true, addBOS: true},
	"llama-bpe":    {passes: llama3, ignoreMerges: true, addBOS: true},
	"falcon3":      {passes: llama3, ignoreMerges: true, addBOS: true},
	"falcon-h1":    {passes: llama3, ignoreMerges: true, addBOS: true},
	"pixtral":      {passes: llama3, ignoreMerges: true, addBOS: true},
	"midm-2.0":     {passes: llama3, ignoreMerges: true, addBOS: true},
	"lfm2":         {passes: llama3, ignoreMerges: true, addBOS: true},
	"jina-v5-nano": {passes: llama3, ignoreMerges: true, addBOS: true},
	"dbrx":         {passes: llama3},
	"smaug-bpe":    {passes: llama3},
	"glm4":         {passes: llama3},
	"chatglm-bpe":  {passes: llama3},
	"jais-2":       {passes: []pass{(&wordRule{lead: true, digits: 3, ladder: true}).split}},
	"minicpm5": {
		passes:       []pass{groups(number, 3), (&wordRule{lead: true}).split},
		ignoreMerges: true,
	},

	"qwen2":            {passes: qwen2},
	"deepseek-r1-qwen": {passes: qwen2},
	"kormo":            {passes: qwen2},
	"f2llmv2":          {passes: qwen2},
	"megrez":           {passes: qwen2},
	"stablelm2":        {passes: qwen2},
	"hunyuan":          {passes: qwen2},
	"solar-open":       {passes: qwen2},
	"grok-2":           {passes: qwen2},
	"bailingmoe":       {passes: qwen2},
	"bailingmoe2":      {passes: qwen2},
	"llada-moe":        {passes: qwen2},
	"qwen35":           {passes: qwen35},
	"ufakzeka":         {passes: []pass{(&wordRule{digits: 1}).split}},
	"seed-coder":       {passes: []pass{(&wordRule{lead: true, digits: 1, after: nothingAfter}).split}},
	"exaone-moe":       {passes: []pass{(&wordRule{lead: true, digits: 1, spaced: true, after: oneSlash}).split}},
	"laguna":           {passes: []pass{lines, qwen2[0]}},

	"gpt-4o":                  {passes: gpt4o},
	"llama4":                  {passes: gpt4o},
	"kanana2":                 {passes: gpt4o},
	"talkie":                  {passes: gpt4o},
	"minimax-m2":              {passes: gpt4o},
	"granite-embed-multi-97m": {passes: gpt4o, ignoreMerges: true},
	"tekken": {
		passes:       []pass{(&wordRule{cased: true, digits: 1, after: slashes}).split},
		ignoreMerges: true, addBOS: true,
	},
	"kimi-k2":    {passes: []pass{(&wordRule{han: true, tail: true, cased: true, digits: 3}).split}},
	"tiny_aya":   {passes: tinyAya},
	"cohere2moe": {passes: tinyAya},
	"youtu": {
		passes: []pass{
			cjkScripts,
			(&wordRule{tail: true, cased: true, digits: 1, after: slashes}).split,
		},
		ignoreMerges: true,
	},

	"deepseek-llm": {passes: []pass{
		each(isLineEnd), runs(true, isCasedLetter), runs(true, isDeepseekSign),
		trailing, runs(false, isEastAsian), groups(number, 0),
	}},
	"deepseek-coder": {passes: []pass{
		each(isLineEnd), classRuns(true, letter), classRuns(true, punct),
		runs(false, isEastAsian), groups(number, 1),
	}},
	"deepseek-v3":   {passes: seek3},
	"hunyuan-dense": {passes: seek3},
	"joyai-llm":     {passes: seek3},
	"hy_v4":         {passes: seek3},
	"spark2_5":      {passes: []pass{groups(number, 3), runs(false, isKanaHan), sparkWords, groups(number, 1)}},

	"falcon":     {passes: []pass{symbolRuns("$+<=>^~|`"), gpt2Words, threes}},
	"starcoder":  {passes: digits},
	"refact":     {passes: digits},
	"command-r":  {passes: digits},
	"smollm":     {passes: digits},
	"codeshell":  {passes: digits},
	"exaone":     {passes: digits},
	"minerva-7b": {passes: digits},
	"mellum2":    {passes: digits},

	"poro-chat":    {passes: bloom},
	"bloom":        {passes: bloom},
	"gpt3-finnish": {passes: bloom},
	"viking":       {passes: []pass{bloomWords, groups(number, 1)}},

	"superbpe": {passes: []pass{groups(number, 0), thousands}},
	"chameleon": {
		passes: []pass{sentinels, images, indents, groups(number, 1), each(isASCIISign), gpt2Words},
		addBOS: true,
	},

	"gemma4":                   {passes: []pass{lines}, raw: true, addBOS: true},
	"granite-embed-multi-311m": {passes: []pass{lines}, raw: true, addBOS: true},
	"sarvam-moe":               {passes: []pass{lines}, raw: true},
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

func isLineEnd(_ *classTable, s string, i int) bool { return s[i] == '\n' || s[i] == '\r' }

// isASCIISign is [\p{P}!-/:-@\[-`{-~].
func isASCIISign(t *classTable, s string, i int) bool {
	c, _ := t.at(s, i)
	return c&punct != 0 || s[i] < utf8.RuneSelf && c&symbol != 0
}

// isKanaHan is [一-龥぀-ゟ゠-ヿ].
func isKanaHan(r rune) bool {
	return 0x4E00 <= r && r <= 0x9FA5 || 0x3040 <= r && r <= 0x30FF
}

// isEastAsian is [一-龥ࠀ-一가-퟿].
func isEastAsian(r rune) bool {
	return 0x0800 <= r && r <= 0x9FA5 || 0xAC00 <= r && r <= 0xD7FF
}

// isDeepseekSign is [!-/:-~！-／：-～‘-‟　-。]. It holds the ASCII letters, since
// one of its ranges runs from the colon to the tilde.
func isDeepseekSign(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return '!' <= r && r <= '/' || ':' <= r && r <= '~'
	case r < 0x3000:
		return 0x2018 <= r && r <= 0x201F
	}
	return r <= 0x3002 || 0xFF01 <= r && r <= 0xFF0F || 0xFF1A <= r && r <= 0xFF5E
}

// cjkScripts isolates runs of Hangul, of full-width punctuation, of Bopomofo,
// and of Han with kana.
func cjkScripts(_ *classTable, s string, emit func(string)) {
	isolate(s, emit, func(i int) int {
		for _, in := range [...]func(rune) bool{isHangul, isWideSign, isBopomofo, isKanaHan} {
			if end := runeRun(s, i, in); end > i {
				return end
			}
		}
		return i
	})
}

func isHangul(r rune) bool {
	return 0xAC00 <= r && r <= 0xD7A3 || 0x3131 <= r && r <= 0x318E
}

func isWideSign(r rune) bool {
	switch r {
	case '！', '…', '“', '”', '‘', '’', '—', '：', '；', '，':
		return true
	}
	return 0x3001 <= r && r <= 0x303F || 0xFE30 <= r && r <= 0xFE4F
}

func isBopomofo(r rune) bool { return 0x3105 <= r && r <= 0x312F }

// isCasedLetter is the letter set that the DeepSeek LLM tokenizer spells out.
func isCasedLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return isAlpha(byte(r))
	}
	_, ok := slices.BinarySearchFunc(casedLetters, r, func(x [2]rune, r rune) int {
		switch {
		case r < x[0]:
			return 1
		case r > x[1]:
			return -1
		}
		return 0
	})
	return ok
}

// casedLetters are the ranges of isCasedLetter beyond ASCII.
var casedLetters = [][2]rune{
	{0x00B5, 0x00B5}, {0x00C0, 0x00D6}, {0x00D8, 0x00F6}, {0x00F8, 0x01BA}, {0x01BC, 0x01BF},
	{0x01C4, 0x0293}, {0x0295, 0x02AF}, {0x0370, 0x0373}, {0x0376, 0x0377}, {0x037B, 0x037D},
	{0x037F, 0x037F}, {0x0386, 0x0386}, {0x0388, 0x038A}, {0x038C, 0x038C}, {0x038E, 0x03A1},
	{0x03A3, 0x03F5}, {0x03F7, 0x0481}, {0x048A, 0x052F}, {0x0531, 0x0556}, {0x10A0, 0x10C5},
	{0x13A0, 0x13F5}, {0x13F8, 0x13FD}, {0x1C90, 0x1CBA}, {0x1CBD, 0x1CBF}, {0x1D00, 0x1D2B},
	{0x1D6B, 0x1D77}, {0x1D79, 0x1D9A}, {0x1E00, 0x1F15}, {0x1F18, 0x1F1D}, {0x1F20, 0x1F45},
	{0x1F48, 0x1F4D}, {0x1F50, 0x1F57}, {0x1F59, 0x1F59}, {0x1F5B, 0x1F5B}, {0x1F5D, 0x1F5D},
	{0x1F5F, 0x1F7D}, {0x1F80, 0x1FB4}, {0x1FB6, 0x1FBC}, {0x1FBE, 0x1FBE}, {0x1FC2, 0x1FC4},
	{0x1FC6, 0x1FCC}, {0x1FD0, 0x1FD3}, {0x1FD6, 0x1FDB}, {0x1FE0, 0x1FEC}, {0x1FF2, 0x1FF4},
	{0x1FF6, 0x1FFC}, {0x2102, 0x2102}, {0x2107, 0x2107}, {0x210A, 0x2113}, {0x2115, 0x2115},
	{0x2119, 0x211D}, {0x2124, 0x2124}, {0x2126, 0x2126}, {0x2128, 0x2128}, {0x212A, 0x212D},
	{0x212F, 0x2134}, {0x2139, 0x2139}, {0x213C, 0x213F}, {0x2145, 0x2149}, {0x214E, 0x214E},
	{0x2183, 0x2184}, {0x2C00, 0x2C7B}, {0x2C7E, 0x2CE4}, {0x2CEB, 0x2CEE}, {0x2CF2, 0x2CF3},
	{0xA640, 0xA66D}, {0xA680, 0xA69B}, {0xA722, 0xA76F}, {0xA771, 0xA787}, {0xA78B, 0xA78E},
	{0xAB70, 0xABBF}, {0xFB00, 0xFB06}, {0xFB13, 0xFB17}, {0xFF21, 0xFF3A}, {0xFF41, 0xFF5A},
	{0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB}, {0x10C80, 0x10CB2},
	{0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943},
}
