package residency_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"time"

	"quern/engine"
	"quern/engine/catalog"
	"quern/engine/residency"
)

type model struct{ bytes int64 }

func (m model) Bytes() int64             { return m.bytes }
func (m model) Stats() engine.ModelStats { return engine.ModelStats{Fingerprint: "fp_1"} }
func (m model) Close()                   {}

type kinds struct{}

func (kinds) Describe(_, path string, _ engine.ModelOptions) (*catalog.About, error) {
	return &catalog.About{Path: path}, nil
}
func (kinds) IsFile(string) bool                  { return true }
func (kinds) IsFolder(string, []fs.DirEntry) bool { return false }

// A model is loaded for the first request, and stays when that has ended.
func Example() {
	o := engine.Options{
		Models:      []engine.ModelOptions{{Name: "tiny", Path: "tiny.gguf"}},
		MemoryLimit: 1 << 30, LoadTimeout: time.Minute, MemoryWait: time.Minute, KeepAlive: -1, Log: slog.New(slog.DiscardHandler),
	}
	c, err := catalog.New(catalog.Options{Options: o, Kinds: kinds{}})
	if err != nil {
		log.Fatal(err)
	}
	k := residency.New(residency.Options{Options: o, Catalog: c,
		Open: func(ctx context.Context, n *catalog.Entry, l *residency.Load) (residency.Model, error) {
			return model{1 << 20}, l.Room(ctx, 1<<20)
		}})
	defer k.Close()
	n := c.Find("tiny")
	fmt.Println(k.State(n).Status)
	lease, err := k.Acquire(context.Background(), n)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lease.ID, "takes", engine.MiB(lease.Model.Bytes()))
	lease.Release()
	fmt.Println(k.State(n).Status)
	// Output:
	// unloaded
	// tiny takes 1 MiB
	// loaded
}
