// Package player plays audio files with a program of the system.
package player

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

	"quern/cmd/quern/internal/terminal"
)

// A Player is a program that plays an audio file.
type Player struct {
	name  string
	os    string // "" is any
	args  func(file string) []string
	plays []string // endings; nil is all that quern writes but raw samples
}

// players are looked for in this order.
var players = []Player{
	{name: "afplay", os: "darwin", args: func(f string) []string { return []string{f} }, plays: []string{".wav", ".mp3", ".flac", ".aac", ".m4a"}},
	{name: "powershell", os: "windows", args: func(f string) []string {
		return []string{"-NoProfile", "-Command", "(New-Object Media.SoundPlayer '" + strings.ReplaceAll(f, "'", "''") + "').PlaySync()"}
	}, plays: []string{".wav"}},
	{name: "paplay", args: func(f string) []string { return []string{f} }, plays: []string{".wav", ".flac", ".opus"}},
	{name: "aplay", args: func(f string) []string { return []string{"-q", f} }, plays: []string{".wav"}},
	{name: "ffplay", args: func(f string) []string { return []string{"-nodisp", "-autoexit", "-loglevel", "error", f} }},
}

// advice names players to install where there is none.
var advice = map[string]string{
	"linux": "install paplay (package pulseaudio-utils), aplay (alsa-utils) or ffplay (ffmpeg)",
}

// ErrRaw is of files of raw samples, without a header.
var ErrRaw = errors.New("players cannot know what")

// Find returns a player of files with this ending that is installed. ErrRaw is of endings
// that no player has.
func Find(ending string) (*Player, error) {
	if slices.Contains([]string{".pcm", ".ulaw", ".alaw"}, ending) {
		return nil, fmt.Errorf("%w %s files are; write .wav", ErrRaw, ending)
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
	return nil, errors.New("no program that plays sound was found; " + hint)
}

// Play plays a file to its end, or until ctx ends.
func (p *Player) Play(ctx context.Context, file string) error {
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
		return fmt.Errorf("%s does not play it: %s", filepath.Base(p.name), cmp.Or(terminal.Plain(text), err.Error()))
	}
	return nil
}
