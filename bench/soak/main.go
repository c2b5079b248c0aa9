//go:build linux

// Command soak mistreats a quern, one fault a sub-command, and exits with 1 where the server
// answers wrongly, loses something, grows, or stays away. It starts the servers itself, with the
// built-in model, in a folder that goes with it.
//
//	go run ./bench/soak -quern QUERN load -for 1h
//
// It needs Linux; disk, power and memory need the right to mount small file systems, and to make a
// control group. Where that is not given they say so, and exit with 0 unless -must is said.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"quern/bench/internal/drive"
)

type options struct {
	quern, dir string
	d          time.Duration
	clients    int
	times      int
	ready      time.Duration
	ratio      float64
	must       bool
	mounts     bool
}

// A fault is what is done to a server. do returns what is worth telling.
type fault struct {
	name, help string
	do         func(context.Context, *options) (string, error)
}

var faults = []fault{
	{"load", "clients that ask, leave, dawdle and send nonsense; then memory, goroutines and files are as before", load},
	{"kill", "kill -9 while files are uploaded and chats run; it is back soon, and what was accepted is whole", kill},
	{"power", "kill -9, and all that was not synced is gone: what was accepted is whole, and every batch ends with each line once", power},
	{"slow", "clients that do not read are dropped; others' answers come", slow},
	{"first", "the first answer after a start beside the second, with a warm-up and without", first},
	{"disk", "a full disk: uploads, batches and pulls get 507, chats go on, and so does all when there is room", disk},
	{"memory", "a control group with little memory: requests are refused, the process is not killed", memory},
	{"clock", "the clock jumps by an hour, forwards and back: nothing times out, no batch expires, no file goes", clock},
	{"vanish", "clients that vanish without a word are given up within 75 s", vanish},
}

// errNotHere is of faults that this machine does not allow.
var errNotHere = drive.ErrNotHere

func main() {
	var o options
	flag.StringVar(&o.quern, "quern", "", "quern binary")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "soak -quern BINARY FAULT [FLAG...], where FAULT is one of")
		for _, f := range faults {
			fmt.Fprintf(os.Stderr, "  %-8s %s\n", f.name, f.help)
		}
		flag.PrintDefaults()
	}
	flag.Parse()
	f := find(flag.Arg(0))
	if f == nil || o.quern == "" {
		flag.Usage()
		os.Exit(2)
	}
	own := flag.NewFlagSet(f.name, flag.ExitOnError)
	own.DurationVar(&o.d, "for", 5*time.Minute, "of load and memory: how long")
	own.IntVar(&o.clients, "clients", 16, "of load, memory and slow: clients at a time")
	own.IntVar(&o.times, "times", 100, "of kill, power and first: how often")
	own.DurationVar(&o.ready, "ready", time.Second, "of kill: longest way back")
	own.Float64Var(&o.ratio, "ratio", 0, "of slow: fail where others' p95 is so many times that beside clients that read; of first: where the first answer takes so many times the second; 0 only tells")
	own.BoolVar(&o.must, "must", false, "fail where this machine does not allow the fault")
	own.BoolVar(&o.mounts, "mounts", false, "of disk and power: it has mounts of its own already, and may make one")
	_ = own.Parse(flag.Args()[1:]) // it exits by itself
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := f.run(ctx, &o); err != nil {
		fmt.Fprintf(os.Stderr, "FAIL: %s: %v\n", f.name, err)
		os.Exit(1)
	}
}

func find(name string) *fault {
	for i := range faults {
		if faults[i].name == name {
			return &faults[i]
		}
	}
	return nil
}

func (f *fault) run(ctx context.Context, o *options) (err error) {
	if o.dir, err = os.MkdirTemp("", "soak-"); err != nil {
		return err
	}
	said, err := f.do(ctx, o)
	switch {
	case errors.Is(err, errNotHere) && !o.must:
		fmt.Printf("%s: %v\n", f.name, err)
	case err != nil:
		return fmt.Errorf("%w\nlogs are in %s", err, o.dir)
	default:
		fmt.Printf("%s: %s\n", f.name, strings.TrimSpace(said))
	}
	return os.RemoveAll(o.dir)
}
