package eleven

import (
	"slices"
	"strconv"
	"strings"

	"quern/httpapi/internal/audio"
)

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
func vendorSound(name string) (*audio.Sound, bool) {
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
		s, err := audio.NewSound(f.encoding, rate, 0)
		return s, err == nil
	case len(parts) != 3:
		return nil, false
	}
	k, _ := strconv.Atoi(parts[2])
	if !slices.Contains(kbps, k) {
		return nil, false
	}
	s, err := audio.NewSound(f.encoding, rate, 1000*k)
	return s, err == nil
}
