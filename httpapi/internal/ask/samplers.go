package ask

import (
	"slices"
	"strings"

	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// samplers are the filters of a draw by llama.cpp's names, with the function that leaves each out.
var samplers = map[string]func(*Sampling){
	"top_k":       func(s *Sampling) { s.TopK = new(int) },
	"top_p":       func(s *Sampling) { s.TopP = new(float32(1)) },
	"min_p":       func(s *Sampling) { s.MinP = new(float32) },
	"typ_p":       func(s *Sampling) { s.TypicalP = new(float32) },
	"temperature": func(s *Sampling) { s.Temperature = new(float32(1)) },
	"penalties": func(s *Sampling) {
		s.RepeatPenalty, s.FrequencyPenalty, s.PresencePenalty = new(float32(1)), 0, 0
	},
}

// samplerLetters are the samplers in llama.cpp's older form, a text.
var samplerLetters = map[rune]string{'e': "penalties", 'd': "dry", 'k': "top_k", 'y': "typ_p", 'p': "top_p", 's': "top_n_sigma", 'm': "min_p", 't': "temperature", 'x': "xtc", 'i': "infill"}

// offSamplers do nothing here, as they do nothing there unless their fields are set.
var offSamplers = []string{"dry", "xtc", "top_n_sigma"}

// maxSamplers bounds the names in a warning.
const maxSamplers = 256

// Samplers reads the filters of a draw from llama-server's field: those that are not
// named are left out. Their order is this server's.
func Samplers(c *server.Call, o *body.Object, s *Sampling) {
	v, ok := o.Get("samplers")
	if !ok {
		return
	}
	named := map[string]bool{}
	var other []string
	name := func(name string) {
		if name == "typical_p" {
			name = "typ_p"
		}
		if samplers[name] == nil && !slices.Contains(offSamplers, name) && !named[name] && len(other) < maxSamplers {
			other = append(other, name)
		}
		named[name] = true
	}
	if v.Kind() == '"' {
		for _, letter := range v.Str() {
			if full, ok := samplerLetters[letter]; ok {
				name(full)
			} else {
				name(string(letter))
			}
		}
	} else {
		for item := range v.Items() {
			name(item.Str())
		}
	}
	for name, leaveOut := range samplers {
		if !named[name] {
			leaveOut(s)
		}
	}
	if other != nil {
		c.Warn("samplers: not here, and left out: " + strings.Join(other, ", "))
	}
}
