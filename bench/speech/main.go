// Command speech measures a running server's voice: how soon the first sound leaves,
// how fast it speaks, and whether its memory grows.
//
//	quern serve --models /tmp/kokoro-random &
//	go run ./bench/speech -pid $! -model kokoro-random -n 100
//
// The first bytes of a text should come when its first sentence is made, and not
// later: the time to them is printed beside the time the first sentence takes alone.
//
// With -openings it measures that for ten answers that begin in different ways.
//
// With -intelligibility it measures the built-in voices instead, without a server: how
// many words of them a recogniser gets wrong, and of others beside them. With -samples it
// writes docs/voice/samples.html, where they are heard.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
)

type options struct {
	url, key, model, voice string
	runs, n, streams, pid  int
}

func main() {
	var o options
	flag.StringVar(&o.url, "url", "http://127.0.0.1:8080", "address of the server")
	flag.StringVar(&o.key, "key", os.Getenv("QUERN_API_KEY"), "API key")
	flag.StringVar(&o.model, "model", "tts-1", "model")
	flag.StringVar(&o.voice, "voice", "af_bella", "voice")
	flag.IntVar(&o.runs, "runs", 5, "runs of each measurement of time")
	flag.IntVar(&o.n, "n", 1000, "requests of the memory measurement; 0 for none")
	flag.IntVar(&o.streams, "streams", 2, "of which so many at a time")
	flag.IntVar(&o.pid, "pid", 0, "process whose memory is read; 0 for none")
	ten := flag.Bool("openings", false, "measure only when the first sound of ten different answers leaves")
	understood := flag.Bool("intelligibility", false, "let a recogniser write down what the built-in voices say, and others beside them; needs no server")
	var h hearing
	flag.StringVar(&h.recogniser, "recogniser", "/usr/share/pocketsphinx/model/en-us", "folder of pocketsphinx's US English model")
	flag.StringVar(&h.cache, "cache", "", "folder that keeps what was heard, by the hash of the sound")
	flag.StringVar(&h.only, "only", "", "speakers, separated by commas; empty takes all")
	flag.IntVar(&h.sentences, "sentences", 0, "so many sentences of each set; 0 takes all")
	flag.Float64Var(&h.most, "most", 0, "fail when a speaker has more `per cent` of words wrong; 0 never does")
	flag.StringVar(&h.out, "out", "", "folder for the table; empty writes none")
	flag.BoolVar(&h.verbose, "v", false, "print what was misheard")
	page := flag.String("samples", "", "write a page with samples of the built-in voices and of every format to this `file`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	measure := func() error { return run(ctx, o, os.Stdout) }
	if *ten {
		measure = func() error { return soon(ctx, o, os.Stdout) }
	}
	if *page != "" {
		measure = func() error { return samples(ctx, *page) }
	}
	if *understood {
		measure = func() error { return intelligibility(ctx, h, os.Stdout) }
	}
	must.End("speech", measure())
}

const (
	firstSentence = "The old mill stands by the river."
	text          = firstSentence + " Every morning the miller opens the gate, and the water begins to turn the heavy wheel. " +
		"Grain falls between the stones. By noon there is enough flour for the whole village, and in the evening the wheel rests again."
)

// A timing is one request: how long until the first byte of sound, and the last.
type timing struct {
	first, all time.Duration
	sound      []byte
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	defer must.Catch(&err)
	if o.runs < 1 || o.streams < 1 || o.n < 0 {
		return errors.New("want at least one run and one stream")
	}
	must.Get(speak(ctx, o, "Warm up.", "mp3"))
	var alone, whole, pcm []timing
	for range o.runs {
		for _, m := range []struct {
			to           *[]timing
			text, format string
		}{{&alone, firstSentence, "mp3"}, {&whole, text, "mp3"}, {&pcm, text, "pcm"}} {
			*m.to = append(*m.to, must.Get(speak(ctx, o, m.text, m.format)))
		}
	}
	first := func(t timing) time.Duration { return t.first }
	all := func(t timing) time.Duration { return t.all }
	seconds := float64(len(pcm[0].sound)) / 2 / 24000
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "first sentence alone\t%v\t\n", median(alone, all))
	fmt.Fprintf(w, "first sound of %d characters\t%v\t\n", len(text), median(whole, first))
	fmt.Fprintf(w, "all of them\t%v\t\n", median(whole, all))
	fmt.Fprintf(w, "sound\t%.2fs\t\n", seconds)
	fmt.Fprintf(w, "real-time factor\t%.4f\t\n", median(pcm, all).Seconds()/seconds)
	must.Do(w.Flush())
	return memory(ctx, o, out)
}

// memory says what the server's memory is before, within and after many requests.
func memory(ctx context.Context, o options, out io.Writer) (err error) {
	defer must.Catch(&err)
	if o.n == 0 || o.pid == 0 {
		return nil
	}
	done := 0
	for _, upTo := range slices.Compact([]int{0, o.n / 10, o.n / 2, o.n}) {
		must.Do(many(ctx, o, upTo-done))
		done = upTo
		n := must.Get(stat.MemoryOf(o.pid)).Now
		fmt.Fprintf(out, "memory after %4d requests: %.1f MiB\n", done, float64(n)/(1<<20))
	}
	return nil
}

func many(ctx context.Context, o options, n int) error {
	var wg sync.WaitGroup
	errs := make(chan error, o.streams)
	for s := range o.streams {
		wg.Go(func() {
			for i := s; i < n; i += o.streams {
				if _, err := speak(ctx, o, fmt.Sprintf("This is sentence number %d.", i), "mp3"); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

func speak(ctx context.Context, o options, input, format string) (t timing, err error) {
	defer must.Catch(&err)
	body := must.Get(json.Marshal(map[string]string{"model": o.model, "voice": o.voice, "input": input, "response_format": format}))
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, o.url+"/v1/audio/speech", bytes.NewReader(body)))
	req.Header.Set("Authorization", "Bearer "+o.key)
	req.Header.Set("Content-Type", "application/json")
	start := time.Now()
	r := must.Get(http.DefaultClient.Do(req))
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(r.Body, 1<<10))
		return t, fmt.Errorf("%s: %s", r.Status, bytes.TrimSpace(b))
	}
	var one [1]byte
	must.Get(io.ReadFull(r.Body, one[:]))
	t.first = time.Since(start)
	rest, err := io.ReadAll(r.Body)
	t.all, t.sound = time.Since(start), append(one[:], rest...)
	return t, err
}

func median(t []timing, of func(timing) time.Duration) time.Duration {
	t = slices.Clone(t)
	slices.SortFunc(t, func(a, b timing) int { return cmp.Compare(of(a), of(b)) })
	return of(t[len(t)/2]).Round(100 * time.Microsecond)
}
