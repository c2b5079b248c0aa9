package ask

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"quern/engine"
	"quern/httpapi/transcript"
)

// A Logprob is a token in OpenAI's form.
type Logprob struct {
	Token   string        `json:"token"`
	Logprob float32       `json:"logprob"`
	Bytes   []int         `json:"bytes"` // clients join them to rebuild split characters
	Top     []Alternative `json:"top_logprobs"`
}

// An Alternative is a token that could have come.
type Alternative struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// Logprobs lists at most top alternatives a token.
func Logprobs(entries []engine.Logprob, top int) []Logprob {
	out := make([]Logprob, 0, len(entries))
	for _, e := range entries {
		t := Logprob{Token: TokenText(e.Bytes), Logprob: Finite(e.Logprob), Bytes: transcript.Ints(e.Bytes), Top: []Alternative{}}
		for _, alt := range e.Top[:min(top, len(e.Top))] {
			t.Top = append(t.Top, Alternative{TokenText(alt.Bytes), Finite(alt.Logprob), transcript.Ints(alt.Bytes)})
		}
		out = append(out, t)
	}
	return out
}

// Finite replaces numbers that JSON lacks: -Inf of impossible tokens.
func Finite(x float32) float32 {
	if math.IsInf(float64(x), 0) || math.IsNaN(float64(x)) || x < -9999 {
		return -9999
	}
	return x
}

// TokenText spells a token. Bytes that are no whole character become \xNN.
func TokenText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			s.WriteString(`\x`)
			if b[0] < 16 {
				s.WriteByte('0')
			}
			s.WriteString(strconv.FormatUint(uint64(b[0]), 16))
		} else {
			s.Write(b[:n])
		}
		b = b[n:]
	}
	return s.String()
}
