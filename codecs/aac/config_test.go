package aac

import (
	"errors"
	"strings"
	"testing"
)

// fields writes bit fields given as value, size pairs.
func fields(pairs ...int) []byte {
	var p []byte
	n := 0
	for i := 0; i < len(pairs); i += 2 {
		for b := pairs[i+1] - 1; b >= 0; b-- {
			if n%8 == 0 {
				p = append(p, 0)
			}
			p[n/8] |= byte(pairs[i]>>b&1) << (7 - n%8)
			n++
		}
	}
	return p
}

func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		asc                    []byte
		rate, channels, frames int
		profile                string
	}{
		{"LC", fields(2, 5, 4, 4, 2, 4, 0, 3), 44100, 2, 1024, "AAC-LC"},
		{"960", fields(2, 5, 3, 4, 1, 4, 4, 3), 48000, 1, 960, "AAC-LC"},
		{"rate spelled out", fields(2, 5, 15, 4, 44000, 24, 1, 4, 0, 3), 44000, 1, 1024, "AAC-LC"},
		{"7.1", fields(2, 5, 3, 4, 12, 4, 0, 3), 48000, 8, 1024, "AAC-LC"},
		{"explicit SBR", fields(5, 5, 7, 4, 2, 4, 4, 4, 2, 5, 0, 3), 22050, 2, 1024, "HE-AAC"},
		{"explicit PS", fields(29, 5, 7, 4, 1, 4, 4, 4, 2, 5, 0, 3), 22050, 1, 1024, "HE-AAC v2"},
		{"SBR for those who look", fields(2, 5, 7, 4, 2, 4, 0, 3, 0x2b7, 11, 5, 5, 1, 1, 4, 4), 22050, 2, 1024, "HE-AAC"},
		{"PS for those who look", fields(2, 5, 7, 4, 1, 4, 0, 3, 0x2b7, 11, 5, 5, 1, 1, 4, 4, 0x548, 11, 1, 1), 22050, 1, 1024, "HE-AAC v2"},
		{"no SBR for those who look", fields(2, 5, 4, 4, 1, 4, 0, 3, 0x2b7, 11, 5, 5, 0, 1), 44100, 1, 1024, "AAC-LC"},
		{"2.1 described", fields(2, 5, 3, 4, 0, 4, 0, 3,
			0, 4, 1, 2, 3, 4, 1, 4, 0, 4, 0, 4, 1, 2, 0, 3, 0, 4, 0, 3, // counts
			1, 1, 0, 4, 0, 4, 0, 7, 0, 8), 48000, 3, 1024, "AAC-LC"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := NewDecoder(tt.asc)
			if err != nil {
				t.Fatal(err)
			}
			if d.Rate() != tt.rate || d.Channels() != tt.channels || d.Frames() != tt.frames || d.Profile() != tt.profile {
				t.Errorf("%d Hz, %d channels, %d frames, %s; want %d, %d, %d, %s",
					d.Rate(), d.Channels(), d.Frames(), d.Profile(), tt.rate, tt.channels, tt.frames, tt.profile)
			}
			if got, want := d.Core(), tt.profile != "AAC-LC"; got != want {
				t.Errorf("core %v, want %v", got, want)
			}
		})
	}
}

func TestConfigErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		asc  []byte
		err  error
		text string
	}{
		{"nothing", nil, ErrFormat, "early"},
		{"cut", []byte{0x12}, ErrFormat, "early"},
		{"Main", fields(1, 5, 4, 4, 2, 4, 0, 3), ErrUnsupported, "AAC Main"},
		{"SSR", fields(3, 5, 4, 4, 2, 4, 0, 3), ErrUnsupported, "AAC SSR"},
		{"LTP", fields(4, 5, 4, 4, 2, 4, 0, 3), ErrUnsupported, "AAC LTP"},
		{"ELD", fields(31, 5, 39-32, 6, 4, 4, 2, 4, 0, 8), ErrUnsupported, "ELD"},
		{"USAC", fields(31, 5, 42-32, 6, 4, 4, 2, 4, 0, 8), ErrUnsupported, "USAC"},
		{"unknown", fields(31, 5, 60, 6, 4, 4, 2, 4, 0, 8), ErrUnsupported, "type 92"},
		{"reserved rate", fields(2, 5, 13, 4, 2, 4, 0, 3), ErrFormat, "rate"},
		{"rate of 1 Hz", fields(2, 5, 15, 4, 1, 24, 2, 4, 0, 3), ErrUnsupported, "1 Hz"},
		{"22.2", fields(2, 5, 3, 4, 13, 4, 0, 3), ErrUnsupported, "configuration 13"},
		{"core coder", fields(2, 5, 3, 4, 2, 4, 0, 1, 1, 1, 0, 15), ErrUnsupported, "core coder"},
		{"description cut", fields(2, 5, 3, 4, 0, 4, 0, 3, 0, 4), ErrFormat, "description"},
		{"no channels described", fields(2, 5, 3, 4, 0, 4, 0, 3, 0, 32, 0, 32), ErrUnsupported, "channels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewDecoder(tt.asc)
			if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %v with %q", err, tt.err, tt.text)
			}
		})
	}
}
