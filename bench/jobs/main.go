// Command jobs shows what batch work is worth: it kills servers in the middle of a batch,
// counts what was lost and what was answered twice, and measures how fast lines run and
// what chats notice of them.
//
//	go run ./bench/jobs -quern QUERN embedded -lines 10000 -kills 20
//	go run ./bench/jobs -quern QUERN cluster -lines 2000 -kills 12
//	go run ./bench/jobs -quern QUERN outage -lines 2000 -kills 12
//	go run ./bench/jobs -quern QUERN pace -lines 5000
//
// QUERN is a quern binary. Everything listens on 127.0.0.1 and lies in a folder of its own,
// which is removed when it ends well. It exits with 1 if a line was lost or answered twice.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"quern/bench/internal/must"
)

type options struct {
	quern, dir string
	model      string
	lines      int
	kills      int
	tokens     int
	chats      int
	pause      time.Duration
	steady     int
	seed       uint64
	lazy       bool
	mounts     bool
}

var commands = map[string]func(context.Context, *options) error{
	"embedded": embedded, "cluster": cluster, "outage": outage, "pace": pace,
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "node" {
		exit(node(os.Args[2:]))
	}
	var o options
	flag.StringVar(&o.quern, "quern", "", "quern binary")
	flag.Parse()
	run := commands[flag.Arg(0)]
	if run == nil || o.quern == "" {
		fmt.Fprintln(os.Stderr, "jobs: write jobs -quern BINARY embedded, cluster, outage or pace; see -help")
		os.Exit(2)
	}
	f := flag.NewFlagSet(flag.Arg(0), flag.ExitOnError)
	f.StringVar(&o.model, "model", "", "file that is asked (default the built-in model)")
	f.IntVar(&o.lines, "lines", 2000, "lines of the batch")
	f.IntVar(&o.kills, "kills", 20, "processes that are killed while it runs; of outage, how often all of them are")
	f.IntVar(&o.tokens, "tokens", 16, "of each answer to a line")
	f.IntVar(&o.chats, "chats", 200, "of pace: chats without and with a batch")
	f.DurationVar(&o.pause, "pause", 100*time.Millisecond, "of pace: between chats, on average")
	f.IntVar(&o.steady, "steady", 1000, "of pace: tokens of replies that go on beside a batch")
	f.Uint64Var(&o.seed, "seed", rand.Uint64(), "of what is killed when")
	f.BoolVar(&o.lazy, "lazy", false, "of outage: nodes sync every two minutes, as JetStream does unless it is told; something is lost then")
	f.BoolVar(&o.mounts, "mounts", false, "of outage: it has mounts of its own already, and may make some")
	_ = f.Parse(flag.Args()[1:]) // it exits by itself
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "jobs")
	if err != nil {
		exit(err)
	}
	o.dir = dir
	fmt.Printf("seed %d, logs in %s\n", o.seed, dir)
	if err := run(ctx, &o); err != nil {
		exit(err)
	}
	exit(os.RemoveAll(dir))
}

func exit(err error) {
	must.End("jobs", err)
	os.Exit(0)
}

// between is a random time.
func between(r *rand.Rand, lo, hi time.Duration) time.Duration {
	return lo + time.Duration(r.Int64N(int64(hi-lo)))
}
