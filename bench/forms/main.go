// Command forms measures what forms cost while decoding: sequences that each keep to a schema of
// their own next to as many that keep to none, in turn and in the same run.
//
//	go run ./bench/forms model.gguf
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
	"quern/engine"
	"quern/engine/local"
	"quern/engine/sample"
)

type options struct {
	file            string
	sequences, most int // and tokens of each
	runs, threads   int
	temperature     float64
}

func main() {
	var o options
	flag.IntVar(&o.sequences, "n", 16, "sequences decoded together")
	flag.IntVar(&o.most, "tokens", 128, "tokens of each")
	flag.IntVar(&o.runs, "runs", 7, "runs of both sides in turn, after one that does not count")
	flag.IntVar(&o.threads, "threads", 0, "threads of the engine, 0: as many as cores")
	// The likeliest token of random weights is barred nearly always: the worst case for greedy draws.
	flag.Float64Var(&o.temperature, "temperature", 0, "0 is greedy")
	flag.Parse()
	if flag.NArg() != 1 || o.sequences < 1 || o.most < 2 || o.runs < 1 {
		fmt.Fprintln(os.Stderr, "forms: want one model file; see -help")
		os.Exit(2)
	}
	o.file = flag.Arg(0)
	must.End("forms", run(os.Stdout, o))
}

// A lap is what one side of one run came to.
type lap struct {
	tokens, forced, steps int64
	speed                 float64 // tokens a second of all sequences, from the first of each to its last
	cpu                   time.Duration
}

// run compares replies that each keep to a schema of its own with replies that keep to none,
// one side after the other, in changing order.
func run(out io.Writer, o options) (err error) {
	e, err := local.New(engine.Options{Threads: o.threads, Models: []engine.ModelOptions{{Name: "m", Path: o.file, Slots: o.sequences}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	var laps [2][]lap // without schemas, with
	for turn := range o.runs + 1 {
		for k := range 2 {
			side := (k + turn) % 2
			l, err := measureSide(e, o, side == 1)
			if err != nil {
				return err
			}
			if turn > 0 { // what is made once, as grammars are, is made
				laps[side] = append(laps[side], l)
			}
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Fprintf(out, "%d sequences of %d tokens, %d runs, temperature %g; load average %s\n\n", o.sequences, o.most, o.runs, o.temperature, strings.TrimSpace(string(load)))
	fmt.Fprint(out, "| with schemas / without | median | least to most |\n|---|---:|---|\n")
	for _, r := range []struct {
		name string
		of   func(lap) float64
	}{
		{"tokens a second", func(l lap) float64 { return l.speed }},
		{"tokens a second of CPU", func(l lap) float64 { return float64(l.tokens) / l.cpu.Seconds() }},
		{"steps a second of CPU", func(l lap) float64 { return float64(l.steps) / l.cpu.Seconds() }},
	} {
		var ratios []float64
		for i := range laps[0] {
			ratios = append(ratios, r.of(laps[1][i])/r.of(laps[0][i]))
		}
		slices.Sort(ratios)
		fmt.Fprintf(out, "| %s | %.3f | %.3f to %.3f |\n", r.name, stat.Median(ratios), ratios[0], ratios[len(ratios)-1])
	}
	fmt.Fprint(out, "\n| | tokens a second | CPU ms a token | tokens | forced | steps |\n|---|---:|---:|---:|---:|---:|\n")
	for side, name := range []string{"without", "with schemas"} {
		l := laps[side]
		speed := stat.Values(l, func(l lap) float64 { return l.speed })
		cpu := stat.Values(l, func(l lap) float64 { return l.cpu.Seconds() * 1e3 / float64(l.tokens) })
		last := l[len(l)-1]
		fmt.Fprintf(out, "| %s | %.4g (%.4g to %.4g) | %.4g | %d | %.1f %% | %d |\n", name, stat.Median(speed), speed[0], speed[len(speed)-1],
			stat.Median(cpu), last.tokens, 100*float64(last.forced)/float64(last.tokens), last.steps)
	}
	return nil
}

// measureSide draws all replies of one side.
func measureSide(e *local.Engine, o options, schemas bool) (lap, error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var l lap
	var failed error
	before, cpu := e.Stats(), stat.CPUTime()
	for i := range o.sequences {
		wg.Go(func() {
			r := engine.GenerateRequest{
				Prompt: engine.Prompt{Text: fmt.Sprint("List ", i)}, MaxTokens: o.most, IgnoreEOS: true, NoPromptCache: true,
				Sample: sample.Params{Temperature: float32(o.temperature), Seed: uint64(i)},
			}
			if schemas {
				r.Constraint = &engine.Constraint{Form: engine.FormSchema, Source: schemaOf(i), Param: "schema"}
			}
			speed, err := reply(e, r)
			mu.Lock()
			defer mu.Unlock()
			l.speed += speed
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	l.cpu = stat.CPUTime() - cpu
	after := e.Stats()
	if failed == nil {
		m := after.Models[0]
		l.tokens, l.forced, l.steps = m.GeneratedTokens, m.ForcedTokens, m.Steps
		if len(before.Models) > 0 {
			b := before.Models[0]
			l.tokens, l.forced, l.steps = l.tokens-b.GeneratedTokens, l.forced-b.ForcedTokens, l.steps-b.Steps
		}
	}
	return l, failed
}

// reply draws one reply, and returns its tokens a second from the first on.
func reply(e *local.Engine, r engine.GenerateRequest) (float64, error) {
	ctx := context.Background()
	l, err := e.Open(ctx, "m", engine.KindCompletion)
	if err != nil {
		return 0, err
	}
	defer l.Release()
	for ev, err := range l.Generate(ctx, r) {
		if err != nil {
			return 0, err
		}
		if ev.Type == engine.Done {
			if ev.OutputTokens != r.MaxTokens {
				return 0, fmt.Errorf("a reply ended after %d tokens of %d", ev.OutputTokens, r.MaxTokens)
			}
			return float64(ev.OutputTokens-1) / ev.Timings.Predict.Seconds(), nil
		}
	}
	return 0, errors.New("a reply without an end")
}

// schemaOf returns the schema of a list that is longer than any reply, of objects such as
// tools take, no two alike.
func schemaOf(i int) string {
	kinds := []string{
		`{"type":"string","maxLength":24}`,
		`{"type":"integer","minimum":0,"maximum":100000}`,
		`{"enum":["pending","delivered","returned to the sender"]}`,
		`{"type":"boolean"}`,
		`{"type":"string","format":"date"}`,
		`{"type":"array","items":{"type":"number","minimum":-90,"maximum":90},"minItems":2,"maxItems":2}`,
		`{"type":["string","null"],"maxLength":12}`,
		`{"type":"object","properties":{"street":{"type":"string","maxLength":20},"postal_code":{"type":"string","pattern":"^[0-9]{5}$"}},"required":["street","postal_code"],"additionalProperties":false}`,
	}
	names := []string{"customer", "order_number", "status", "is_urgent", "delivery_date", "coordinates", "remark", "postal_address"}
	var members, required []string
	for k := range 6 {
		n := (i + k*(1+i%3*2)) % len(kinds)
		name := fmt.Sprintf("%s_%d_%d", names[n], i, k)
		members, required = append(members, fmt.Sprintf("%q:%s", name, kinds[n])), append(required, fmt.Sprintf("%q", name))
	}
	return fmt.Sprintf(`{"type":"array","minItems":100000,"items":{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false}}`,
		strings.Join(members, ","), strings.Join(required, ","))
}
