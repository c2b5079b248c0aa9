package ssml

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"quern/engine/tts/g2p"
)

// Bounds of prosody.
const (
	minRate, maxRate = 0.5, 2.0
	maxPitch         = 12.0 // semitones either way
	maxVolume        = 12.0 // decibels up
	silent           = -96.0
)

func prosody(p *parser, e *element, a map[string]string) error {
	if len(a) == 0 {
		return errors.New("<prosody> needs rate, pitch or volume")
	}
	d := &e.delivery
	if s := a["rate"]; s != "" {
		rate, relative, err := rateOf(s)
		if err != nil {
			return err
		}
		if relative && d.Rate > 0 {
			rate *= d.Rate
		}
		if !(rate >= minRate && rate <= maxRate) {
			return fmt.Errorf("rate=%q of <prosody> makes %.3g times the tempo; there are %g to %g", s, rate, minRate, maxRate)
		}
		d.Rate = rate
	}
	if s := a["pitch"]; s != "" {
		pitch, relative, err := pitchOf(s)
		if err != nil {
			return err
		}
		if relative {
			pitch += d.Pitch
		}
		if !(math.Abs(pitch) <= maxPitch) {
			return fmt.Errorf("pitch=%q of <prosody> makes %.3g semitones; there are %g either way", s, pitch, maxPitch)
		}
		d.Pitch = pitch
	}
	if s := a["volume"]; s != "" {
		volume, relative, err := volumeOf(s)
		if err != nil {
			return err
		}
		if relative {
			volume += d.Volume
		}
		if volume > maxVolume {
			return fmt.Errorf("volume=%q of <prosody> makes %.3g dB more; the most is %g", s, volume, maxVolume)
		}
		d.Volume = max(volume, silent)
	}
	p.mark(e, g2p.Mark{})
	return nil
}

// number reads a number with a unit behind it.
func number(s, unit string) (float64, bool) {
	digits, ok := strings.CutSuffix(s, unit)
	if !ok || strings.ContainsAny(digits, "xXpPiInN_") {
		return 0, false
	}
	x, err := strconv.ParseFloat(digits, 64)
	return x, err == nil
}

func signed(s string) bool { return strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") }

func rateOf(s string) (rate float64, relative bool, err error) {
	if r, ok := map[string]float64{"x-slow": 0.5, "slow": 0.75, "medium": 1, "default": 1, "fast": 1.4, "x-fast": 1.9}[s]; ok {
		return r, false, nil
	}
	if x, ok := number(s, "%"); ok {
		if signed(s) {
			x += 100
		}
		return x / 100, true, nil
	}
	if x, ok := number(s, ""); ok && !signed(s) {
		return x, true, nil
	}
	return 0, false, fmt.Errorf("rate=%q of <prosody> is not supported; write slow, 80%%, +10%% or 1.2", s)
}

func pitchOf(s string) (semitones float64, relative bool, err error) {
	if st, ok := map[string]float64{"x-low": -6, "low": -3, "medium": 0, "default": 0, "high": 3, "x-high": 6}[s]; ok {
		return st, false, nil
	}
	if x, ok := number(s, "st"); ok && signed(s) {
		return x, true, nil
	}
	if x, ok := number(s, "%"); ok && signed(s) && x > -100 {
		return 12 * math.Log2(1+x/100), true, nil
	}
	return 0, false, fmt.Errorf("pitch=%q of <prosody> is not supported; write low, +2st or -10%%", s)
}

func volumeOf(s string) (decibels float64, relative bool, err error) {
	if db, ok := map[string]float64{"silent": silent, "x-soft": -12, "soft": -6, "medium": 0, "default": 0, "loud": 4, "x-loud": 8}[s]; ok {
		return db, false, nil
	}
	if x, ok := number(s, "dB"); ok && signed(s) {
		return x, true, nil
	}
	return 0, false, fmt.Errorf("volume=%q of <prosody> is not supported; write soft, loud or -6dB", s)
}
