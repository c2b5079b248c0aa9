// Command kokoro writes a directory that looks like Kokoro-82M with random weights:
// the published sizes, ten voices, and noise for speech. Speed, memory and protocol
// can be measured on it without a download. Run it from the root of the repository:
//
//	go run ./bench/kokoro -o /tmp/kokoro-random
//
// With -onnx it writes what is most of the work as a graph for others' engines
// (bench/onnx -speed DIR -file FILE -sizes T=274,120T+1=32881). With -first it measures
// what is computed until the first sound of an answer is there, and how clean the joins of
// utterances are.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"quern/bench/internal/must"
	"quern/engine/tts/kokoro/kokorotest"
	"quern/formats/safetensors"
	"quern/formats/weights"
	"quern/kernels/quant"
)

var voices = []string{"af_bella", "af_nicole", "af_sarah", "af_sky", "am_adam", "am_michael", "bf_emma", "bf_isabella", "bm_george", "bm_lewis"}

func main() {
	like := flag.String("like", "engine/tts/kokoro/testdata/kokoro-tiny.safetensors", "the small model whose tensors are made large, a `file`")
	out := flag.String("o", "", "`folder` to write")
	graph := flag.String("onnx", "", "write the network from durations on to this `file`")
	dir := flag.String("first", "", "measure the first chunk of answers by the model in this `folder`")
	n := flag.Int("threads", 2, "threads of -first")
	runs := flag.Int("runs", 5, "runs of -first, of which the median and the least count")
	profile := flag.String("profile", "", "`file` for what -first spends its time on, as pprof reads it")
	flag.Parse()
	do := func() error { return run(*like, *out) }
	switch {
	case *graph != "":
		do = func() error { return writeGraph(*graph) }
	case *dir != "":
		do = func() error { return first(*dir, *n, *runs, *profile, os.Stdout) }
	}
	must.End("kokoro", do())
}

func run(like, out string) (err error) {
	defer must.Catch(&err)
	if out == "" {
		return errors.New("want a folder to write: -o DIR")
	}
	set := must.Get(kokorotest.Published(must.Get(safetensors.Open(like)), true))
	must.Do(os.MkdirAll(filepath.Join(out, "voices"), 0o755))
	n := must.Get(writeModel(filepath.Join(out, "model.safetensors"), set))
	rng := rand.New(rand.NewPCG(3, 4))
	for _, id := range voices {
		pack := make([]float32, 510*256)
		for i := range pack {
			pack[i] = float32(rng.NormFloat64() * 0.1)
		}
		must.Do(os.WriteFile(filepath.Join(out, "voices", id+".bin"), quant.Floats(pack), 0o644))
	}
	fmt.Printf("%s: %.1f M parameters, %d voices\n", out, float64(n)/1e6, len(voices))
	return nil
}

// writeModel writes float32 tensors as one SafeTensors file and returns how many
// numbers they hold.
func writeModel(path string, set *weights.Set) (_ int, err error) {
	defer must.Catch(&err)
	type entry struct {
		Type    string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	head, at := map[string]entry{}, 0
	for t := range set.All() {
		head[t.Name] = entry{"F32", t.Shape, [2]int{at, at + len(t.Data)}}
		at += len(t.Data)
	}
	text := must.Get(json.Marshal(head))
	f := must.Get(os.Create(path))
	defer f.Close()
	w := bufio.NewWriter(f)
	must.Do(binary.Write(w, binary.LittleEndian, uint64(len(text))))
	w.Write(text) // bufio keeps the first error for Flush
	for t := range set.All() {
		w.Write(t.Data)
	}
	must.Do(w.Flush())
	return at / 4, f.Close()
}
