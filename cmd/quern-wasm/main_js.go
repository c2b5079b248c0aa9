// Command quern-wasm is quern for browsers: the engine and the API behind messages of a
// service worker, and the writer of the site that it is part of.
//
// Built for GOOS=js it is what worker.js runs. Built for anything else it writes the site:
//
//	go run ./cmd/quern-wasm OUT
//
// The writer starts the program once and keeps its memory when it waits for requests; in
// browsers it goes on from there. So main runs where the site is written.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"syscall/js"
	"time"

	"quern/engine"
	"quern/engine/hub"
	"quern/engine/local"
	"quern/engine/store"
	"quern/httpapi"
)

// What an engine for one user takes less of than a server does: JavaScript keeps temporary
// files in memory too.
const (
	slots     = 4
	upload    = 256 << 20
	tempFiles = 512 << 20
	heap      = 3584 << 20 // bytes at which the collector works harder; there are 4 GiB
	rest      = 128 << 20  // bytes before which the collector does not run
	chunk     = 16 << 20   // bytes of a model that one request of a pull asks for
	patience  = 30 * time.Minute
)

// kept is where models are that were fetched: the origin's private folder.
const kept = "/kept"

// fetchRest has all functions of this program there. It begins with those that a start needs;
// where another is called first it does the same.
//
//go:wasmimport site rest
func fetchRest()

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	site := js.Global().Get("site")
	a, err := open(log)
	if err != nil {
		site.Call("failed", err.Error())
		return
	}
	site.Call("ready", a.functions())
	settle()
	select {}
}

// settle leaves in memory what is used, since the site brings all that is there. Then nothing
// is collected before there is memory worth it, which is after a first answer.
func settle() {
	runtime.GC()
	runtime.GC() // what finalizers have let go
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(rest)
	runtime.AddCleanup(new(*int), func(struct{}) {
		debug.SetMemoryLimit(heap)
		debug.SetGCPercent(50)
	}, struct{}{})
}

// An app is the engine with the API before it.
type app struct {
	engine *local.Engine
	api    http.Handler
}

func open(log *slog.Logger) (*app, error) {
	e, err := local.New(engine.Options{
		Builtin: true, Store: kept, Threads: 1, Log: log, LoadTimeout: patience,
		Defaulted: engine.ModelOptions{Slots: slots},
	})
	if err != nil {
		return nil, err
	}
	models := store.New(store.Options{Dir: kept, Models: e, Log: log, Hub: func(progress func(hub.Progress)) (*hub.Client, error) {
		return hub.New(hub.Options{Store: hub.Store{Dir: kept}, Endpoint: js.Global().Get("site").Get("hub").String(), Parallel: 2, Chunk: chunk, Log: log, Progress: progress})
	}})
	api, err := httpapi.New(httpapi.Options{
		Engine: e, Store: models, ManageAll: true, NoAuth: true, Upload: upload, TempFiles: tempFiles, RequestTimeout: patience, LoadTimeout: patience,
		StreamWrite: -1, Log: log, Version: "browser",
	})
	if err != nil {
		return nil, err
	}
	l, err := e.Open(context.Background(), "", engine.KindChat) // the built-in model
	if err != nil {
		return nil, err
	}
	l.Release() // and it stays in memory
	return &app{e, api}, nil
}

// functions are what worker.js calls.
func (a *app) functions() map[string]any {
	return map[string]any{
		"serve":  js.FuncOf(func(_ js.Value, args []js.Value) any { return serve(a.api, args[0]) }),
		"sum":    later(func(args []js.Value) (any, error) { return sum(args[0].String()) }),
		"serves": later(func(args []js.Value) (any, error) { return a.engine.Serves(args[0].String()), nil }),
		"add":    later(func(args []js.Value) (any, error) { return a.add(args[0].String(), args[1].String()) }),
	}
}

// add serves the model of a file or folder, and returns its name.
func (a *app) add(name, path string) (any, error) {
	fetchRest()
	info, err := a.engine.Add(engine.ModelOptions{Name: name, Path: path})
	return info.ID, err
}

// sum returns the SHA-256 of a file.
func sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, 1<<20))
	return hex.EncodeToString(h.Sum(nil)), err
}

// later makes a function of JavaScript whose promise is what f returns.
func later(f func(args []js.Value) (any, error)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		p := js.Global().Get("Promise").Call("withResolvers")
		go func() {
			v, err := f(args)
			if err != nil {
				p.Call("reject", js.Global().Get("Error").New(err.Error()))
				return
			}
			p.Call("resolve", v)
		}()
		return p.Get("promise")
	})
}
