package heard

import (
	"strings"
	"unicode"
)

// unspaced are scripts without spaces between words.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

// Unspaced reports whether a character is a letter of a script without spaces between words.
func Unspaced(r rune) bool { return unicode.IsLetter(r) && unicode.IsOneOf(unspaced, r) }

// languages are those Whisper was trained on, in the order of their tokens. The
// last came with large-v3.
//
// Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision",
// 2022, appendix; names as OpenAI's API spells them.
var languages = []struct{ code, name string }{
	{"en", "english"}, {"zh", "chinese"}, {"de", "german"}, {"es", "spanish"}, {"ru", "russian"},
	{"ko", "korean"}, {"fr", "french"}, {"ja", "japanese"}, {"pt", "portuguese"}, {"tr", "turkish"},
	{"pl", "polish"}, {"ca", "catalan"}, {"nl", "dutch"}, {"ar", "arabic"}, {"sv", "swedish"},
	{"it", "italian"}, {"id", "indonesian"}, {"hi", "hindi"}, {"fi", "finnish"}, {"vi", "vietnamese"},
	{"he", "hebrew"}, {"uk", "ukrainian"}, {"el", "greek"}, {"ms", "malay"}, {"cs", "czech"},
	{"ro", "romanian"}, {"da", "danish"}, {"hu", "hungarian"}, {"ta", "tamil"}, {"no", "norwegian"},
	{"th", "thai"}, {"ur", "urdu"}, {"hr", "croatian"}, {"bg", "bulgarian"}, {"lt", "lithuanian"},
	{"la", "latin"}, {"mi", "maori"}, {"ml", "malayalam"}, {"cy", "welsh"}, {"sk", "slovak"},
	{"te", "telugu"}, {"fa", "persian"}, {"lv", "latvian"}, {"bn", "bengali"}, {"sr", "serbian"},
	{"az", "azerbaijani"}, {"sl", "slovenian"}, {"kn", "kannada"}, {"et", "estonian"}, {"mk", "macedonian"},
	{"br", "breton"}, {"eu", "basque"}, {"is", "icelandic"}, {"hy", "armenian"}, {"ne", "nepali"},
	{"mn", "mongolian"}, {"bs", "bosnian"}, {"kk", "kazakh"}, {"sq", "albanian"}, {"sw", "swahili"},
	{"gl", "galician"}, {"mr", "marathi"}, {"pa", "punjabi"}, {"si", "sinhala"}, {"km", "khmer"},
	{"sn", "shona"}, {"yo", "yoruba"}, {"so", "somali"}, {"af", "afrikaans"}, {"oc", "occitan"},
	{"ka", "georgian"}, {"be", "belarusian"}, {"tg", "tajik"}, {"sd", "sindhi"}, {"gu", "gujarati"},
	{"am", "amharic"}, {"yi", "yiddish"}, {"lo", "lao"}, {"uz", "uzbek"}, {"fo", "faroese"},
	{"ht", "haitian creole"}, {"ps", "pashto"}, {"tk", "turkmen"}, {"nn", "nynorsk"}, {"mt", "maltese"},
	{"sa", "sanskrit"}, {"lb", "luxembourgish"}, {"my", "myanmar"}, {"bo", "tibetan"}, {"tl", "tagalog"},
	{"mg", "malagasy"}, {"as", "assamese"}, {"tt", "tatar"}, {"haw", "hawaiian"}, {"ln", "lingala"},
	{"ha", "hausa"}, {"ba", "bashkir"}, {"jw", "javanese"}, {"su", "sundanese"}, {"yue", "cantonese"},
}

// Languages returns the codes of Whisper's languages in the order of their
// tokens. The last is known from large-v3 on.
func Languages() []string {
	list := make([]string, len(languages))
	for i, l := range languages {
		list[i] = l.code
	}
	return list
}

// aliases are other names and codes people write.
var aliases = map[string]string{
	"burmese": "my", "valencian": "ca", "flemish": "nl", "haitian": "ht", "letzeburgesch": "lb",
	"pushto": "ps", "panjabi": "pa", "moldavian": "ro", "moldovan": "ro", "sinhalese": "si",
	"castilian": "es", "mandarin": "zh", "jv": "jw", "nb": "no", "iw": "he", "in": "id", "fil": "tl",
}

// threeLetters are codes of ISO 639-2 and 639-3, each before the code of Whisper's.
var threeLetters = strings.Fields(`eng en zho zh chi zh cmn zh deu de ger de spa es rus ru kor ko fra fr fre fr jpn ja por pt tur tr pol pl cat ca nld nl dut nl ara ar arb ar swe sv ita it ind id hin hi fin fi vie vi
	heb he ukr uk ell el gre el msa ms may ms zsm ms ces cs cze cs ron ro rum ro dan da hun hu tam ta nor no nob no tha th urd ur hrv hr bul bg lit lt lat la mri mi mao mi mal ml cym cy wel cy slk sk slo sk
	tel te fas fa per fa pes fa lav lv lvs lv ben bn srp sr aze az azj az slv sl kan kn est et ekk et mkd mk mac mk bre br eus eu baq eu isl is ice is hye hy arm hy nep ne npi ne mon mn khk mn bos bs kaz kk
	sqi sq alb sq swa sw swh sw glg gl mar mr pan pa sin si khm km sna sn yor yo som so afr af oci oc kat ka geo ka bel be tgk tg snd sd guj gu amh am yid yi ydd yi lao lo uzb uz uzn uz fao fo hat ht pus ps
	tuk tk nno nn mlt mt san sa ltz lb mya my bur my bod bo tib bo tgl tl mlg mg asm as tat tt lin ln hau ha bak ba jav jw sun su`)

// ofThree returns the code of a language by one of threeLetters, or "".
func ofThree(s string) string {
	for i := 0; i < len(threeLetters); i += 2 {
		if s == threeLetters[i] {
			return threeLetters[i+1]
		}
	}
	return ""
}

// LanguageCode returns Whisper's code of a language, given a code or an
// English name in any case; a region after the code ("pt-BR") is left out. It
// returns "" for a text that is no language of Whisper's.
func LanguageCode(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if code := aliases[s]; code != "" {
		return code
	}
	short, _, _ := strings.Cut(strings.ReplaceAll(s, "_", "-"), "-")
	for _, l := range languages {
		if s == l.code || s == l.name || short == l.code {
			return l.code
		}
	}
	if code := aliases[short]; code != "" {
		return code
	}
	return ofThree(short)
}

// LanguageName returns the English name of a language by its code, "" when
// there is none.
func LanguageName(code string) string {
	for _, l := range languages {
		if code == l.code {
			return l.name
		}
	}
	return ""
}
