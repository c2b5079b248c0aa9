package asr

import (
	"errors"
	"math"
	"slices"
	"strings"
	"unicode"

	"quern/engine/asr/audio"
	"quern/engine/token"
)

// errStopped says that the caller wants no more segments.
var errStopped = errors.New("stopped")

// GuardLength lets a window have this many tokens, times included: fast speech
// has five words a second, and scripts with a token for each character come to
// the same.
const (
	tokensAtLeast   = 24
	tokensPerSecond = 15
)

// guard removes text that was not spoken from the segments of a window, and those that
// are empty.
func (c *clip) guard(list []Segment) []Segment {
	m, o := c.t.m, c.t.o
	if o.On(GuardRepeats) {
		for i := range list {
			m.collapse(&list[i])
		}
	}
	return slices.DeleteFunc(list, func(s Segment) bool {
		return s.Start == s.End || strings.TrimSpace(s.Text) == "" ||
			o.On(GuardRepeats) && (s.Repaired && m.oneToken(s.Tokens) || c.again(&s)) ||
			o.On(GuardSignOff) && signsOff(s.Text) && (s.NoSpeechProb > signOffNoSpeech || c.quiet(&s))
	})
}

// oneToken reports whether the text of a segment is a single token.
func (m *Model) oneToken(tokens []token.ID) bool {
	count := 0
	for _, id := range tokens {
		if id < m.special.eot {
			count++
		}
	}
	return count == 1
}

// signOffs are phrases that videos end with. Whisper writes them under silence and
// music. They are compared without case and punctuation.
var signOffs = []string{
	"thank you for watching", "thanks for watching", "thank you so much for watching", "please subscribe",
	"like and subscribe", "please like and subscribe", "don t forget to subscribe", "subscribe to my channel",
	"thank you", "thank you very much", "bye", "bye bye", "see you next time", "see you in the next video",
	"subtitles by the amara org community", "sous titres réalisés par la communauté d amara org",
	"untertitel der amara org community", "untertitel im auftrag des zdf", "vielen dank", "merci d avoir regardé cette vidéo",
	"gracias por ver el video", "obrigado por assistir", "sottotitoli creati dalla comunità amara org",
	"продолжение следует", "спасибо за просмотр", "ご視聴ありがとうございました", "谢谢观看", "感谢观看", "시청해주셔서 감사합니다",
}

// signOffNoSpeech is the probability of silence from which a sign-off is not
// believed. It is lower than that for other text.
const signOffNoSpeech = 0.3

// quietSignOff is how far the loudest moment of a segment may lie below the
// loudest one so far, in powers of ten, before a sign-off in it is not believed:
// speakers do not say goodbye 30 dB more quietly than the rest.
const quietSignOff = 3

// quiet reports whether the audio of a segment, with times of the clip, is.
func (c *clip) quiet(s *Segment) bool {
	level, loudest := c.frames.Loudest(int(s.Start*audio.FrameRate), int(math.Ceil(s.End*audio.FrameRate)))
	return level < loudest-quietSignOff
}

func signsOff(text string) bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.Contains(signOffs, strings.Join(words, " "))
}
