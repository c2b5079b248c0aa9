// Command codecs holds the decoders and encoders of package codecs against the
// programs people trust: what comes out, and how fast.
//
//	go run ./bench/codecs [-dir FOLDER] [-check] [-speed=false]
//	go run ./bench/codecs -long 600
//	go run ./bench/codecs -samples FOLDER && node bench/codecs/chromium.mjs FOLDER
//
// A decoder's row has the SNR against mpg123 for MP3, opusdec for Ogg Opus and
// ffmpeg for the rest. Speeds are audio time over CPU time, the cost of starting the
// program taken off, so that other work on the machine matters little.
// With -check the exit status is 1 when a row is below its limit.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"quern/bench/internal/must"
	"quern/codecs"
)

func main() {
	dir := flag.String("dir", filepath.Join("..", "shared", "fixtures", "audio"), "`folder` of audio files")
	check := flag.Bool("check", false, "exit with status 1 if a row is below its limit")
	speed := flag.Bool("speed", true, "measure speeds")
	decodeOnly := flag.String("decode", "", "decode `file` and print nothing: how the speed is measured")
	mono := flag.Bool("mono", false, "-decode mixes down and converts to 16 kHz, as for recognisers")
	encodeOnly := flag.String("encode", "", "encode a WAV `file` as -to and print nothing")
	to := flag.String("to", "mp3", "encoding for -encode")
	bitrate := flag.Int("bitrate", 0, "bit/s for -encode")
	times := flag.Int("times", 1, "how often -decode or -encode does it")
	longSeconds := flag.Float64("long", 0, "decode files of so many `seconds` beside ffmpeg, and nothing else")
	samples := flag.String("samples", "", "write what chromium.mjs plays to `folder`, and nothing else")
	flag.Parse()

	err := error(nil)
	good := true
	switch {
	case *samples != "":
		err = writeSamples(*samples)
	case *longSeconds > 0:
		err = long(*dir, *longSeconds)
	case *decodeOnly != "":
		for range *times {
			if err = play(*decodeOnly, *mono); err != nil {
				break
			}
		}
	case *encodeOnly != "":
		err = encodeTimes(*encodeOnly, *to, *bitrate, *times)
	default:
		good, err = run(*dir, *speed)
	}
	must.End("codecs", err)
	if *check && !good {
		fmt.Fprintln(os.Stderr, "codecs: rows marked with ! are below their limit")
		os.Exit(1)
	}
}

// run prints both tables and tells whether all rows are within their limits.
func run(dir string, speed bool) (bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return false, err
	}
	good, rows := true, 0
	fmt.Println("| file | format | rate | channels | seconds | SNR, dB | against | × real time | ffmpeg's × |")
	fmt.Println("|---|---|---:|---:|---:|---:|---|---:|---:|")
	for _, f := range files {
		if name := filepath.Base(f); name == "README.md" || strings.HasSuffix(name, ".sh") {
			continue
		}
		rows++
		good = decodeRow(f, speed) && good
	}
	if rows == 0 {
		return false, fmt.Errorf("no files in %s", dir)
	}
	fmt.Println()
	return encodeTable(dir, speed) && good, nil
}

// sound is decoded audio.
type sound struct {
	format         string
	rate, channels int
	x              []float32
}

func (s *sound) seconds() float64 { return float64(len(s.x)) / float64(s.rate*s.channels) }

func decode(path string) (_ *sound, err error) {
	defer must.Catch(&err)
	f := must.Get(os.Open(path))
	defer f.Close()
	d := must.Get(codecs.Open(f, codecs.Options{}))
	s := &sound{format: d.Format(), rate: d.Rate(), channels: d.Channels()}
	buf := make([]float32, 4096*s.channels)
	for {
		n, err := d.Read(buf)
		s.x = append(s.x, buf[:n]...)
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// play decodes a file and keeps nothing, with mono as recognisers read it.
func play(path string, mono bool) (err error) {
	defer must.Catch(&err)
	f := must.Get(os.Open(path))
	defer f.Close()
	var d codecs.Decoder = must.Get(codecs.Open(f, codecs.Options{}))
	if mono {
		d = must.Get(codecs.NewMono(d, 16000))
	}
	buf := make([]float32, 4096*d.Channels())
	for err == nil {
		_, err = d.Read(buf)
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// An exception is a fixture that the codec's limit does not fit.
type exception struct {
	why   string
	limit float64 // 0: it cannot be judged at all
}

// pns says why AAC files made by ffmpeg's encoder cannot match: perceptual noise
// substitution leaves bands to a random generator that every decoder has of its own.
var pns = exception{"PNS", 10}

var exceptions = map[string]exception{
	"m4a_he_v1.m4a":     {"core only, SBR is skipped", 0},
	"m4a_he_v2.m4a":     {"core only, SBR and PS are skipped", 0},
	"aac_m16.aac":       pns,
	"aac_st44.aac":      pns,
	"m4a_faststart.m4a": pns,
	"m4a_frag.mp4":      pns,
	"m4a_m16.m4a":       pns,
	"m4a_qt.mov":        pns,
	"m4a_st44.m4a":      pns,
	"mp4_video_aac.mp4": pns,
	// A file twice. ffmpeg does not start the second link afresh.
	"vorbis_chained.ogg": {"judged as vorbis_q2.ogg twice", 100},
	// libopus 1.3.1 is 31.9 dB away, in 14 of 150 frames. Later ones agree with
	// us: opus-decoder 0.7.12, which is libopus in WASM, within 115 dB, and
	// go-opus 0.1.2 within 92, all that its 16 bits allow.
	"opus_fec_st.ogg": {"libopus 1.3.1 differs from later ones", 30},
}

// limits are the least SNR by codec, in dB. Lossless formats must be exact: that
// is 200.
var limits = map[string]float64{"mp3": 90, "aac": 70, "opus": 50, "vorbis": 100}

const exact = 200

// decodeRow prints the row of a file and tells whether it is within its limit.
func decodeRow(path string, speed bool) bool {
	name := filepath.Base(path)
	s, err := decode(path)
	if err != nil {
		fmt.Printf("| %s | ! %v | | | | | | | |\n", name, err)
		return false
	}
	codec := s.format[strings.LastIndexByte(s.format, '/')+1:]
	if strings.HasPrefix(codec, "aac-") {
		codec = "aac"
	}
	limit, lossy := limits[codec]
	if !lossy {
		limit = exact
	}
	e, special := exceptions[name]
	if special {
		limit = e.limit
	}
	quality, oracle, good := "", "", true
	if special && limit == 0 {
		oracle = e.why
	} else if want, by, err := reference(path, s, codec); err != nil {
		oracle = err.Error()
	} else {
		v, lag := compare(s.x, want, s.channels, limit)
		oracle = by
		if special {
			oracle += ", " + e.why
		}
		if lag != 0 {
			oracle += fmt.Sprintf(", shifted by %d", lag)
		}
		if d := (len(s.x) - len(want)) / s.channels; d != 0 {
			oracle += fmt.Sprintf(", %+d samples", d)
		}
		good = v >= limit
		quality = decibels(v)
		if !good {
			quality = "! " + quality
		}
	}
	ours, theirs := "", ""
	if speed {
		ours = ourSpeed(s.seconds(), "-decode", path)
		theirs = ffmpegSpeed(s.seconds(), path)
	}
	fmt.Printf("| %s | %s | %d | %d | %.3f | %s | %s | %s | %s |\n", name, s.format, s.rate, s.channels, s.seconds(), quality, oracle, ours, theirs)
	return good
}

func decibels(v float64) string {
	if v >= exact {
		return "exact"
	}
	return fmt.Sprintf("%.1f", v)
}

// reference decodes path with the program that decides, to the rate and channels
// of s.
func reference(path string, s *sound, codec string) (x []float32, by string, err error) {
	rate, channels := fmt.Sprint(s.rate), fmt.Sprint(s.channels)
	var args []string
	switch {
	case s.format == "mp3":
		args = []string{"mpg123", "-q", "-e", "f32", "-s", path}
	case s.format == "ogg/opus":
		return throughWAV("opusdec", "--quiet", "--float", "--rate", "48000", path)
	case filepath.Base(path) == "vorbis_chained.ogg":
		x, by, err := reference(filepath.Join(filepath.Dir(path), "vorbis_q2.ogg"), s, codec)
		return append(x, x...), by, err
	case codec == "opus":
		args = []string{"ffmpeg", "-v", "error", "-c:a", "libopus", "-i", path, "-map", "0:a:0", "-f", "f32le", "-ar", rate, "-ac", channels, "-"}
	default:
		args = []string{"ffmpeg", "-v", "error", "-i", path, "-map", "0:a:0", "-f", "f32le", "-ar", rate, "-ac", channels, "-"}
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return nil, "", fmt.Errorf("no %s", args[0])
	}
	out, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", args[0], err)
	}
	return floats(out), args[0], nil
}

// throughWAV runs a decoder that writes a WAV file, named last.
func throughWAV(program string, args ...string) (_ []float32, _ string, err error) {
	defer must.Catch(&err)
	if _, err := exec.LookPath(program); err != nil {
		return nil, "", fmt.Errorf("no %s", program)
	}
	dir := must.Get(os.MkdirTemp("", "quern-codecs"))
	defer os.RemoveAll(dir)
	wav := filepath.Join(dir, "x.wav")
	if err := exec.Command(program, append(args, wav)...).Run(); err != nil {
		return nil, "", fmt.Errorf("%s: %w", program, err)
	}
	s := must.Get(decode(wav))
	return s.x, program, nil
}
