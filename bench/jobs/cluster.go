package main

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"quern/bench/internal/must"
	"quern/bench/internal/system"
)

// A party is the nodes of a JetStream cluster, which keeps three copies, and the servers that share it.
type party struct {
	nodes, querns []*process
	bases         []string // of the servers
	addrs         []string // of the nodes, for clients
}

// newCluster makes a cluster of three nodes with as many servers. The nodes keep their stores in the
// folders, or in folders of their own.
func newCluster(o *options, querns int, stores []string) (_ *party, err error) {
	defer must.Catch(&err)
	const nodes = 3
	ports := must.Get(system.FreePorts(2 * nodes))
	self := must.Get(os.Executable())
	all := new(party)
	var routes []string
	for i := range nodes {
		all.addrs = append(all.addrs, fmt.Sprintf("nats://127.0.0.1:%s", ports[i]))
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%s", ports[nodes+i]))
	}
	for i := range nodes {
		name := fmt.Sprintf("node%d", i+1)
		store := filepath.Join(o.dir, name)
		if len(stores) > 0 {
			store = stores[i]
		}
		all.nodes = append(all.nodes, &process{name: name, log: filepath.Join(o.dir, name+".log"), args: []string{self, "node", "-name", name,
			"-port", ports[i], "-route", ports[nodes+i], "-routes", strings.Join(routes, ","), "-dir", store, fmt.Sprintf("-lazy=%v", o.lazy)}})
	}
	config := filepath.Join(o.dir, "quern.yaml")
	must.Do(os.WriteFile(config, fmt.Appendf(nil, "jobs: {store: %q, replicas: %d, workers: 4, max_bytes: 256MiB}\n", strings.Join(all.addrs, ","), nodes), 0o600))
	for i := range querns {
		q := must.Get(newQuern(o, fmt.Sprintf("quern%d", i+1), "--config", config, "--threads", "1"))
		all.querns = append(all.querns, q)
		all.bases = append(all.bases, q.base)
	}
	return all, nil
}

// complete waits until every node has all that the others have.
func (p *party) complete(ctx context.Context) (err error) {
	defer must.Catch(&err)
	nc := must.Get(nats.Connect(strings.Join(p.addrs, ","), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1)))
	defer nc.Close()
	js := must.Get(jetstream.New(nc))
	return patiently(ctx, func() error {
		list := js.ListStreams(ctx)
		for s := range list.Info() {
			if s.Cluster == nil || s.Cluster.Leader == "" || len(s.Cluster.Replicas) != len(p.nodes)-1 {
				return fmt.Errorf("stream %s has no leader, or not all copies", s.Config.Name)
			}
			for _, r := range s.Cluster.Replicas {
				if !r.Current || r.Offline {
					return fmt.Errorf("stream %s: %s has not all of it", s.Config.Name, r.Name)
				}
			}
		}
		return list.Err()
	})
}

// node is a JetStream server of a cluster, which syncs before it acknowledges unless it is lazy.
func node(args []string) (err error) {
	defer must.Catch(&err)
	f := flag.NewFlagSet("node", flag.ExitOnError)
	name := f.String("name", "", "its name")
	port := f.Int("port", 0, "for clients")
	route := f.Int("route", 0, "for other nodes")
	routes := f.String("routes", "", "addresses of all nodes")
	dir := f.String("dir", "", "its store")
	lazy := f.Bool("lazy", false, "sync every two minutes, as JetStream does unless it is told")
	_ = f.Parse(args) // it exits by itself
	o := &server.Options{ServerName: *name, Host: "127.0.0.1", Port: *port, NoSigs: true,
		JetStream: true, StoreDir: *dir, SyncAlways: !*lazy, JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 256 << 20,
		Cluster: server.ClusterOpts{Name: "quern", Host: "127.0.0.1", Port: *route}}
	for a := range strings.SplitSeq(*routes, ",") {
		u := must.Get(url.Parse(a))
		o.Routes = append(o.Routes, u)
	}
	s := must.Get(server.NewServer(o))
	s.ConfigureLogger()
	s.Start()
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	<-end
	s.Shutdown()
	return nil
}
