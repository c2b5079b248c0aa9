package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/codecs"
	"quern/engine"
	"quern/httpapi/transcript"
)

type transcribeOptions struct {
	model, language, prompt, format, target string
	words, translate, chunked, live         bool
	speakers                                bool
	count, least, most                      int      // of speakers
	known                                   []string // NAME=FILE
	raw                                     string
	step                                    float64
	keywords, without                       []string
	beams                                   int
	guards                                  engine.Guard        // of without
	voices                                  []engine.KnownVoice // of known
}

func (a *app) transcribeCmd() *cobra.Command {
	var o transcribeOptions
	cmd := &cobra.Command{
		Use:   "transcribe FILE...",
		Short: "Write down what is said in audio files",
		Long: `Writes down what is said in audio or video files of any common format. "-" is
standard input. Text comes out as soon as it is final; --format srt and vtt make
subtitles, json everything that is known, whisperx what whisperX writes. Of audio that is
cut short or damaged what is there is written down, and a warning says how much that is.

--live writes down sound that is still being made, from a pipe, while it comes: text as
soon as it no longer changes, a line for each piece between pauses. It decodes more than
once what is being said, so it takes more work than a file does. The first interrupt ends
the sound, and what was said before it is written down.`,
		Example: `  quern transcribe --model whisper-base talk.mp3
  quern transcribe --model whisper-base --format srt film.mp4 > film.srt
  quern transcribe -m whisper-base --speakers --segmentation seg.onnx --embedding emb.onnx a.mp3
  quern transcribe -m whisper-base --speakers --known-speaker Ada=ada.wav talk.mp3
  ffmpeg -loglevel error -f pulse -i default -f wav - | quern transcribe --live -
  arecord -f S16_LE -r 16000 -t raw | quern transcribe --live --raw pcm_16000 -`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, args []string) error { return a.transcribe(cmd, args, o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.model, "model", "m", "", "recogniser, a `path` or name: Whisper, Parakeet or Canary (default the default recogniser)")
	f.StringVar(&o.language, "language", "", "`code` or English name of the language (default found out)")
	f.StringVar(&o.prompt, "prompt", "", "`text` that shows names and style")
	f.StringSliceVar(&o.keywords, "keywords", nil, "`words` that may occur")
	f.IntVar(&o.beams, "beams", 1, "`number` of hypotheses kept side by side, at most 10: slower, a little better")
	f.StringVar(&o.format, "format", "text", "`name`: text, srt, vtt, json or whisperx")
	f.BoolVar(&o.words, "words", false, "with --format json: times of words")
	f.BoolVar(&o.speakers, "speakers", false, "tell who says what, with the networks of --segmentation and --embedding; text comes when the file has ended")
	f.IntVar(&o.count, "num-speakers", 0, "with --speakers: the `number` there are (default found out)")
	f.IntVar(&o.least, "min-speakers", 0, "with --speakers: the `number` there are at least")
	f.IntVar(&o.most, "max-speakers", 0, "with --speakers: the `number` there are at most")
	f.StringArrayVar(&o.known, "known-speaker", nil, fmt.Sprintf("with --speakers: a speaker's name and a sound of only that voice, of %g to %g s, as `NAME=FILE`; up to %d times", engine.LeastVoice.Seconds(), engine.MostVoice.Seconds(), engine.MaxKnownVoices))
	f.BoolVar(&o.translate, "translate", false, "translate to English")
	f.StringVar(&o.target, "to", "", "translate to this language, a `code` or English name (Canary; the others know English at most)")
	f.BoolVar(&o.chunked, "chunked", false, "cut at silences and decode pieces side by side: faster, text a little different")
	f.StringSliceVar(&o.without, "without", nil, "leave out these `guards` against made-up text: "+strings.Join(engine.GuardNames(), ", "))
	f.BoolVar(&o.live, "live", false, "write down sound that is still coming, as - from a pipe")
	f.Float64Var(&o.step, "step", 1, "with --live: `seconds` of new sound before what is being said is decoded again")
	f.StringVar(&o.raw, "raw", "", "the audio is samples without a header, one channel: pcm_`RATE` (16 bits, little-endian, 8000 to 48000), ulaw_8000 or alaw_8000")
	settings.Group(f, "model", settings.Models)
	settings.AddFlags(cmd)
	return cmd
}

// transcriptFormats are the values of --format.
var transcriptFormats = []string{"text", "srt", "vtt", "json", "whisperx"}

// check validates all that needs no model.
func (o *transcribeOptions) check(cmd *cobra.Command, files []string) error {
	if !slices.Contains(transcriptFormats, o.format) {
		return usageError{fmt.Errorf("--format must be one of %s, got %q", strings.Join(transcriptFormats, ", "), o.format)}
	}
	if err := o.checkLive(cmd, files); err != nil {
		return err
	}
	if o.raw != "" {
		if _, err := codecs.RawByName(o.raw); err != nil {
			return usageError{fmt.Errorf("--raw %w", err)}
		}
	}
	if o.format != "json" {
		if err := idle(cmd, "only --format json has words", "words"); err != nil {
			return err
		}
	}
	if err := o.checkSpeakers(cmd); err != nil {
		return err
	}
	if len(files) > 1 && (o.format == "srt" || o.format == "vtt") {
		return usageError{fmt.Errorf("--format %s takes one file at a time: two in a row are no subtitles", o.format)}
	}
	if o.language != "" && engine.LanguageName(o.language) == "" {
		return usageError{fmt.Errorf("--language: %q is neither a language's code nor its English name", o.language)}
	}
	if o.target != "" && engine.LanguageName(o.target) == "" {
		return usageError{fmt.Errorf("--to: %q is neither a language's code nor its English name", o.target)}
	}
	if o.beams < 1 || o.beams > engine.MaxBeams {
		return usageError{fmt.Errorf("--beams must be between 1 and %d, got %d", engine.MaxBeams, o.beams)}
	}
	for _, name := range o.without {
		g, ok := engine.GuardNamed(name)
		if !ok {
			return usageError{fmt.Errorf("--without must be of %s, got %q", strings.Join(engine.GuardNames(), ", "), name)}
		}
		o.guards |= g
	}
	if vad, _ := engine.GuardNamed("vad"); o.guards&vad != 0 && !o.chunked {
		if err := idle(cmd, "--without leaves the detector out", "vad"); err != nil {
			return err
		}
	}
	// A missing file is an error before a large model is loaded.
	for _, file := range files {
		if file == "-" {
			continue
		}
		if st, err := os.Stat(file); err != nil {
			return err
		} else if st.IsDir() {
			return fmt.Errorf("%s is a folder; name the files in it", file)
		}
	}
	return nil
}

// checkSpeakers validates the flags about speakers.
func (o *transcribeOptions) checkSpeakers(cmd *cobra.Command) error {
	const number, known = "num-speakers", "known-speaker"
	for _, f := range []struct {
		name string
		n    int
	}{{number, o.count}, {"min-speakers", o.least}, {"max-speakers", o.most}} {
		switch {
		case !cmd.Flags().Changed(f.name):
		case !o.speakers:
			return usageError{fmt.Errorf("--%s needs --speakers", f.name)}
		case f.n < 1 || f.n > mostSpeakers:
			return usageError{fmt.Errorf("--%s must be between 1 and %d, got %d", f.name, mostSpeakers, f.n)}
		case f.name != number && cmd.Flags().Changed(number):
			return usageError{fmt.Errorf("--%s is how many there are; leave --%s out with it", number, f.name)}
		}
	}
	if o.most > 0 && o.least > o.most {
		return usageError{fmt.Errorf("--min-speakers must be at most --max-speakers, got %d and %d", o.least, o.most)}
	}
	if len(o.known) > 0 && !o.speakers {
		return usageError{fmt.Errorf("--%s needs --speakers", known)}
	}
	if len(o.known) > engine.MaxKnownVoices {
		return usageError{fmt.Errorf("--%s must be given at most %d times, got %d", known, engine.MaxKnownVoices, len(o.known))}
	}
	return nil
}

func (a *app) transcribe(cmd *cobra.Command, files []string, o transcribeOptions) error {
	if err := o.check(cmd, files); err != nil {
		return err
	}
	var err error
	if o.voices, err = knownVoices(o.known); err != nil {
		return err
	}
	ctx, stop := signals(cmd.Context(), stopSignals()...)
	defer stop()
	e, lease, err := a.openModel(ctx, cmd, o.model, engine.KindTranscription)
	if err != nil {
		if o.model == "" && isCode(err, engine.CodeMissingParam) {
			err = usageError{errors.New("there is no model that transcribes, and none is built in; name one, as in --model hub:ggerganov/whisper.cpp/ggml-base.bin")}
		}
		return err
	}
	defer e.Close()
	defer lease.Release()
	if o.live {
		return a.transcribeLive(ctx, e, lease, files[0], o)
	}
	if len(files) == 1 {
		return a.transcribeFile(ctx, lease, files[0], false, o)
	}
	var failed error
	for _, file := range files {
		// The other files are transcribed although one fails.
		if err := a.transcribeFile(ctx, lease, file, true, o); ctx.Err() != nil {
			return err
		} else if err != nil {
			fmt.Fprintf(a.err, "quern: %s\n", explain(err))
			failed = exitError{exitFailure}
		}
	}
	return failed
}

func (a *app) transcribeFile(ctx context.Context, l engine.Lease, file string, several bool, o transcribeOptions) (err error) {
	name := file
	if file == "-" {
		name = "standard input"
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	in := a.in
	if file == "-" && terminal.Is(in) {
		return errors.New("it is a terminal; send audio there with < FILE, or name a file")
	}
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	sound, err := o.open(in)
	if err != nil {
		return err
	}
	mono, err := codecs.NewMono(sound, hearingRate)
	if err != nil {
		return err
	}
	bar := a.progress("listening to")
	defer bar.Wait()
	var known engine.TranscribeInfo
	var segments []engine.Segment
	out := bufio.NewWriter(a.out)
	if several && o.format == "text" {
		fmt.Fprintf(out, "%s:\n", file)
	}
	var who *engine.Diarization
	if o.speakers {
		who = &engine.Diarization{}
		who.Min, who.Max, who.Known = cmp.Or(o.count, o.least), cmp.Or(o.count, o.most), o.voices
	}
	checked := &transcript.Sound{Source: mono, Missing: sound.Missing}
	source := &countedSource{src: checked, progress: func(heard int) {
		if all := sound.Duration().Seconds(); all > 0 {
			bar.Update(filepath.Base(file), float64(heard)/hearingRate/all)
		}
	}}
	request := engine.TranscribeRequest{Source: source, TranscribeOptions: o.request(), Diarize: who}
	request.Info = &known
	for s, err := range l.Transcribe(ctx, request) {
		if err != nil {
			return err
		}
		segments = append(segments, s)
		if o.format == "text" && who == nil {
			a.status().Clear() // the text may go to the same terminal
			fmt.Fprintln(out, strings.TrimSpace(s.Text))
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	bar.Wait()
	warnings := checked.Warnings(len(segments) > 0)
	if missing := sound.Missing(); missing != "" && len(segments) == 0 {
		return fmt.Errorf("%s; nothing is said in what could be read", missing) // there may be speech in the rest
	}
	for _, w := range warnings {
		fmt.Fprintf(a.err, "quern: %s: %s\n", name, w)
	}
	var found *engine.Speakers
	if who != nil {
		found = &who.Speakers
	}
	t := transcript.New(segments, known, found)
	t.Warnings = warnings
	switch o.format {
	case "text":
		if who != nil {
			for _, s := range t.Spoken() {
				fmt.Fprintln(out, strings.TrimSpace(s.Text))
			}
		}
	case "srt":
		fmt.Fprint(out, transcript.SRT(t.Spoken()))
	case "vtt":
		fmt.Fprint(out, transcript.VTT(t.Spoken()))
	case "json":
		err = writeJSON(out, t.Verbose(o.translate, true, o.words))
	case "whisperx":
		err = writeJSON(out, t.WhisperX())
	}
	return errors.Join(err, out.Flush())
}

// knownVoices reads the sounds of speakers that are known by name.
func knownVoices(list []string) (voices []engine.KnownVoice, err error) {
	for _, s := range list {
		name, file, ok := strings.Cut(s, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || file == "" {
			return nil, usageError{fmt.Errorf("--known-speaker must be NAME=FILE, got %q", s)}
		}
		if slices.ContainsFunc(voices, func(v engine.KnownVoice) bool { return v.Name == name }) {
			return nil, usageError{fmt.Errorf("--known-speaker %q is given twice", name)}
		}
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		x, err := codecs.Clip(f, hearingRate, engine.LeastVoice, engine.MostVoice)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("--known-speaker %s: %s: %w", name, file, err)
		}
		voices = append(voices, engine.KnownVoice{Name: name, Sound: x})
	}
	return voices, nil
}

// request is the options of the recogniser.
func (o *transcribeOptions) request() engine.TranscribeOptions {
	return engine.TranscribeOptions{
		Language: o.language, Prompt: o.prompt, Keywords: o.keywords, Translate: o.translate, Target: o.target, Words: o.words || o.format == "whisperx",
		Beams: o.beams, Chunked: o.chunked, Without: o.guards,
	}
}

// mostSpeakers bounds --num-speakers and the like, as the API does num_speakers.
const mostSpeakers = 32

// hearingRate is the sample rate of recognisers, in Hz.
const hearingRate = 16000

// A countedSource counts the samples that were read.
type countedSource struct {
	src      engine.Source
	n        int
	progress func(int)
}

func (c *countedSource) Read(dst []float32) (int, error) {
	n, err := c.src.Read(dst)
	c.n += n
	c.progress(c.n)
	return n, err
}
