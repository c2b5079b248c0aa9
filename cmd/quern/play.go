package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A player is a program that plays an audio file.
type player struct {
	name  string
	os    string // "" is any
	args  func(file string) []string
	plays []string // endings; nil is all that quern writes but raw samples
}

// players are looked for in this order.
var players = []player{
	{name: "afplay", os: "darwin", args: func(f string) []string { return []string{f} }, plays: []string{".wav", ".mp3", ".flac"}},
	{name: "powershell", os: "windows", args: func(f string) []string {
		return []string{"-NoProfile", "-Command", "(New-Object Media.SoundPlayer '" + strings.ReplaceAll(f, "'", "''") + "').PlaySync()"}
	}, plays: []string{".wav"}},
	{name: "paplay", args: func(f string) []string { return []string{f} }, plays: []string{".wav", ".flac", ".opus"}},
	{name: "aplay", args: func(f string) []string { return []string{"-q", f} }, plays: []string{".wav"}},
	{name: "ffplay", args: func(f string) []string { return []string{"-nodisp", "-autoexit", "-loglevel", "error", f} }},
}

// advice says what to install where no player is.
var advice = map[string]string{
	"linux": "install paplay (package pulseaudio-utils), aplay (alsa-utils) or ffplay (ffmpeg)",
}

// findPlayer returns a player of files with this ending that is installed.
func findPlayer(ending string) (*player, error) {
	if slices.Contains([]string{".pcm", ".ulaw", ".alaw"}, ending) {
		return nil, usageError{fmt.Errorf("--play: players cannot know what %s files are; write .wav", ending)}
	}
	for _, p := range players {
		if p.os != "" && p.os != runtime.GOOS || ending != "" && p.plays != nil && !slices.Contains(p.plays, ending) {
			continue
		}
		if path, err := exec.LookPath(p.name); err == nil {
			p.name = path
			return &p, nil
		}
	}
	hint, ok := advice[runtime.GOOS]
	if !ok {
		hint = "install ffplay (ffmpeg)"
	}
	if ending != "" && ending != ".wav" {
		hint += ", or write .wav"
	}
	return nil, errors.New("--play: no program that plays sound was found; " + hint)
}

// play plays a file to its end, or until ctx ends.
func (p *player) play(ctx context.Context, file string) error {
	// A name that begins with a dash is no option.
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, p.name, p.args(file)...).CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		text, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%s does not play it: %s", filepath.Base(p.name), cmp.Or(plain(text), err.Error()))
	}
	return nil
}
