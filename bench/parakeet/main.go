// Command parakeet writes recognisers of random weights and the sizes that are published,
// and compares quern with ONNX Runtime (onnxruntime-node) and sherpa-onnx
// (sherpa-onnx-node) on them. Run it from the root of the repository:
//
//	(cd bench/parakeet && npm install --ignore-scripts)
//	go run ./bench/parakeet -gen FOLDER -size 0.6b-v2 -numbers int8   # or f32, f16
//	go run ./bench/parakeet -encoder FOLDER -peers bench/parakeet
//	go run ./bench/parakeet -whole FOLDER -peers bench/parakeet
//	go run ./bench/parakeet -hour FOLDER
//	go run ./bench/parakeet -live FOLDER -sessions 16 -seconds 60
package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"

	"quern/bench/internal/must"
)

type options struct {
	threads, runs int
	seconds       float64
	peers, script string
	profile       string
}

func main() {
	var o options
	gen := flag.String("gen", "", "write a model to `folder`")
	size := flag.String("size", "0.6b-v2", "its size: 0.6b-v2, 0.6b-v3 or small")
	float := flag.String("numbers", "f32", "what it is of: f32, f16 or int8")
	encoder := flag.String("encoder", "", "compare the encoder of the model in `folder` with ONNX Runtime")
	whole := flag.String("whole", "", "compare recognition with the model in `folder` with sherpa-onnx")
	hour := flag.String("hour", "", "transcribe an hour with the model in `folder`, and tell the memory that takes")
	spoken := flag.String("live", "", "transcribe speakers while they speak with the model in `folder`, and tell how late text comes")
	sessions := flag.Int("sessions", 1, "speakers of -live at a time")
	flag.IntVar(&o.threads, "threads", 2, "threads of both programs")
	flag.IntVar(&o.runs, "runs", 5, "runs of each program, in turn")
	flag.Float64Var(&o.seconds, "seconds", 20, "of sound in a run; of -hour 3600 unless said")
	flag.StringVar(&o.peers, "peers", filepath.Join("bench", "parakeet"), "`folder` with node_modules")
	flag.StringVar(&o.script, "script", filepath.Join("bench", "parakeet", "peer.mjs"), "that runs the peers")
	flag.StringVar(&o.profile, "profile", "", "`file` for what quern's runs of -encoder spend their time on, as pprof reads it; the peer is left out")
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "seconds" })
	var err error
	switch {
	case *gen != "":
		s, ok := published[*size]
		if !ok {
			err = fmt.Errorf("there is no size %q", *size)
			break
		}
		of, ok := numbers[*float]
		if !ok {
			err = fmt.Errorf("there are no numbers %q", *float)
			break
		}
		err = generate(*gen, s, of)
	case *encoder != "":
		err = compareEncoder(*encoder, o)
	case *whole != "":
		err = compareWhole(*whole, o)
	case *hour != "":
		if !said {
			o.seconds = 3600
		}
		err = anHour(*hour, o)
	case *spoken != "":
		err = liveSessions(*spoken, *sessions, o)
	default:
		err = errors.New("want -gen, -encoder, -whole, -hour or -live; see -help")
	}
	must.End("parakeet", err)
}
