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
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
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
	api    *httpapi.API
	begun  sync.Once
}

// serve answers a request. The program that a site has was started when the site was made: for its
// users it starts with their first request.
func (a *app) serve(request js.Value) any {
	a.begun.Do(func() { a.api.Started = time.Now() })
	return serve(a.api, request)
}

func open(log *slog.Logger) (*app, error) {
	e, err := local.New(engine.Options{
		Builtin: true, Store: kept, Stored: hub.Store{Dir: kept}.Named, Threads: 1, Log: log, LoadTimeout: patience,
		Defaulted: engine.ModelOptions{Slots: slots},
	})
	if err != nil {
		return nil, err
	}
	models := store.New(store.Options{Dir: kept, Models: e, Log: log, Hub: func(progress func(hub.Progress)) (*hub.Client, error) {
		return hub.New(hub.Options{Store: hub.Store{Dir: kept}, Endpoint: js.Global().Get("site").Get("hub").String(), Parallel: 2, Chunk: chunk, Log: log, Progress: progress})
	}})
	o := httpapi.Options{
		Engine: e, Store: models, ManageAll: true, NoAuth: true, Upload: upload, TempFiles: tempFiles, RequestTimeout: patience, LoadTimeout: patience,
		StreamWrite: -1, Log: log, Version: "browser",
	}
	if err := warm(o); err != nil {
		return nil, err
	}
	api, err := httpapi.New(o)
	return &app{engine: e, api: api}, err
}

// warm has an API answer what pages ask first, so that what is made once is there: quern-tiny in
// memory, how it writes calls, what encodes JSON. It is another one than users have, which counts
// their requests alone.
func warm(o httpapi.Options) error {
	api, err := httpapi.New(o)
	if err != nil {
		return err
	}
	for _, x := range []struct{ method, path, body string }{
		{http.MethodGet, "/v1/models", ""},
		{http.MethodPost, "/v1/chat/completions", `{"messages":[{"role":"user","content":"Hello"}],"stream":true,"max_tokens":2,"temperature":0,"cache_prompt":false}`},
	} {
		r, err := http.NewRequest(x.method, x.path, strings.NewReader(x.body))
		if err != nil {
			return err
		}
		r.Host, r.RemoteAddr, r.RequestURI = "localhost", "127.0.0.1:0", x.path
		r.Header.Set("Content-Type", "application/json")
		w := nowhere{}
		if api.ServeHTTP(&w, r); w.status != http.StatusOK {
			return fmt.Errorf("%s is answered with %d: %s", x.path, w.status, w.body)
		}
	}
	return nil
}

// nowhere is the http.ResponseWriter of an answer that is not sent.
type nowhere struct {
	header http.Header
	status int
	body   []byte
}

func (w *nowhere) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

func (w *nowhere) WriteHeader(status int) { w.status = cmp.Or(w.status, status) }

func (w *nowhere) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = append(w.body, p...)
	return len(p), nil
}

func (w *nowhere) FlushError() error                { return nil }
func (w *nowhere) SetReadDeadline(time.Time) error  { return nil }
func (w *nowhere) SetWriteDeadline(time.Time) error { return nil }
func (w *nowhere) EnableFullDuplex() error          { return nil }

// functions are what worker.js calls.
func (a *app) functions() map[string]any {
	return map[string]any{
		"serve":  js.FuncOf(func(_ js.Value, args []js.Value) any { return a.serve(args[0]) }),
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
