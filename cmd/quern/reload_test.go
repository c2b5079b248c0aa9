package main

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/cmd/quern/internal/certs"
	"quern/cmd/quern/internal/certs/certstest"
	"quern/cmd/quern/internal/settings"
	"quern/engine"
	"quern/engine/local"
	"quern/httpapi"
	"quern/kernels"
)

// following is a reloader of dir/quern.yaml, and the state of its server as one text.
func following(t *testing.T, dir string) (f *reloader, state func() string) {
	t.Helper()
	file := filepath.Join(dir, "quern.yaml")
	a := &app{out: &output{}, err: &output{}}
	cmd := a.serveCmd()
	if err := cmd.Flags().Set("config", file); err != nil {
		t.Fatal(err)
	}
	f = &reloader{load: func() (*settings.Loaded, error) { return a.read(cmd) }, addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, level: &a.level, log: slog.New(slog.DiscardHandler)}
	var err error
	if f.now, err = f.load(); err != nil {
		t.Fatal(err)
	}
	f.began = f.now
	f.level.Set(level(f.now))
	if f.engine, err = local.New(engine.Options{Aliases: f.now.Aliases, Threads: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.engine.Close() })
	if f.api, err = httpapi.New(f.now.APIOptions(f.engine, "", f.log)); err != nil {
		t.Fatal(err)
	}
	if f.certs, err = certs.Open(certs.Files(f.now.TLS), f.log); err != nil {
		t.Fatal(err)
	}
	return f, func() string {
		var b strings.Builder
		for _, k := range f.api.Keys() {
			fmt.Fprintf(&b, "%s %x %v; ", k.Name, k.SHA256[:4], k.Manage)
		}
		names := map[string]string{}
		for _, m := range f.engine.Models() {
			if m.AliasOf != "" {
				names[m.ID] = m.AliasOf
			}
		}
		c, err := f.certs.Config().GetConfigForClient(nil)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%v; %v; %s", names, f.level.Level(), c.Certificates[0].Leaf.Subject.CommonName)
		return b.String()
	}
}

// Whatever a configuration becomes, a running server follows all of it or nothing.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	ca := certstest.New(t, "ca")
	put := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		cert, key := ca.Sign(name)
		put(name+".pem", cert)
		put(name+".key", key)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	// Each part of a configuration: what is right, and what is wrong.
	parts := []struct{ right, wrong []string }{
		{[]string{"auth: [{name: x, key: one}]", "auth: [{name: x, key: two, manage: true}, {name: y, key: one}]", "auth: none", ""},
			[]string{"auth: [{name: x}]", "auth: [{name: x, key_file: absent}]", "auth: [{name: x, key: one}, {name: x, key: two}]", "auth: 3"}},
		{[]string{"aliases: {gpt: quern-tiny}", "aliases: {gpt: quern-tiny, o: quern-tiny}", ""}, []string{"aliases: [gpt]", "aliases: gpt"}},
		{[]string{"log: {level: debug}", "log: {level: error}", ""}, []string{"log: {level: loud}", "lok: {level: info}"}},
		{[]string{"tls: {cert: a.pem, key: a.key}", "tls: {cert: b.pem, key: b.key}"}, []string{"tls: {cert: a.pem, key: b.key}", "tls: {cert: a.pem}", "tls: {cert: gone.pem, key: a.key}"}},
		{[]string{"", "threads: 3", "request_timeout: 5m"}, []string{"threads: many", "request_timeout: 5", "model_defaults: {draft: nosuch}", "model_defaults: {chat_template: '{% if %}'}"}},
	}
	put("quern.yaml", []byte("tls: {cert: a.pem, key: a.key}\nauth: [{name: x, key: one}]"))
	f, state := following(t, dir)
	kept := 0
	for range 100 {
		var lines []string
		bad := false
		for _, p := range parts {
			if rng.IntN(15) == 0 {
				bad = true
				lines = append(lines, pick(p.wrong...))
			} else {
				lines = append(lines, pick(p.right...))
			}
		}
		text := strings.Join(lines, "\n")
		if rng.IntN(15) == 0 {
			bad = true
			text += pick("\n  : {", "\n\t- x", "\nlisten: [")
		}
		put("quern.yaml", []byte(text))
		before := state()
		if err := f.reload(); (err != nil) != bad {
			t.Fatalf("%v of\n%s", err, text)
		}
		if bad {
			kept++
			if after := state(); after != before {
				t.Fatalf("a configuration with a mistake changed %q to %q:\n%s", before, after, text)
			}
			continue
		}
		fresh, want := following(t, dir)
		if got := state(); got != want() {
			t.Fatalf("follows to %q, a start gives %q:\n%s", got, want(), text)
		}
		fresh.engine.Close()
	}
	if kept < 15 || kept > 70 {
		t.Errorf("%d of 100 configurations had mistakes", kept)
	}
}

// Settings that need a restart are named, and the keys of a public server cannot be removed.
func TestFollowNames(t *testing.T) {
	dir := t.TempDir()
	ca := certstest.New(t, "ca")
	cert, key := ca.Sign("a")
	for name, text := range map[string][]byte{"a.pem": cert, "a.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put := func(text string) { write(t, filepath.Join(dir, "quern.yaml"), text) }
	put("tls: {cert: a.pem, key: a.key}\nauth: [{name: x, key: one}]")
	f, state := following(t, dir)
	var log output
	f.log = slog.New(slog.NewTextHandler(&log, nil))
	put("threads: 2\nlisten: :99\nlog: {level: warn}\nauth: [{name: x, key: one}]\nmodels: [{path: m.gguf, slots: 3}]")
	if err := f.reload(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`changed=log.level`, `settings="listen models threads tls"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
	put("tls: {cert: a.pem, key: a.key}\nauth: [{name: x, key: one}]") // as it runs
	if err := f.reload(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "hold from the next start on"); n != 1 {
		t.Errorf("%d times of two it is said that something waits for a start:\n%s", n, log.String())
	}
	f.addr = &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}
	before := state()
	put("log: {level: error}")
	if err := f.reload(); err == nil || !strings.Contains(err.Error(), "no API key") || state() != before {
		t.Errorf("%v; %q, before %q", err, state(), before)
	}
}

// TestFollowRounding: how numbers are multiplied holds from the start on, also while settings are
// read that say otherwise.
func TestFollowRounding(t *testing.T) {
	exact := kernels.Level()
	kernels.RoundFloats(true)
	rounded := kernels.Level()
	kernels.RoundFloats(false)
	if rounded == exact {
		t.Skip("this CPU has nothing to round with")
	}
	dir := t.TempDir()
	cert, key := certstest.New(t, "ca").Sign("a")
	write(t, filepath.Join(dir, "a.pem"), string(cert))
	write(t, filepath.Join(dir, "a.key"), string(key))
	put := func(text string) {
		write(t, filepath.Join(dir, "quern.yaml"), "tls: {cert: a.pem, key: a.key}\n"+text)
	}
	put("")
	f, _ := following(t, dir)
	for _, text := range []string{"round_floats: true", "round_floats: true\ntls: {cert: gone.pem, key: a.key}"} {
		put(text)
		_ = f.reload() // the second is refused
		if got := kernels.Level(); got != exact {
			t.Fatalf("level %s after a reload; want %s", got, exact)
		}
	}
}

// The operations listener has profiles and needs no key; the API has none, with a
// key or without.
func TestOperations(t *testing.T) {
	p := start(t, []string{"QUERN_API_KEY=secret"}, "serve", "--listen", "127.0.0.1:0", "--operations-listen", "127.0.0.1:0", "--log-format", "json")
	base := p.wait(t, `listening on (http://127\.0\.0\.1:[1-9]\d*)\n`)[1]
	p.wait(t, `Try`)
	_, rest, _ := strings.Cut(p.err.String(), `"msg":"operations","address":"`)
	watch, _, _ := strings.Cut(rest, `"`)
	get := func(url, key string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	paths := []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/pprof/symbol"}
	for path, want := range map[string][2]int{"/metrics": {200, 401}, "/readyz": {200, 200}, "/livez": {200, 200}, "/healthz": {200, 404}, "/v1/models": {404, 401},
		"/readyz?model=quern-tiny": {503, 401}, "/readyz?model=absent": {404, 401}} {
		if got := [2]int{get("http://"+watch+path, ""), get(base+path, "")}; got != want {
			t.Errorf("%s: %v; want %v", path, got, want)
		}
	}
	for _, path := range paths {
		if got := get("http://"+watch+path, ""); got != 200 {
			t.Errorf("%s for operators: %d", path, got)
		}
		for _, key := range []string{"", "secret"} {
			if got := get(base+path, key); got != 404 {
				t.Errorf("%s on the API: %d", path, got)
			}
		}
	}
	if code := p.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
}
