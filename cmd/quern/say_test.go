package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// say prints which file it wrote, and leaves none that is not whole.
func TestSay(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, tt := range []struct {
		args []string
		file string
		head string
	}{
		{nil, "speech.wav", "RIFF"},
		{[]string{"-o", "hello.flac"}, "hello.flac", "fLaC"},
		{[]string{"-o", "hello.opus"}, "hello.opus", "OggS"},
	} {
		code, out, errs := quern(t, "", nil, append(append([]string{"say"}, tt.args...), "Hello", "there.")...)
		if code != 0 || errs != "" || !strings.HasPrefix(out, tt.file+": ") || !strings.HasSuffix(out, " s of speech\n") {
			t.Errorf("%v: exit code %d, %q, %q", tt.args, code, out, errs)
		}
		if b, err := os.ReadFile(tt.file); err != nil || !strings.HasPrefix(string(b), tt.head) {
			t.Errorf("%s: %.10q, %v", tt.file, b, err)
		}
	}
	size := func(name string) float64 {
		if code, _, errs := quern(t, "", nil, "say", "-o", name, "Hello there."); code != 0 {
			t.Fatalf("%s: exit code %d, %q", name, code, errs)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return float64(len(b))
	}
	wide := size("hello.pcm") / 2 / 24000 // seconds
	for _, name := range []string{"hello.ulaw", "hello.alaw"} {
		if got := size(name) / 8000; got < wide-0.01 || got > wide+0.01 {
			t.Errorf("%s has %.2f s of 8 kHz, want %.2f", name, got, wide)
		}
	}
	code, out, errs := quern(t, "", nil, "say", "-o", "-", "Hello")
	if code != 0 || errs != "" || !strings.HasPrefix(out, "RIFF") {
		t.Errorf("-: exit code %d, %.10q, %q", code, out, errs)
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, errs := quern(t, "", nil, "say", "-o", "nothing.wav", "🦄"); code != 1 || !strings.Contains(errs, "nothing in it that can be spoken") {
		t.Errorf("nothing to say: exit code %d, %q", code, errs)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		if err := os.Symlink("/dev/full", "full.wav"); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := quern(t, "", nil, "say", "-o", "full.wav", "Hello"); code != 1 || out != "" || errs != "quern: full.wav: no space left on device\n" {
			t.Errorf("full disk: exit code %d, %q, %q", code, out, errs)
		}
		if err := os.Remove("full.wav"); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("left: %v, %v", after, err)
	}
}

// --play hands a WAV file to a program that is installed, or says what to install.
func TestPlay(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the programs of Linux")
	}
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Skip("no sh")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", dir)
	code, out, errs := quern(t, "", nil, "say", "--play", "Hello")
	if code != 1 || out != "" || !strings.Contains(errs, "--play: no program that plays sound was found; install paplay") {
		t.Errorf("no player: exit code %d, %q, %q", code, out, errs)
	}
	script := "#!" + sh + "\nread -r head < \"$2\"\necho \"$1 ${head%%[!R]*} $2\" >> " + filepath.Join(dir, "played") + "\n"
	if err := os.WriteFile("aplay", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := quern(t, "", nil, "say", "--play", "Hello"); code != 0 || out != "" || errs != "" {
		t.Errorf("played: exit code %d, %q, %q", code, out, errs)
	}
	if code, out, errs := quern(t, "", nil, "say", "-p", "-o", "a.wav", "Hello"); code != 0 || !strings.HasPrefix(out, "a.wav: ") || errs != "" {
		t.Errorf("written and played: exit code %d, %q, %q", code, out, errs)
	}
	played, err := os.ReadFile("played")
	lines := strings.Split(strings.TrimSpace(string(played)), "\n")
	if err != nil || len(lines) != 2 || !strings.HasPrefix(lines[0], "-q R") || !strings.HasSuffix(lines[1], filepath.Join(dir, "a.wav")) {
		t.Errorf("played %q, %v", played, err)
	}
	if _, err := os.Stat(strings.Fields(lines[0])[2]); err == nil {
		t.Errorf("%s is left", lines[0])
	}
	if _, err := os.Stat("speech.wav"); err == nil {
		t.Error("--play wrote speech.wav")
	}
	if err := os.WriteFile("aplay", []byte("#!"+sh+"\necho no sound card >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := quern(t, "", nil, "say", "--play", "Hello"); code != 1 || errs != "quern: aplay does not play it: no sound card\n" {
		t.Errorf("a player that fails: exit code %d, %q", code, errs)
	}
	for args, want := range map[string]string{
		"--play -o x.pcm": "players cannot know what .pcm files are",
		"--play -o x.mp3": "or write .wav",
		"--play -o -":     "do not go together",
	} {
		if code, _, errs := quern(t, "", nil, append(append([]string{"say"}, strings.Fields(args)...), "Hello")...); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, %q", args, code, errs)
		}
	}
}

// A model without the usual voice speaks with its first.
func TestUsualVoice(t *testing.T) {
	model := kokoro(t, t.TempDir())
	t.Chdir(t.TempDir())
	if code, out, errs := quern(t, "", nil, "say", "--model", model, "Hello"); code != 0 || !strings.HasPrefix(out, "speech.wav: ") {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
	if code, _, errs := quern(t, "", nil, "say", "--model", model, "--voice", "af_bella", "Hello"); code != 2 || !strings.Contains(errs, `there is no voice "af_bella"; there is af_x`) {
		t.Errorf("exit code %d, %q", code, errs)
	}
}
