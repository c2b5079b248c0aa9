package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// embedded kills one server with an embedded store, again and again.
func embedded(ctx context.Context, o *options) error {
	q, err := newQuern(o, "quern", "--threads", "1")
	if err != nil {
		return err
	}
	return chaos(ctx, o, []*process{q})
}

// cluster kills servers and nodes of a JetStream cluster of three, which keeps three copies.
func cluster(ctx context.Context, o *options) error {
	const nodes, querns = 3, 3
	var ports [2 * nodes]int
	for i := range ports {
		p, err := freePort()
		if err != nil {
			return err
		}
		ports[i] = p
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var all []*process
	var addrs, routes []string
	for i := range nodes {
		addrs = append(addrs, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[nodes+i]))
	}
	for i := range nodes {
		name := fmt.Sprintf("node%d", i+1)
		all = append(all, &process{name: name, log: filepath.Join(o.dir, name+".log"), args: []string{self, "node", "-name", name,
			"-port", fmt.Sprint(ports[i]), "-route", fmt.Sprint(ports[nodes+i]), "-routes", strings.Join(routes, ","), "-dir", filepath.Join(o.dir, name)}})
	}
	config := filepath.Join(o.dir, "quern.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "jobs: {store: %q, replicas: %d, workers: 4, max_bytes: 256MiB}\n", strings.Join(addrs, ","), nodes), 0o600); err != nil {
		return err
	}
	for i := range querns {
		q, err := newQuern(o, fmt.Sprintf("quern%d", i+1), "--config", config, "--threads", "1")
		if err != nil {
			return err
		}
		all = append(all, q)
	}
	return chaos(ctx, o, all)
}

// chaos begins a batch, and kills one process after the other and starts it again until the
// kills are used up. Then it waits for the end and counts.
func chaos(ctx context.Context, o *options, all []*process) error {
	r := rand.New(rand.NewPCG(o.seed, 0))
	var bases []string
	for _, p := range all {
		defer p.kill()
		if err := p.start(ctx); err != nil {
			return err
		}
		if p.base != "" {
			bases = append(bases, p.base)
		}
	}
	began := time.Now()
	b, err := begin(ctx, bases, o)
	if err != nil {
		return err
	}
	kills := 0
	for ; kills < o.kills; kills++ {
		if err := wait(ctx, between(r, 200*time.Millisecond, 1200*time.Millisecond)); err != nil {
			return err
		}
		now, err := look(ctx, bases, b.ID)
		if err != nil {
			return err
		}
		if now.Status == "completed" {
			break
		}
		p := all[r.IntN(len(all))]
		fmt.Printf("%5.1f s: %d lines are done, kill -9 %s\n", time.Since(began).Seconds(), now.Counts.Completed, p.name)
		p.kill()
		// Some are away for a moment, some for longer.
		if err := wait(ctx, between(r, 0, 500*time.Millisecond)); err != nil {
			return err
		}
		if err := p.start(ctx); err != nil {
			return err
		}
	}
	if kills < (o.kills+1)/2 { // a fast machine is through before the last
		return fmt.Errorf("the batch was over after %d kills of %d; give it more lines", kills, o.kills)
	}
	if err := finish(ctx, bases, b.ID, o.lines); err != nil {
		return err
	}
	twice := 0
	for _, p := range all {
		text, err := os.ReadFile(p.log)
		if err != nil {
			return err
		}
		twice += bytes.Count(text, []byte("a line was computed twice"))
		if bytes.Contains(text, []byte("panic:")) {
			err = errors.Join(err, fmt.Errorf("%s panicked; see %s", p.name, p.log))
		}
		if err != nil {
			return err
		}
	}
	fmt.Printf("%d kills, %.0f s, %d results came second and were refused\n", kills, time.Since(began).Seconds(), twice)
	return nil
}

// node is a JetStream server of a cluster, which syncs before it acknowledges.
func node(args []string) error {
	f := flag.NewFlagSet("node", flag.ExitOnError)
	name := f.String("name", "", "its name")
	port := f.Int("port", 0, "for clients")
	route := f.Int("route", 0, "for other nodes")
	routes := f.String("routes", "", "addresses of all nodes")
	dir := f.String("dir", "", "its store")
	_ = f.Parse(args) // it exits by itself
	o := &server.Options{ServerName: *name, Host: "127.0.0.1", Port: *port, NoSigs: true,
		JetStream: true, StoreDir: *dir, SyncAlways: true, JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 256 << 20,
		Cluster: server.ClusterOpts{Name: "quern", Host: "127.0.0.1", Port: *route}}
	for a := range strings.SplitSeq(*routes, ",") {
		u, err := url.Parse(a)
		if err != nil {
			return err
		}
		o.Routes = append(o.Routes, u)
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	s.Start()
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	<-end
	s.Shutdown()
	return nil
}
