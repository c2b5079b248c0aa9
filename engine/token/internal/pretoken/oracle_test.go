package pretoken

// The pre-tokenizers as they were first written: one function for each pass,
// by hand, close to the pattern. Slow and simple, they are what the splitter is
// held against.

import (
	"strings"
	"unicode/utf8"
)

// A pass cuts s into pieces and emits them in order, none empty. A
// pre-tokenizer is a list of passes, each working on the pieces of the one
// before; what a pass does not recognise it emits as it found it.
//
// A piece is a text of its own: \s+(?!\S) at the end of a piece matches even
// when more text follows the piece.
type pass func(t *Table, s string, emit func(string))

// isolate is the frame of a pass that recognises only some of the text: match
// returns the end of a match that starts at i, or i. Text between matches is
// emitted in one piece.
func isolate(s string, emit func(string), match func(i int) int) {
	from := 0
	for i := 0; i < len(s); {
		j := match(i)
		if j == i {
			_, w := utf8.DecodeRuneInString(s[i:])
			i += w
			continue
		}
		if from < i {
			emit(s[from:i])
		}
		emit(s[i:j])
		from, i = j, j
	}
	if from < len(s) {
		emit(s[from:])
	}
}

// groups isolates runs of x in groups of at most n characters, from the left:
// \p{N}{1,3} is groups(number, 3). n = 0 sets no limit.
func groups(x class, n int) pass {
	return func(t *Table, s string, emit func(string)) {
		isolate(s, emit, func(i int) int { return t.group(s, i, set{in: x}, n) })
	}
}

// runs isolates runs of the characters that in accepts. Some or all may have
// one white space character in front, which lead says.
func runs(lead bool, in func(r rune) bool) pass {
	return func(t *Table, s string, emit func(string)) {
		isolate(s, emit, func(i int) int {
			j := i
			if lead {
				if c, w := t.at(s, i); c&Space != 0 {
					j += w
				}
			}
			if end := runeRun(s, j, in); end > j {
				return end
			}
			return runeRun(s, i, in)
		})
	}
}

func runeRun(s string, i int, in func(r rune) bool) int {
	for i < len(s) {
		r, w := utf8.DecodeRuneInString(s[i:])
		if !in(r) {
			break
		}
		i += w
	}
	return i
}

// classRuns is runs for a class.
func classRuns(lead bool, x class) pass {
	return func(t *Table, s string, emit func(string)) {
		isolate(s, emit, func(i int) int {
			if lead {
				if c, w := t.at(s, i); c&Space != 0 && t.Peek(s, i+w)&x != 0 {
					return t.run(s, i+w, set{in: x})
				}
			}
			return t.run(s, i, set{in: x})
		})
	}
}

// symbolRuns isolates runs of punctuation and of the ASCII symbols listed.
func symbolRuns(listed string) pass {
	return func(t *Table, s string, emit func(string)) {
		isolate(s, emit, func(i int) int {
			for i < len(s) {
				c, w := t.at(s, i)
				if c&Punct == 0 && strings.IndexByte(listed, s[i]) < 0 {
					break
				}
				i += w
			}
			return i
		})
	}
}

// each isolates single characters.
func each(in func(t *Table, s string, i int) bool) pass {
	return func(t *Table, s string, emit func(string)) {
		isolate(s, emit, func(i int) int {
			if !in(t, s, i) {
				return i
			}
			_, w := t.at(s, i)
			return i + w
		})
	}
}

// lines divides text into runs without and runs of line feeds.
func slowLines(_ *Table, s string, emit func(string)) {
	for s != "" {
		n := strings.IndexByte(s, '\n')
		if n == 0 {
			n = len(s) - len(strings.TrimLeft(s, "\n"))
		} else if n < 0 {
			n = len(s)
		}
		emit(s[:n])
		s = s[n:]
	}
}

// threes isolates [0-9][0-9][0-9].
func threes(_ *Table, s string, emit func(string)) {
	isolate(s, emit, func(i int) int {
		if i+3 <= len(s) && isDigit(s[i]) && isDigit(s[i+1]) && isDigit(s[i+2]) {
			return i + 3
		}
		return i
	})
}

// trailing isolates \s+$.
func trailing(t *Table, s string, emit func(string)) {
	n := len(s)
	for n > 0 {
		r, w := utf8.DecodeLastRuneInString(s[:n])
		if t.Of(r)&Space == 0 {
			break
		}
		n -= w
	}
	if n > 0 {
		emit(s[:n])
	}
	if n < len(s) {
		emit(s[n:])
	}
}

// thousands cuts at (?=(\d{3})+(?!\d)): decimal digits fall into groups of
// three counted from the right, and the first group starts a piece.
func slowThousands(t *Table, s string, emit func(string)) {
	from := 0
	for i := 0; i < len(s); {
		c, w := t.at(s, i)
		if c&digit == 0 {
			i += w
			continue
		}
		end := t.run(s, i, set{in: digit})
		for left := utf8.RuneCountInString(s[i:end]); i < end; left-- {
			if left%3 == 0 && from < i {
				emit(s[from:i])
				from = i
			}
			_, w := t.at(s, i)
			i += w
		}
	}
	if from < len(s) {
		emit(s[from:])
	}
}

// slowThousandsWord isolates \d{1,3}(?=(?:\d{3})*\b): the same groups, each a
// piece, but only where no letter, mark or underscore follows the digits.
func slowThousandsWord(t *Table, s string, emit func(string)) {
	left := 0
	stop := 0 // digits before it are known to be followed by a word character
	isolate(s, emit, func(i int) int {
		if i < stop {
			return i
		}
		if left == 0 {
			end := t.run(s, i, set{in: digit})
			if end == i {
				return i
			}
			if t.Peek(s, end)&(letter|Mark|joiner) != 0 {
				stop = end
				return i
			}
			left = utf8.RuneCountInString(s[i:end])
		}
		n := left % 3
		if n == 0 {
			n = 3
		}
		left -= n
		return t.group(s, i, set{in: digit}, n)
	})
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isAlpha(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// sentinels isolates <sentinel:[0-9]+>.
func sentinels(_ *Table, s string, emit func(string)) {
	const open = "<sentinel:"
	isolate(s, emit, func(i int) int {
		if !strings.HasPrefix(s[i:], open) {
			return i
		}
		j := i + len(open)
		for j < len(s) && isDigit(s[j]) {
			j++
		}
		if j == i+len(open) || j == len(s) || s[j] != '>' {
			return i
		}
		return j + 1
	})
}

// images isolates IMGIMG[A-I]{1,4}Z.
func images(_ *Table, s string, emit func(string)) {
	const open = "IMGIMG"
	isolate(s, emit, func(i int) int {
		if !strings.HasPrefix(s[i:], open) {
			return i
		}
		j := i + len(open)
		for j < len(s) && j < i+len(open)+4 && 'A' <= s[j] && s[j] <= 'I' {
			j++
		}
		if j == i+len(open) || j == len(s) || s[j] != 'Z' {
			return i
		}
		return j + 1
	})
}

// indents isolates tabs, line feeds and pairs and fours of spaces.
func indents(_ *Table, s string, emit func(string)) {
	isolate(s, emit, func(i int) int {
		switch {
		case s[i] == '\t' || s[i] == '\n':
			return i + 1
		case strings.HasPrefix(s[i:], "    "):
			return i + 4
		case strings.HasPrefix(s[i:], "  "):
			return i + 2
		}
		return i
	})
}

// The patterns that several names share. Where llama.cpp's pattern is only an
// approximation forced by its regular expression engine (character classes by
// case, marks, Unicode digits), the pattern here is the one the model was
// trained with.
var (
	slowGPT2    = []pass{gpt2Words}
	slowLlama3  = []pass{(&wordRule{lead: true, digits: 3}).split}
	slowQwen2   = []pass{(&wordRule{lead: true, digits: 1}).split}
	slowQwen35  = []pass{(&wordRule{lead: true, digits: 1, marks: true, not: Mark}).split}
	slowGPT4o   = []pass{(&wordRule{tail: true, cased: true, digits: 3, after: slashes}).split}
	slowBloom   = []pass{slowBloomWords}
	slowDigits  = []pass{groups(number, 1), gpt2Words}
	slowSeek3   = []pass{groups(number, 3), runs(false, isKanaHan), slowDeepseekWords}
	slowTinyAya = []pass{slowThousandsWord, slowGPT4o[0]}
)

// All maps llama.cpp's names to what they stand for. The patterns
// come from the tokenizer.json files of the models.
var oracles = map[string][]pass{
	"default": {symbolRuns("$+<=>^~|"), gpt2Words, groups(number, 0), threes},

	"gpt-2":           slowGPT2,
	"phi-2":           slowGPT2,
	"jina-es":         slowGPT2,
	"jina-de":         slowGPT2,
	"jina-v2-es":      slowGPT2,
	"jina-v2-de":      slowGPT2,
	"jina-v1-en":      slowGPT2,
	"jina-v2-code":    slowGPT2,
	"roberta-bpe":     slowGPT2,
	"gigachat":        slowGPT2,
	"a.x-4.0":         slowGPT2,
	"mellum":          slowGPT2,
	"modern-bert":     slowGPT2,
	"exaone4":         slowGPT2,
	"mpt":             slowGPT2,
	"olmo":            slowGPT2,
	"jais":            slowGPT2,
	"trillion":        slowGPT2,
	"granite-docling": slowGPT2,

	"llama3":       slowLlama3,
	"llama-v3":     slowLlama3,
	"llama-bpe":    slowLlama3,
	"falcon3":      slowLlama3,
	"falcon-h1":    slowLlama3,
	"pixtral":      slowLlama3,
	"midm-2.0":     slowLlama3,
	"lfm2":         slowLlama3,
	"jina-v5-nano": slowLlama3,
	"dbrx":         slowLlama3,
	"smaug-bpe":    slowLlama3,
	"glm4":         slowLlama3,
	"chatglm-bpe":  slowLlama3,
	"jais-2":       {(&wordRule{lead: true, digits: 3, ladder: true}).split},
	"minicpm5":     {groups(number, 3), (&wordRule{lead: true}).split},

	"qwen2":            slowQwen2,
	"deepseek-r1-qwen": slowQwen2,
	"kormo":            slowQwen2,
	"f2llmv2":          slowQwen2,
	"megrez":           slowQwen2,
	"stablelm2":        slowQwen2,
	"hunyuan":          slowQwen2,
	"solar-open":       slowQwen2,
	"grok-2":           slowQwen2,
	"bailingmoe":       slowQwen2,
	"bailingmoe2":      slowQwen2,
	"llada-moe":        slowQwen2,
	"qwen35":           slowQwen35,
	"ufakzeka":         {(&wordRule{digits: 1}).split},
	"seed-coder":       {(&wordRule{lead: true, digits: 1, after: nothingAfter}).split},
	"exaone-moe":       {(&wordRule{lead: true, digits: 1, spaced: true, after: oneSlash}).split},
	"laguna":           {slowLines, slowQwen2[0]},

	"gpt-4o":                  slowGPT4o,
	"llama4":                  slowGPT4o,
	"kanana2":                 slowGPT4o,
	"talkie":                  slowGPT4o,
	"minimax-m2":              slowGPT4o,
	"granite-embed-multi-97m": slowGPT4o,
	"tekken":                  {(&wordRule{cased: true, digits: 1, after: slashes}).split},
	"kimi-k2":                 {(&wordRule{han: true, tail: true, cased: true, digits: 3}).split},
	"tiny_aya":                slowTinyAya,
	"cohere2moe":              slowTinyAya,
	"youtu":                   {cjkScripts, (&wordRule{tail: true, cased: true, digits: 1, after: slashes}).split},

	"deepseek-llm": {
		each(isLineEnd), runs(true, isCasedLetter), runs(true, isDeepseekSign),
		trailing, runs(false, isEastAsian), groups(number, 0),
	},
	"deepseek-coder": {
		each(isLineEnd), classRuns(true, letter), classRuns(true, Punct),
		runs(false, isEastAsian), groups(number, 1),
	},
	"deepseek-v3":   slowSeek3,
	"hunyuan-dense": slowSeek3,
	"joyai-llm":     slowSeek3,
	"hy_v4":         slowSeek3,
	"spark2_5":      {groups(number, 3), runs(false, isKanaHan), sparkWords, groups(number, 1)},

	"falcon":     {symbolRuns("$+<=>^~|`"), gpt2Words, threes},
	"starcoder":  slowDigits,
	"refact":     slowDigits,
	"command-r":  slowDigits,
	"smollm":     slowDigits,
	"codeshell":  slowDigits,
	"exaone":     slowDigits,
	"minerva-7b": slowDigits,
	"mellum2":    slowDigits,

	"poro-chat":    slowBloom,
	"bloom":        slowBloom,
	"gpt3-finnish": slowBloom,
	"viking":       {slowBloomWords, groups(number, 1)},

	"superbpe":  {groups(number, 0), slowThousands},
	"afmoe":     {groups(number, 0), slowThousands, runs(false, isEastScript), slowDeepseekWords},
	"chameleon": {sentinels, images, indents, groups(number, 1), each(isASCIISign), gpt2Words},

	"gemma4":                   {slowLines},
	"granite-embed-multi-311m": {slowLines},
	"sarvam-moe":               {slowLines},
}
