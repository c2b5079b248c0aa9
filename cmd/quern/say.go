package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/player"
	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/codecs"
	"quern/engine"
	"quern/engine/local"
	"quern/engine/wholefile"
	"quern/httpapi/spool"
)

type sayOptions struct {
	model, voice, out, language string
	play                        bool
	speed                       float64
	seed                        uint64
}

func (a *app) sayCmd() *cobra.Command {
	var o sayOptions
	cmd := &cobra.Command{
		Use:   "say [TEXT...]",
		Short: "Speak a text into an audio file, or aloud",
		Long: `Speaks TEXT, or standard input (-), into a file; its name's ending chooses the format
(.mp3, .wav, .flac, .opus, .aac, .m4a, .pcm, .ulaw, .alaw). The file appears when it is
whole. With --play it is heard, and written only if --out names it. A text that begins with
<speak> is SSML. Without a Kokoro model the built-in voice speaks: intelligible, and plainly
a robot.`,
		Example: `  quern say -o hello.wav Hello there.
  quern say --play Hello there.
  quern say --model kokoro --voice "af_bella(2)+af_sky" -o chapter.mp3 < chapter.txt`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.say(cmd, args, o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.model, "model", "m", "", "Kokoro model, a `path` or name (default the default voice model)")
	f.StringVarP(&o.voice, "voice", "v", "", "`name` of a voice, or a mixture of voices (default af_bella, or else the model's first)")
	f.StringVarP(&o.out, "out", "o", "", "`file` to write; - is WAV to standard output (default speech.wav, without --play)")
	f.BoolVarP(&o.play, "play", "p", false, "play it on this machine")
	f.StringVar(&o.language, "language", "", "`code` of the text's language: "+strings.Join(engine.Languages(), ", ")+" (default the voice's own)")
	f.Float64Var(&o.speed, "speed", 1, "`tempo` from 0.5 to 2")
	f.Uint64Var(&o.seed, "seed", 0, "`number` that varies the noise in the voice")
	settings.Group(f, "model", settings.Models)
	settings.AddFlags(cmd)
	return cmd
}

func (a *app) say(cmd *cobra.Command, args []string, o sayOptions) error {
	if !(o.speed >= 0.5 && o.speed <= 2) {
		return usageError{fmt.Errorf("--speed must be between 0.5 and 2, got %g", o.speed)}
	}
	if err := checkLanguage(o.language); err != nil {
		return err
	}
	text, err := a.textArg(args)
	if err != nil {
		return err
	}
	switch {
	case o.out == "" && !o.play:
		o.out = "speech.wav"
	case o.out == "-" && o.play:
		return usageError{errors.New("--out - and --play do not go together")}
	case o.out == "-" && terminal.Is(a.out):
		return errToTerminal
	}
	encoding, err := encodingOf(o.out)
	if err != nil {
		return usageError{err}
	}
	var playing *player.Player
	if o.play {
		if playing, err = player.Find(strings.ToLower(filepath.Ext(o.out))); err != nil {
			err = fmt.Errorf("--play: %w", err)
			if errors.Is(err, player.ErrRaw) {
				return usageError{err}
			}
			return err
		}
	}
	ctx, stop := signals(cmd.Context(), stopSignals()...)
	defer stop()
	e, lease, err := a.openModel(ctx, cmd, o.model, engine.KindSpeech)
	if err != nil {
		return err
	}
	defer e.Close()
	defer lease.Release()
	if o.voice == "" {
		o.voice = usualVoice(e, lease)
	}
	if err := lease.CheckVoice(o.voice, ""); err != nil {
		return usageError{fmt.Errorf("--voice: %w", err)}
	}
	if err := lease.CheckVoice(o.voice, o.language); err != nil {
		return usageError{fmt.Errorf("--language: %w", err)}
	}
	request := engine.SpeakRequest{Text: text, Voice: o.voice, Speed: o.speed, Seed: o.seed, Language: o.language, SSML: engine.IsSSML(text)}
	if o.out == "-" {
		// It may be a pipe, and a WAV header says how long the file is.
		var whole spool.Pool
		kept := whole.New()
		defer kept.Close()
		if _, err := speak(ctx, lease, request, encoding, kept); err != nil {
			return err
		}
		_, err := kept.WriteTo(a.out)
		return err
	}
	out := o.out
	if out == "" {
		dir, err := os.MkdirTemp("", "quern-say-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		out = filepath.Join(dir, "speech.wav")
	}
	var spoken time.Duration
	err = wholefile.Write(out, func(f *os.File) (err error) {
		if terminal.Is(f) {
			return errToTerminal
		}
		spoken, err = speak(ctx, lease, request, encoding, f)
		return err
	})
	if err != nil {
		return err
	}
	if o.out != "" {
		fmt.Fprintf(a.out, "%s: %.1f s of speech\n", terminal.Plain(o.out), spoken.Seconds())
	}
	if o.play {
		return playing.Play(ctx, out)
	}
	return nil
}

// usualVoice is the voice of a model that speaks when none is named.
func usualVoice(e *local.Engine, l engine.Lease) string {
	const usual = "af_bella"
	if l.CheckVoice(usual, "") == nil {
		return usual
	}
	for _, v := range e.Voices() {
		if v.Model == l.Info().ID {
			return v.ID
		}
	}
	return usual
}

var errToTerminal = usageError{errors.New("sound is not written to a terminal; name a file, as in --out hello.wav, or hear it with --play")}

// speak writes the speech to w and returns its length.
func speak(ctx context.Context, l engine.Lease, r engine.SpeakRequest, encoding codecs.Encoding, w io.Writer) (time.Duration, error) {
	var enc codecs.Encoder
	samples, rate := 0, 1
	for s, err := range l.Speak(ctx, r) {
		if err != nil {
			return 0, err
		}
		if enc == nil {
			if enc, err = encoding.Create(w, s.Rate, 1, codecs.EncodeOptions{Speech: true}); err != nil {
				return 0, err
			}
		}
		samples, rate = samples+len(s.Samples), s.Rate
		if err := enc.Write(s.Samples); err != nil {
			return 0, err
		}
	}
	if enc == nil {
		return 0, errors.New("the text has nothing in it that can be spoken")
	}
	return time.Duration(float64(samples) / float64(rate) * float64(time.Second)), enc.Close()
}

func checkLanguage(code string) error {
	if _, ok := engine.LanguageOf(code); code != "" && !ok {
		return usageError{fmt.Errorf("--language must be one of %s, got %q", strings.Join(engine.Languages(), ", "), code)}
	}
	return nil
}

// encodingOf chooses an encoding by a file's ending; "-" and none are WAV.
func encodingOf(path string) (codecs.Encoding, error) {
	ending := strings.ToLower(filepath.Ext(path))
	if path == "-" || path == "" {
		ending = ".wav"
	}
	var known []string
	for _, e := range codecs.Encodings() {
		if e.Ext == ending {
			return e, nil
		}
		known = append(known, e.Ext)
	}
	return codecs.Encoding{}, fmt.Errorf("--out %q: the ending must be one of %s", path, strings.Join(known, ", "))
}

// textArg returns the arguments as one text, or standard input without any or with "-".
func (a *app) textArg(args []string) (string, error) {
	if len(args) > 0 && !isInput(args) {
		return strings.Join(args, " "), nil
	}
	text, err := a.readInput()
	if err == nil && strings.TrimSpace(text) == "" {
		err = usageError{errors.New("the text is empty; give it as an argument or on standard input")}
	}
	return text, err
}

// isInput reports whether the arguments name standard input.
func isInput(args []string) bool { return len(args) == 1 && args[0] == "-" }

func (a *app) phonemizeCmd() *cobra.Command {
	var language, lexicon string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "phonemize [TEXT...]",
		Short: "Show how a text will be pronounced",
		Long: `Prints the phonemes of TEXT, or of standard input, in the alphabet Kokoro reads.
[word](/phonemes/) in a text overrides them. A text that begins with <speak> is SSML.`,
		Example: `  quern phonemize "Dr. Smith paid $5 on 3/4."`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLanguage(language); err != nil {
				return err
			}
			text, err := a.textArg(args)
			if err != nil {
				return err
			}
			e, err := local.New(engine.Options{Threads: 1})
			if err != nil {
				return err
			}
			defer e.Close()
			request := engine.PhonemizeRequest{Text: text, Language: language, SSML: engine.IsSSML(text)}
			if lexicon != "" {
				if request.Lexicon, err = engine.OpenLexicon(lexicon); err != nil {
					return usageError{fmt.Errorf("--lexicon: %w", err)}
				}
			}
			words, err := e.Phonemize(cmd.Context(), request)
			if err != nil {
				return usageError{err}
			}
			if asJSON {
				return writeJSON(a.out, words)
			}
			var line strings.Builder
			for _, w := range words {
				line.WriteString(w.Phonemes)
				if w.Space {
					line.WriteByte(' ')
				}
			}
			_, err = fmt.Fprintln(a.out, strings.TrimSpace(line.String()))
			return err
		},
	}
	cmd.Flags().StringVar(&language, "language", "", "`code`: "+strings.Join(engine.Languages(), ", ")+" (default what xml:lang says, else en-us)")
	cmd.Flags().StringVar(&lexicon, "lexicon", "", "`file` of words and how they are said: PLS, JSON, or a word and its phonemes a line")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print every word with its place and where its phonemes come from")
	return cmd
}
