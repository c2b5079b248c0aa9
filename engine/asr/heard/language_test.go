package heard_test

import (
	"slices"
	"testing"

	"quern/engine/asr/heard"
)

func TestLanguageCode(t *testing.T) {
	for s, want := range map[string]string{
		"en": "en", "EN-us": "en", "English": "en", "pt_BR": "pt", "eng": "en", "deu": "de", "ger": "de", "zho": "zh", "cmn": "zh", "fil": "tl", "haw": "haw", "yue": "yue", "jav": "jw",
		"nob": "no", "hat": "ht", "": "", "xx": "", "zzz": "", "klingon": "", "g e": "",
	} {
		if got := heard.LanguageCode(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	// Every language of two letters has one of three.
	var by []string
	for _, a := range "abcdefghijklmnopqrstuvwxyz" {
		for _, b := range "abcdefghijklmnopqrstuvwxyz" {
			for _, c := range "abcdefghijklmnopqrstuvwxyz" {
				if code := heard.LanguageCode(string([]rune{a, b, c})); code != "" {
					by = append(by, code)
				}
			}
		}
	}
	for _, code := range heard.Languages() {
		if !slices.Contains(by, code) {
			t.Errorf("%s has no code of three letters", code)
		}
	}
}
