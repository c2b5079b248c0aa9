package tts

import (
	"slices"
	"strings"
)

// A Stand is a name other services use and the voice that speaks for it.
type Stand struct {
	Name  string // what clients send
	Label string // what people call it
	Voice string
	// Opaque names say nothing to people and are not for lists.
	Opaque bool
}

// stands lists the names OpenAI's clients send, with what speaks for them: the
// first of the voices an engine has.
var stands = []struct {
	name   string
	voices []string
}{
	{"alloy", []string{"af_alloy", "af_sarah"}},
	{"echo", []string{"am_echo", "am_adam"}},
	{"fable", []string{"bm_fable", "bm_george"}},
	{"onyx", []string{"am_onyx", "am_michael"}},
	{"nova", []string{"af_nova", "af_nicole"}},
	{"shimmer", []string{"af_sky"}},
	{"ash", []string{"am_michael"}},
	{"ballad", []string{"bm_lewis"}},
	{"coral", []string{"af_bella"}},
	{"sage", []string{"bf_emma"}},
	{"verse", []string{"am_adam"}},
	{"marin", []string{"bf_isabella"}},
	{"cedar", []string{"bm_george"}},
}

// stock lists the ids of the voices ElevenLabs gives every account, now or once,
// which programs carry in their code. What speaks for one is of its sex and of its
// accent, or American where there is none like it. Where that voice is missing it is
// another whose id begins alike.
var stock = []struct{ id, name, voice string }{
	{"21m00Tcm4TlvDq8ikWAM", "Rachel", "af_sarah"},
	{"29vD33N1CtxCmqQRPOHJ", "Drew", "am_michael"},
	{"2EiwWnXFnvU5JabPnv8n", "Clyde", "am_adam"},
	{"5Q0t7uMcjvnagumLfvZi", "Paul", "am_michael"},
	{"9BWtsMINqrJLrRacOk9x", "Aria", "af_bella"},
	{"AZnzlk1XvdvUeBnXmlld", "Domi", "af_sky"},
	{"CYw3kZ02Hs0563khs1Fj", "Dave", "bm_lewis"},
	{"CwhRBWXzGAHq8TQ4Fs17", "Roger", "am_michael"},
	{"D38z5RcWu1voky8WS1ja", "Fin", "bm_george"}, // Irish
	{"EXAVITQu4vr4xnSDxMaL", "Sarah", "af_sarah"},
	{"ErXwobaYiN019PkySvjV", "Antoni", "am_michael"},
	{"FGY2WhTYpPnrIDTdsKH5", "Laura", "af_sky"},
	{"GBv7mTt0atIp3Br8iCZE", "Thomas", "am_michael"},
	{"IKne3meq5aSn9XLyUdCD", "Charlie", "bm_lewis"}, // Australian
	{"JBFqnCBsd6RMkjVDRZzb", "George", "bm_george"},
	{"LcfcDJNUP1GQjkzn1xUU", "Emily", "af_nicole"},
	{"MF3mGyEYCl7XYWbV9V6O", "Elli", "af_sky"},
	{"N2lVS1w4EtoT3dr4eOWO", "Callum", "am_adam"},
	{"ODq5zmih8GrVes37Dizd", "Patrick", "am_adam"},
	{"SAz9YHcvj6GT2YYXdXww", "River", "af_nicole"}, // neutral
	{"SOYHLrjzK2X1ezoPC6cr", "Harry", "am_michael"},
	{"TX3LPaxmHKxFdv7VOQHJ", "Liam", "am_michael"},
	{"ThT5KcBeYPX3keUQqHPh", "Dorothy", "bf_emma"},
	{"TxGEqnHWrfWFTfGW9XjX", "Josh", "am_adam"},
	{"VR6AewLTigWG4xSOukaG", "Arnold", "am_adam"},
	{"XB0fDUnXU5powFXDhCwa", "Charlotte", "bf_isabella"}, // English and Swedish
	{"Xb7hH8MSUJpSbSDYk0k2", "Alice", "bf_emma"},
	{"XrExE9yKIg1WjnnlVkGX", "Matilda", "af_bella"},
	{"ZQe5CZNOzWyzPSCn5a3c", "James", "bm_george"}, // Australian
	{"Zlb1dXrM653N07WRdFW3", "Joseph", "bm_lewis"},
	{"bIHbv24MWmeRgasZH58o", "Will", "am_michael"},
	{"bVMeCyTHy58xNoL34h3p", "Jeremy", "am_michael"}, // American and Irish
	{"cgSgspJ2msm6clMCkdW9", "Jessica", "af_sky"},
	{"cjVigY5qzO86Huf0OWal", "Eric", "am_michael"},
	{"flq6f7yk4E4fJM5XTYuZ", "Michael", "am_michael"},
	{"g5CIjZEefAph4nQFvHAz", "Ethan", "am_michael"},
	{"hpp4J3VqNfWAUOO0d1Us", "Bella", "af_bella"},
	{"iP95p4xoKVk53GoZ742B", "Chris", "am_michael"},
	{"jBpfuIE2acCO8z3wKNLl", "Gigi", "af_sky"},
	{"jsCqWAovK2LkecY7zXl4", "Freya", "af_bella"},
	{"knrPHWnBmmDHMoiMeP3l", "Santa Claus", "am_adam"},
	{"nPczCjzI2devNBz1zQrb", "Brian", "am_adam"},
	{"oWAxZDx7w5VEj9dCyTzz", "Grace", "af_bella"},
	{"onwK4e9ZLuTAKqWW03F9", "Daniel", "bm_george"},
	{"pFZP5JQG7iQjIQuC4Bku", "Lily", "bf_isabella"},
	{"pMsXgVXv3BLzUgSXRplE", "Serena", "af_sarah"},
	{"pNInz6obpgDQGcFmaJgB", "Adam", "am_adam"},
	{"piTKgcLEGmPE4e6mEKli", "Nicole", "af_nicole"},
	{"pqHfZKP75CvOlQylNhV4", "Bill", "am_adam"},
	{"t0jbNlBVZ17f02VDIeMI", "Jessie", "am_adam"},
	{"wViXBPUzp2ZZixB1xQuM", "Ryan", "am_michael"},
	{"yoZ06aMxZJJ28mfd3POQ", "Sam", "am_michael"},
	{"z9fAnlkpzviPz146aGWa", "Glinda", "af_bella"},
	{"zcAOhNBS3c14rBihAFp1", "Giovanni", "am_michael"}, // English and Italian
	{"zrHiDhphv9ZnVXBqCLjz", "Mimi", "bf_isabella"},    // English and Swedish
}

// Stands returns the names voices can stand for: OpenAI's, then ElevenLabs' ids.
func Stands(voices []Voice) []Stand {
	var out []Stand
	for _, s := range stands {
		for _, id := range s.voices {
			if slices.ContainsFunc(voices, func(v Voice) bool { return v.ID == id }) {
				out = append(out, Stand{Name: s.name, Label: strings.ToUpper(s.name[:1]) + s.name[1:], Voice: id})
				break
			}
		}
	}
	alike := map[string]string{} // the first voice of an accent and sex: "af_"
	for _, v := range voices {
		if len(v.ID) > 3 && v.ID[2] == '_' && alike[v.ID[:3]] == "" {
			alike[v.ID[:3]] = v.ID
		}
	}
	for _, s := range stock {
		id := s.voice
		if !slices.ContainsFunc(voices, func(v Voice) bool { return v.ID == id }) {
			id = alike[id[:3]]
		}
		if id != "" {
			out = append(out, Stand{Name: s.id, Label: s.name, Voice: id, Opaque: true})
		}
	}
	return out
}
