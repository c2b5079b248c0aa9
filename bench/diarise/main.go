// Command diarise makes conversations of quern's own voices and scores who quern says spoke
// when, and measures how long that takes. Run it from the root of the repository:
//
//	go run ./bench/diarise -segmentation FILE -embedding FILE -seeds 10   # error rates
//	go run ./bench/diarise -gen FOLDER                                # networks of published size
//	go run ./bench/diarise -hour -segmentation FOLDER/segmentation.onnx -embedding FOLDER/campplus.onnx # or ecapa, titanet
//
// Under the speech of each voice lie tones, by which synthetic networks tell voices apart:
// pyannote-seg-bands and wespeaker-emb-bands of shared/fixtures/diarise/models. Networks of
// random weights go through it all and find nothing.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
	"quern/engine/asr/diarize"
	"quern/engine/asr/speakers"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
	"quern/kernels/threads"
)

func main() {
	var files diarize.Files
	flag.StringVar(&files.Segmentation, "segmentation", "", "`file` of the network that tells when who speaks")
	flag.StringVar(&files.Embedding, "embedding", "", "`file` of the network that tells voices apart")
	flag.StringVar(&files.PLDA, "plda", "", "`folder` of its PLDA")
	gen := flag.String("gen", "", "write networks of published size and random weights to `folder`")
	hour := flag.Bool("hour", false, "measure an hour of sound instead")
	seconds := flag.Float64("seconds", 0, "of sound; 0 is 60 of each conversation, 3600 of -hour")
	n := flag.Int("threads", 2, "that compute")
	seed := flag.Uint64("seed", 1, "of the first conversations")
	seeds := flag.Int("seeds", 1, "how many conversations there are of each kind; of more than one, medians and the worst are told")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	must.End("diarise", run(ctx, files, *gen, *hour, *seconds, *n, *seed, *seeds))
}

func run(ctx context.Context, files diarize.Files, gen string, hour bool, seconds float64, n int, seed uint64, seeds int) (err error) {
	defer must.Catch(&err)
	if gen != "" {
		return generate(gen)
	}
	pool := threads.NewPool(n)
	defer pool.Close()
	m := must.Get(diarize.Open(ctx, files, func(_ context.Context, g *fonnx.Model) (diarize.Graph, error) {
		return onnx.New(g, onnx.Options{Pool: pool})
	}))
	defer m.Close()
	if why := m.Joined(); why != "" {
		fmt.Println("voices are embedded one by one:", why)
	}
	voices := must.Get(record(ctx))
	if hour {
		seconds = cmp.Or(seconds, 3600)
		return anHour(ctx, m, voices, seconds, seed)
	}
	seconds = cmp.Or(seconds, 60)
	return score(ctx, m, voices, seconds, seed, seeds)
}

// tell has a model say who speaks in a sound, half a second at a time.
func tell(ctx context.Context, m *diarize.Model, x []float32) (*speakers.Result, error) {
	l := m.Listen(speakers.Options{})
	for len(x) > 0 {
		n := min(len(x), rate/2)
		if err := l.Hear(ctx, x[:n]); err != nil {
			return nil, err
		}
		x = x[n:]
	}
	return l.Finish(ctx)
}

// anHour transcribes a conversation of a minute again and again, and reports the memory
// that takes after each tenth.
func anHour(ctx context.Context, m *diarize.Model, voices [][]float32, seconds float64, seed uint64) error {
	x, _ := conversations(60, seed)[0].play(voices)
	l := m.Listen(speakers.Options{})
	begin := time.Now()
	heard := 0
	tenth := int(seconds * rate / 10)
	for part := range 10 {
		for heard < (part+1)*tenth {
			n := min(rate/2, (part+1)*tenth-heard)
			at := heard % (len(x) - n)
			if err := l.Hear(ctx, x[at:at+n]); err != nil {
				return err
			}
			heard += n
		}
		now, peak := stat.Resident()
		fmt.Printf("%4.0f s heard in %.1f s: %.0f MB, at most %.0f\n", float64(heard)/rate, time.Since(begin).Seconds(), now, peak)
	}
	ended := time.Now()
	r, err := l.Finish(ctx)
	if err != nil {
		return err
	}
	took := time.Since(begin).Seconds()
	fmt.Printf("%d turns of %d speakers; the end took %.2f s; real-time factor %.4f\n", len(r.Turns), len(r.Names), time.Since(ended).Seconds(), took/seconds)
	return nil
}
