package tts

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// voices is a synthesiser with a voice of each language, which keeps what it is asked for.
type voices struct {
	plain
	heard *strings.Builder
}

func (voices) Voices() []Voice {
	var out []Voice
	for _, id := range []string{"af_bella", "bf_emma", "ef_dora", "ff_siwis", "if_sara", "pf_dora", "hf_alpha", "hm_omega", "jf_alpha", "zf_xiaobei"} {
		out = append(out, describe(id))
	}
	return out
}

func (s voices) Speak(ctx context.Context, symbols []rune, voice string, speed float64, seed uint64) ([]float32, []int, error) {
	s.heard.WriteString(string(symbols))
	return s.plain.Speak(ctx, symbols, voice, speed, seed)
}

// A text is read in the language of the voice, or in the one that is asked for; what
// cannot be read is refused before anything is heard.
func TestLanguageOfSpeech(t *testing.T) {
	p, err := NewPronouncer(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		voice, language, text string
		want                  string // of the symbols, or of the error
		err                   error
	}{
		{"ef_dora", "", "chico", "ʧˈiko", nil},
		{"ef_dora", "es-MX", "chico", "ʧˈiko", nil},
		{"af_bella", "e", "chico", "ʧˈiko", nil},
		{"ff_siwis", "", "les amis", "lez amˈi", nil},
		{"if_sara", "", "gli amici", "ʎɪ amˈiʧɪ", nil},
		{"pf_dora", "pt", "não", "nˈɐ̃ʊ̃", nil},
		{"hf_alpha", "", "भारत में TV", "bʰˈaːɾət mẽː ʈˌiːʋˈi", nil},
		{"af_bella", "hi-IN", "लड़का १०", "lˈʌr.kˌaː dˈʌs", nil},
		{"hm_omega", "", "<speak xml:lang='hi'>नमस्ते</speak>", "nəmˈʌsteː", nil},
		{"hf_alpha", "", "नमस्ते привет", "Cyrillic", ErrScript},
		{"ef_dora", "en", "the cat", "ðə kˈæt", nil},
		{"bf_emma", "en", "bath", "bˈɑːθ", nil},
		{"ef_dora", "", "<speak xml:lang='it-IT'>gli</speak>", "ʎˈɪ", nil},
		{"ef_dora", "", "<speak><phoneme ph='ˈɲu'>x</phoneme></speak>", "ɲˈu", nil},
		{"ef_dora", "", "hola привет", "Cyrillic", ErrScript},
		{"if_sara", "", "日本", "Han", ErrScript},
		{"jf_alpha", "", "こんにちは、世界！", "koɲɲiʨiβa, sekai!", nil},
		{"jf_alpha", "", "<speak>3本の<phoneme ph='kawa'>川</phoneme><break time='1s'/></speak>", "samboɴ no kawa", nil},
		{"jf_alpha", "", "<speak><say-as interpret-as='fraction'>3/4</say-as>、<say-as interpret-as='characters'>A1</say-as></speak>", "joɴ bɯnno saɴ, eː iʨi", nil},
		{"jf_alpha", "", "日本 привет", "Cyrillic", ErrScript},
		{"jf_alpha", "", "您", "no letter of Japanese", ErrScript},
		{"zf_xiaobei", "ja", "日本", "ɲihoɴ", nil},
		{"zf_xiaobei", "", "你好，世界！", "ni↗xau↓, ʂɨ↘ʨje↘!", nil},
		{"zf_xiaobei", "", "一個iPhone。", "i↗kɤ↘ ˈIfˌOn.", nil},
		{"zf_xiaobei", "", "<speak>银<phoneme ph='xaŋ'>行</phoneme>，<emphasis>很</emphasis>好<break time='1s'/></speak>", "i↗n xaŋ, xə↗n xau↓", nil},
		{"zf_xiaobei", "", "<speak><say-as interpret-as='fraction'>3/4</say-as>，<say-as interpret-as='characters'>A中</say-as></speak>", "sɨ↘fə→n ꭧɨ→sa→n, ˈA ꭧʊ→ŋ", nil},
		{"af_bella", "zh-Hant-TW", "音樂", "i→nɥe↘", nil},
		{"zf_xiaobei", "", "你好 こんにちは", "Hiragana", ErrScript},
		{"zf_xiaobei", "zh-HK", "你好", `"yue", Cantonese`, ErrLanguage},
		{"zf_xiaobei", "yue", "你好", `"yue"`, ErrLanguage},
		{"af_bella", "ja-JP", "日本", "ɲihoɴ", nil},
		{"af_bella", "pt-PT", "bom dia", `"pt-pt"`, ErrLanguage},
	} {
		s := voices{plain{400}, &strings.Builder{}}
		var got error
		for _, err := range Speak(t.Context(), s, p, Request{Text: tt.text, Voice: tt.voice, Speed: 1, Language: tt.language, SSML: IsSSML(tt.text)}) {
			got = err
		}
		switch {
		case tt.err != nil && (!errors.Is(got, tt.err) || !strings.Contains(got.Error(), tt.want) || s.heard.Len() > 0):
			t.Errorf("%s %q: got %v behind %q, want %v with %s", tt.voice, tt.text, got, s.heard, tt.err, tt.want)
		case tt.err == nil && (got != nil || s.heard.String() != tt.want):
			t.Errorf("%s %q: got %q, %v, want %q", tt.voice, tt.text, s.heard, got, tt.want)
		}
	}
	// The built-in voice has the sounds of English only.
	for _, language := range []string{"es", "hi", "zh", "ja"} {
		for _, err := range Speak(t.Context(), Formant(), p, Request{Text: "perro", Voice: "af_bella", Speed: 1, Language: language}) {
			if !errors.Is(err, ErrUnable) {
				t.Errorf("the built-in voice speaks %s: %v", language, err)
			}
		}
	}
}
