package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/peer"
	"quern/bench/internal/stat"
	"quern/engine/asr"
	"quern/engine/asr/audio"
	"quern/engine/asr/conformer"
	"quern/engine/cpu"
	run "quern/engine/onnx"
	"quern/engine/onnx/serve"
	"quern/formats/onnx"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// A request is a line for peer.mjs.
type request struct {
	Load    string            `json:"load,omitempty"`   // an encoder
	Sherpa  map[string]string `json:"sherpa,omitempty"` // encoder, decoder, joiner, tokens
	Threads int               `json:"threads,omitempty"`
	Shape   []int             `json:"shape,omitempty"` // of data
	Data    []byte            `json:"data,omitempty"`  // float32
	Samples []byte            `json:"samples,omitempty"`
}

type reply struct {
	MS, CPU float64
	Data    []byte
	Tokens  int
}

// sound is noise whose loudness changes as that of speech does.
func sound(seconds float64) audio.Samples {
	x := make(audio.Samples, int(seconds*audio.Rate))
	seed := uint32(1)
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = float32(int32(seed)) / (1 << 31) * float32(0.15+0.1*math.Sin(float64(i)*2*math.Pi*4/audio.Rate))
	}
	return x
}

// graphOf returns the file of a graph in a folder, of the only number type there is.
func graphOf(dir, name string) (string, error) {
	for _, suffix := range []string{".onnx", ".int8.onnx", ".fp16.onnx"} {
		if list, _ := filepath.Glob(filepath.Join(dir, name+suffix)); len(list) > 0 {
			return list[0], nil
		}
	}
	return "", fmt.Errorf("there is no %s in %s", name, dir)
}

// compareEncoder runs the encoder of a model in turn with ONNX Runtime.
func compareEncoder(dir string, o options) (err error) {
	defer must.Catch(&err)
	path := must.Get(graphOf(dir, "encoder"))
	m := must.Get(onnx.Open(path))
	defer m.Close()
	pool := threads.NewPool(o.threads)
	defer pool.Close()
	session := must.Get(run.New(m, run.Options{Pool: pool}))
	f := must.Get(audio.NewFeatures("nemo-128"))
	rows := f.Of(sound(o.seconds))
	frames := len(rows) / f.Bands()
	x := make([]float32, len(rows))
	for i, v := range rows {
		x[i%f.Bands()*frames+i/f.Bands()] = v
	}
	in := map[string]*run.Tensor{"audio_signal": run.NewFloats([]int{1, f.Bands(), frames}, x), "length": run.NewInts([]int{1}, []int64{int64(frames)})}
	if o.profile != "" {
		return profiled(o, func() error {
			_, err := session.Run(context.Background(), in)
			return err
		})
	}
	p := must.Get(peer.Start[request, reply](o.script, o.peers, "onnxruntime-node"))
	defer p.Stop()
	must.Get(p.Ask(request{Load: path, Threads: o.threads}))
	ask := request{Shape: []int{1, f.Bands(), frames}, Data: quant.Floats(x)}
	got := must.Get(session.Run(context.Background(), in))["outputs"]
	data := must.Get(p.Ask(ask)).Data
	want := make([]float32, len(data)/4)
	quant.F32.Layout().Decode(want, data)
	t := must.Get(peer.InTurn(o.runs, func() error {
		_, err := session.Run(context.Background(), in)
		return err
	}, times(p, ask)))
	title := fmt.Sprintf("encoder of %s, %g s, %d threads", filepath.Base(path), o.seconds, o.threads)
	show(title, "onnxruntime", t)
	fmt.Printf("furthest apart: %.2g of the root mean square\n", stat.Furthest(got.F, want))
	return nil
}

// profiled writes what runs spend their time on, behind one that warms up.
func profiled(o options, do func() error) (err error) {
	defer must.Catch(&err)
	must.Do(do())
	f := must.Get(os.Create(o.profile))
	defer f.Close()
	must.Do(pprof.StartCPUProfile(f))
	defer pprof.StopCPUProfile()
	for range o.runs {
		begin, cpu := time.Now(), stat.CPUTime()
		must.Do(do())
		fmt.Printf("%.1f ms, %.1f of CPU\n", time.Since(begin).Seconds()*1e3, (stat.CPUTime()-cpu).Seconds()*1e3)
	}
	return nil
}

// times asks what a run of the peer's takes.
func times(p *peer.Process[request, reply], ask request) func() (wall, cpu float64, err error) {
	return func() (wall, cpu float64, err error) {
		r, err := p.Ask(ask)
		return r.MS, r.CPU, err
	}
}

// show prints the times of two programs.
func show(title, name string, t peer.Times) {
	fmt.Printf("%s; milliseconds, medians (best)\n\n| | quern | %s | ratio |\n|---|---:|---:|---:|\n", title, name)
	for i, x := range [][2][]float64{t.Wall, t.CPU} {
		a, b := stat.Median(x[0]), stat.Median(x[1])
		fmt.Printf("| %s | %.1f (%.1f) | %.1f (%.1f) | %.2f (%.2f) |\n", []string{"wall", "CPU"}[i], a, slices.Min(x[0]), b, slices.Min(x[1]), b/a, slices.Min(x[1])/slices.Min(x[0]))
	}
}

// open opens a model of quern's.
func open(dir string, threads int) (_ *conformer.Model, done func(), err error) {
	defer must.Catch(&err)
	backend := cpu.Open(threads)
	m, err := conformer.Open(context.Background(), dir, conformer.OpenOptions{PerFrame: 5, Compile: func(ctx context.Context, g *onnx.Model) (conformer.Graph, error) {
		return serve.Host{Processor: backend, Limit: 8 << 30}.Graph(ctx, g)
	}})
	if err != nil {
		backend.Close()
		return nil, nil, err
	}
	return m, func() { m.Close(); backend.Close() }, nil
}

// hear transcribes sound and returns how many tokens it has.
func hear(m *conformer.Model, x audio.Samples) (tokens int, err error) {
	for s, err := range m.Transcribe(context.Background(), &x, asr.Options{Without: asr.GuardVAD}) {
		if err != nil {
			return 0, err
		}
		tokens += len(s.Tokens)
	}
	return tokens, nil
}

// compareWhole transcribes sound in turn with sherpa-onnx, from samples to text. Sound of at
// most 40 s is one window of quern's.
func compareWhole(dir string, o options) (err error) {
	defer must.Catch(&err)
	m, done, err := open(dir, o.threads)
	must.Do(err)
	defer done()
	files := map[string]string{"tokens": filepath.Join(dir, "tokens.txt")}
	for _, name := range []string{"encoder", "decoder", "joiner"} {
		files[name] = must.Get(graphOf(dir, name))
	}
	p := must.Get(peer.Start[request, reply](o.script, o.peers, "sherpa-onnx-node", "LD_LIBRARY_PATH="+filepath.Join(o.peers, "node_modules", "sherpa-onnx-linux-x64")))
	defer p.Stop()
	must.Get(p.Ask(request{Sherpa: files, Threads: o.threads}))
	x := sound(o.seconds)
	ask := request{Samples: quant.Floats(x)}
	ours, theirs := must.Get(hear(m, x)), must.Get(p.Ask(ask)).Tokens // and warms up
	t := must.Get(peer.InTurn(o.runs, func() error {
		_, err := hear(m, x)
		return err
	}, times(p, ask)))
	show(fmt.Sprintf("%s, %g s of sound, %d threads, %d and %d tokens", strings.TrimSuffix(filepath.Base(files["encoder"]), ".onnx"), o.seconds, o.threads, ours, theirs), "sherpa-onnx", t)
	return nil
}

// anHour transcribes sound of any length and prints the peak of memory as it goes.
func anHour(dir string, o options) (err error) {
	defer must.Catch(&err)
	m, done, err := open(dir, o.threads)
	must.Do(err)
	defer done()
	start, tokens := time.Now(), 0
	told := 0.0
	src := &noise{left: int(o.seconds * audio.Rate)}
	for s, err := range m.Transcribe(context.Background(), src, asr.Options{Without: asr.GuardVAD}) {
		must.Do(err)
		tokens += len(s.Tokens)
		if s.End >= told+o.seconds/6 {
			told = s.End
			_, peak := stat.Resident()
			fmt.Printf("%5.0f s: peak %.0f MB, %.3f of real time\n", s.End, peak, time.Since(start).Seconds()/s.End)
		}
	}
	_, peak := stat.Resident()
	fmt.Printf("%g s of sound in %.1f s (%.4f of real time), %d tokens, peak %.0f MB\n", o.seconds, time.Since(start).Seconds(), time.Since(start).Seconds()/o.seconds, tokens, peak)
	return nil
}

// A noise is a Source that makes its sound as it goes.
type noise struct {
	left int
	seed uint32
}

// Read implements audio.Source.
func (n *noise) Read(dst []float32) (int, error) {
	k := min(len(dst), n.left)
	if k == 0 {
		return 0, io.EOF
	}
	for i := range dst[:k] {
		n.seed = n.seed*1664525 + 1013904223
		dst[i] = float32(int32(n.seed)) / (1 << 33)
	}
	n.left -= k
	return k, nil
}
