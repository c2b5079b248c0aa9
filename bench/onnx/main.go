// Command onnx compares quern with ONNX Runtime (onnxruntime-node): the results
// of random graphs, and the speed of encoders. Run it from the root of the
// repository:
//
//	(cd bench/onnx && npm install --ignore-scripts)
//	go run ./bench/onnx -check bench/onnx   # 20 random graphs of every family
//	go run ./bench/onnx -speed bench/onnx   # BERT-base and MiniLM, f32 to 4 bits
//	go run ./bench/onnx -speed bench/onnx -file m.onnx -sizes N=1,T=160000 # and any other
//	go run ./bench/onnx -reranker FOLDER    # write a small reranker that knows words
package main

import (
	"errors"
	"flag"
	"path/filepath"
	"regexp"

	"quern/bench/internal/must"
	"quern/bench/internal/peer"
)

func main() {
	check := flag.String("check", "", "compare the results of random graphs, with node_modules in `folder`")
	fast := flag.String("speed", "", "compare speed, with node_modules in `folder`")
	golden := flag.String("golden", "", "with -check: write the first graphs of each family and the peer's results to `folder`")
	file := flag.String("file", "", "with -speed: compare what is made of a `model` of float32, not encoders")
	sizes := flag.String("sizes", "", "of what the file's inputs name, as `N=1,T=160000`; random floats are read")
	ranker := flag.String("reranker", "", "write a model that ranks texts by the words they share to `folder`")
	each := flag.Int("graphs", 20, "graphs of each family")
	seed := flag.Uint64("seed", 1, "of the graphs")
	threads := flag.Int("threads", 2, "threads of both programs")
	runs := flag.Int("runs", 15, "runs of each program")
	rows := flag.Int("sequence", 128, "tokens of a sequence")
	batch := flag.Int("batch", 0, "sequences of a run; 0 measures 1 and 32")
	only := flag.String("only", "", "families or models that match `regexp`")
	script := flag.String("peer", filepath.Join("bench", "onnx", "peer.mjs"), "the `script` that runs the peer")
	flag.Parse()
	re, err := regexp.Compile(*only)
	switch {
	case err != nil:
	case *ranker != "":
		err = writeReranker(*ranker)
	case *check != "":
		err = with(*script, *check, func(p *node) error { return checkAll(p, *each, *seed, re, *golden) })
	case *fast != "" && *file != "":
		err = with(*script, *fast, func(p *node) error {
			return speedOf(p, *file, *sizes, speedOptions{*threads, *runs, *rows, *batch, re})
		})
	case *fast != "":
		err = with(*script, *fast, func(p *node) error {
			return speed(p, speedOptions{*threads, *runs, *rows, *batch, re})
		})
	default:
		err = errors.New("want -check, -speed or -reranker; see -help")
	}
	must.End("onnx", err)
}

func with(script, dir string, f func(*node) error) error {
	p, err := peer.Start[request, reply](script, dir, "onnxruntime-node")
	if err != nil {
		return err
	}
	return errors.Join(f(p), p.Stop())
}
