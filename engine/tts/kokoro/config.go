package kokoro

import (
	"encoding/json"
	"fmt"

	"quern/formats/weights"
)

// Rate is the sample rate of the model, in Hz.
const Rate = 24000

// A config holds what tensor shapes do not tell, as config.json spells it.
type config struct {
	Tokens int `json:"n_token"`
	Bert   struct {
		Heads  int `json:"num_attention_heads"`
		Layers int `json:"num_hidden_layers"`
	} `json:"plbert"`
	ISTFT struct {
		Size int `json:"gen_istft_n_fft"`
		Hop  int `json:"gen_istft_hop_size"`
	} `json:"istftnet"`
	Vocab map[string]int `json:"vocab"`
}

// readConfig reads config.json. What it leaves out, or all of it where there is
// no such file, is as published for Kokoro-82M.
func readConfig(data []byte) (*config, error) {
	c := &config{Tokens: 178}
	c.Bert.Heads, c.Bert.Layers = 12, 12
	c.ISTFT.Size, c.ISTFT.Hop = 20, 5
	if len(data) > 0 {
		if err := json.Unmarshal(data, c); err != nil {
			return nil, fmt.Errorf("%w: config.json: %w", weights.ErrFormat, err)
		}
	}
	if c.Tokens < 1 || c.Tokens > 1<<16 {
		return nil, fmt.Errorf("%w: config.json: %d symbols", weights.ErrFormat, c.Tokens)
	}
	return c, nil
}

// ids returns the table from symbols to numbers.
func (c *config) ids() (map[rune]int, error) {
	if len(c.Vocab) == 0 {
		return symbols, nil
	}
	out := make(map[rune]int, len(c.Vocab))
	for s, id := range c.Vocab {
		r := []rune(s)
		if len(r) != 1 || id <= 0 || id >= c.Tokens {
			return nil, fmt.Errorf("%w: config.json: symbol %q has number %d of %d", weights.ErrFormat, s, id, c.Tokens)
		}
		out[r[0]] = id
	}
	return out, nil
}

// symbols is the published table: what is not in it has no sound.
var symbols = map[rune]int{
	';': 1, ':': 2, ',': 3, '.': 4, '!': 5, '?': 6, '—': 9, '…': 10, '"': 11, '(': 12,
	')': 13, '“': 14, '”': 15, ' ': 16, '\u0303': 17, 'ʣ': 18, 'ʥ': 19, 'ʦ': 20, 'ʨ': 21, 'ᵝ': 22,
	'ꭧ': 23, 'A': 24, 'I': 25, 'O': 31, 'Q': 33, 'S': 35, 'T': 36, 'W': 39, 'Y': 41, 'ᵊ': 42,
	'a': 43, 'b': 44, 'c': 45, 'd': 46, 'e': 47, 'f': 48, 'h': 50, 'i': 51, 'j': 52, 'k': 53,
	'l': 54, 'm': 55, 'n': 56, 'o': 57, 'p': 58, 'q': 59, 'r': 60, 's': 61, 't': 62, 'u': 63,
	'v': 64, 'w': 65, 'x': 66, 'y': 67, 'z': 68, 'ɑ': 69, 'ɐ': 70, 'ɒ': 71, 'æ': 72, 'β': 75,
	'ɔ': 76, 'ɕ': 77, 'ç': 78, 'ɖ': 80, 'ð': 81, 'ʤ': 82, 'ə': 83, 'ɚ': 85, 'ɛ': 86, 'ɜ': 87,
	'ɟ': 90, 'ɡ': 92, 'ɥ': 99, 'ɨ': 101, 'ɪ': 102, 'ʝ': 103, 'ɯ': 110, 'ɰ': 111, 'ŋ': 112, 'ɳ': 113,
	'ɲ': 114, 'ɴ': 115, 'ø': 116, 'ɸ': 118, 'θ': 119, 'œ': 120, 'ɹ': 123, 'ɾ': 125, 'ɻ': 126, 'ʁ': 128,
	'ɽ': 129, 'ʂ': 130, 'ʃ': 131, 'ʈ': 132, 'ʧ': 133, 'ʊ': 135, 'ʋ': 136, 'ʌ': 138, 'ɣ': 139, 'ɤ': 140,
	'χ': 142, 'ʎ': 143, 'ʒ': 147, 'ʔ': 148, 'ˈ': 156, 'ˌ': 157, 'ː': 158, 'ʰ': 162, 'ʲ': 164, '↓': 169,
	'→': 171, '↗': 172, '↘': 173, 'ᵻ': 177,
}
