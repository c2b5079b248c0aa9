package httpapi

import (
	"slices"
	"strconv"
	"strings"

	"quern/codecs"
)

// A sound is a form speech can be answered in.
type sound struct {
	codecs.Encoding
	rate    int // Hz; 0 is the voice's own
	bitrate int // bit/s; 0 is the encoding's own
}

// sized says whether its header tells its length, so that it is answered in one
// piece unless a stream is wanted.
func (s *sound) sized() bool { return s.Name == "wav" }

func (s *sound) options(streamed bool) codecs.EncodeOptions {
	return codecs.EncodeOptions{Rate: s.rate, Bitrate: s.bitrate, Speech: true, Streamed: streamed}
}

// speechBitrate is what a voice needs as MP3 to sound as made.
const speechBitrate = 64000

// clientFormats are the values of response_format OpenAI's clients know. Those are
// offered that codecs can write.
var clientFormats = []string{"mp3", "opus", "aac", "flac", "wav", "pcm"}

// formats are the values of response_format that can be made of encodings.
func formats(encodings []codecs.Encoding) []string {
	return slices.DeleteFunc(slices.Clone(clientFormats), func(name string) bool {
		return !slices.ContainsFunc(encodings, func(e codecs.Encoding) bool { return e.Name == name })
	})
}

// readFormat reads response_format; nil after an error.
func readFormat(o *object) *sound {
	name := "mp3"
	v, ok := o.get("response_format")
	if ok {
		name = v.str()
	}
	if offered := formats(codecs.Encodings()); ok && !slices.Contains(offered, name) {
		v.invalid("must be one of %s, got %.60q", strings.Join(offered, ", "), name)
		return nil
	}
	s, err := newSound(name, 0, 0)
	if err != nil {
		o.p.set(fail(codeInternal, "", "%v", err))
		return nil
	}
	if name == "mp3" {
		s.bitrate = speechBitrate
	}
	return s
}

func newSound(encoding string, rate, bitrate int) (*sound, error) {
	e, err := codecs.EncodingByName(encoding)
	return &sound{e, rate, bitrate}, err
}

// vendorFormats are ElevenLabs' families of output_format: encoding, rates, and
// the bitrates in kbit/s that stand behind a rate.
var vendorFormats = map[string]struct {
	encoding string
	rates    map[int][]int
}{
	"mp3":  {"mp3", map[int][]int{22050: {32}, 24000: {48}, 44100: {32, 64, 96, 128, 192}}},
	"pcm":  {"pcm", anyRate},
	"wav":  {"wav", anyRate},
	"ulaw": {"mulaw", map[int][]int{8000: nil}},
	"alaw": {"alaw", map[int][]int{8000: nil}},
	"opus": {"opus", map[int][]int{48000: {32, 64, 96, 128, 192}}},
}

var anyRate = map[int][]int{8000: nil, 16000: nil, 22050: nil, 24000: nil, 32000: nil, 44100: nil, 48000: nil}

// vendorFormat is ElevenLabs' default.
const vendorFormat = "mp3_44100_128"

// vendorSound returns the sound a name like "mp3_44100_128" stands for.
func vendorSound(name string) (*sound, bool) {
	parts := strings.Split(name, "_")
	if len(parts) < 2 {
		return nil, false
	}
	f := vendorFormats[parts[0]]
	rate, _ := strconv.Atoi(parts[1])
	kbps, ok := f.rates[rate]
	switch {
	case !ok:
		return nil, false
	case kbps == nil && len(parts) == 2:
		s, err := newSound(f.encoding, rate, 0)
		return s, err == nil
	case len(parts) != 3:
		return nil, false
	}
	k, _ := strconv.Atoi(parts[2])
	if !slices.Contains(kbps, k) {
		return nil, false
	}
	s, err := newSound(f.encoding, rate, 1000*k)
	return s, err == nil
}
