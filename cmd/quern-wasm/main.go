//go:build !js

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"quern/httpapi/page"
)

//go:embed web
var web embed.FS

// engineFolder is where the engine's files are in the site.
const engineFolder = "engine"

// data are the files that main_js.go finds below /site.
var data = []string{"engine/builtin/quern-tiny.gguf", "engine/tts/g2p/data/lexicon.bin", "engine/tts/g2p/data/graphones.bin", "engine/tts/lang/mandarin/data/mandarin.bin"}

func main() {
	hub := flag.String("hub", "", "`address` of a hub of models, if not Hugging Face's")
	compress := flag.Bool("compress", true, "put .gz and, by node, .br beside the files")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "Writes a static site in which quern runs, to be served by any server of files.\n\n  go run ./cmd/quern-wasm [flags] OUT\n\nIt is run in the root of the checkout.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(flag.Arg(0), *hub, *compress); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write makes the site.
func write(out, hub string, compress bool) error {
	s := site{}
	if err := s.page(page.Files()); err != nil {
		return err
	}
	if err := s.engine(); err != nil {
		return err
	}
	if err := s.loader(hub); err != nil {
		return err
	}
	s.worker()
	for _, name := range s.names() {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, s[name], 0o666); err != nil {
			return err
		}
		if compress {
			if err := pack(path, s[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// A site is its files by their names, with slashes.
type site map[string][]byte

func (s site) names() []string { return slices.Sorted(maps.Keys(s)) }

var moduleScript = regexp.MustCompile(`(?s)<script type="module" src="([^"]+)"></script>`)

// page takes the page's files.
func (s site) page(files fs.FS) error {
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(name); err != nil || d.IsDir() || ext == ".br" || ext == ".gz" {
			return err
		}
		s[name], err = fs.ReadFile(files, name)
		return err
	})
	if err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	return nil
}

// loader has the script of index.html run when the engine can be asked: loader.js begins it, and
// learns the address of the hub, if there is one. It comes before everything else that the page
// fetches: a script waits for the styles that are named before it.
func (s site) loader(hub string) error {
	scripts := moduleScript.FindAllSubmatchIndex(s["index.html"], -1)
	if len(scripts) != 1 {
		return fmt.Errorf("the page: index.html has %d scripts that are modules, want one", len(scripts))
	}
	if hub != "" {
		hub = ` data-hub="` + html.EscapeString(hub) + `"`
	}
	index := s["index.html"]
	src, begin, end := index[scripts[0][2]:scripts[0][3]], scripts[0][0], scripts[0][1]
	const name = engineFolder + "/loader.js"
	s[name] = nil // a file of the site that it knows too
	s[name] = s.knowing("loader.js")
	loader := fmt.Appendf(nil, `<script src="%s" data-then="%s"%s></script>`, name, src, hub)
	first := begin
	if i := bytes.Index(index[:begin], []byte("<link")); i >= 0 {
		first = i
	}
	s["index.html"] = slices.Concat(index[:first], loader, index[first:begin], index[end:])
	return nil
}

// engine makes what is in the folder of the engine.
func (s site) engine() error {
	work, err := os.MkdirTemp("", "quern-site-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return err
	}
	program, kernels := filepath.Join(work, "quern.wasm"), filepath.Join(work, "kernels.wasm")
	if err := run(exec.Command("kernels/_wasm/kernels.sh", kernels, "shared")); err != nil {
		return fmt.Errorf("the kernels, which clang compiles: %w", err)
	}
	build := exec.Command("go", "build", "-tags", "simd128", "-trimpath", "-ldflags", "-w", "-o", program, "./cmd/quern-wasm")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if err := run(build); err != nil {
		return err
	}
	files := site{}
	for _, path := range append([]string{program, kernels}, data...) {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			return err
		}
	}
	// The worker is one script: each more that it asked for would take its time at every start.
	runner, err := os.ReadFile(filepath.Join(root, "lib/wasm/wasm_exec.js"))
	if err != nil {
		return err
	}
	files["worker.js"] = slices.Concat(script("fs.js"), runner, script("worker.js"))
	files["helper.js"] = script("helper.js")
	if err := files.program(work); err != nil {
		return fmt.Errorf("the program: %w", err)
	}
	for name, b := range files {
		s[engineFolder+"/"+name] = b
	}
	return nil
}

// program makes of the program that Go wrote one that has started, in the folder work, with the
// part of it that a first chat needs, and the rest.
func (s site) program(work string) error {
	m, names, err := parse(s["quern.wasm"])
	if err != nil {
		return err
	}
	if m, err = m.importMemory(); err != nil {
		return err
	}
	f, err := m.functions()
	if err != nil {
		return err
	}
	tried, err := m.profile(f)
	if err != nil {
		return err
	}
	for name, b := range s {
		switch name {
		case "quern.wasm":
			b = tried.bytes()
		case "worker.js":
			b = bytes.Replace(b, frozenMark, []byte("null"), 1)
		}
		if err := os.WriteFile(filepath.Join(work, name), b, 0o666); err != nil {
			return err
		}
	}
	if err := run(exec.Command("node", "cmd/quern-wasm/profile.mjs", work, fmt.Sprint(marks), fmt.Sprint(len(f.bodies)))); err != nil {
		return err
	}
	var made [3][]byte
	for i, name := range []string{"frozen.json", "image", "ran"} {
		if made[i], err = os.ReadFile(filepath.Join(work, name)); err != nil {
			return err
		}
	}
	image, ran := made[1], made[2]
	start, err := readFrozen(made[0])
	if err != nil {
		return err
	}
	if err := start.thin(image, s["quern-tiny.gguf"]); err != nil {
		return err
	}
	if err := dropLines(image); err != nil {
		return err
	}
	if m, err = m.thaw(start); err != nil {
		return err
	}
	if err := f.dropInits(image, names); err != nil {
		return err
	}
	start.Version = fmt.Sprintf("%x", sha256.Sum256(slices.Concat(m.bytes(), image, ran)))
	first, rest, err := m.split(f, start.Version, early(ran, names, f.imported))
	if err != nil {
		return err
	}
	if first, err = first.shrink(f, image); err != nil {
		return err
	}
	memory, places := pieces(image)
	start.Image = places
	value, err := json.Marshal(start)
	if err != nil {
		return err
	}
	s["quern.wasm"], s["rest.wasm"], s["memory.bin"] = first.bytes(), rest.bytes(), append(memory, start.Version...)
	s["worker.js"] = bytes.Replace(s["worker.js"], frozenMark, value, 1)
	return nil
}

// frozenMark is where worker.js learns what the program is when it goes on.
var frozenMark = []byte("{{frozen}}")

// script returns a file of web.
func script(name string) []byte {
	b, err := web.ReadFile("web/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return b
}

// worker makes the service worker, with the files and the version of the site. It
// stands at the top, since it answers for what is below it.
func (s site) worker() {
	code := s.knowing("sw.js")
	version := sha256.New()
	for _, name := range s.names() {
		fmt.Fprintf(version, "%s %d\n", name, len(s[name]))
		version.Write(s[name])
	}
	version.Write(code)
	s["sw.js"] = bytes.Replace(code, []byte("{{version}}"), fmt.Appendf(nil, "quern-%x", version.Sum(nil)[:8]), 1)
}

// knowing returns a file of web that calls the engine, with the list of the site's files.
func (s site) knowing(name string) []byte {
	list, err := json.Marshal(append([]string{""}, s.names()...)) // "" is index.html
	if err != nil {
		panic(err) // of names
	}
	code := bytes.Replace(script(name), []byte("{{files}}"), list, 1)
	return bytes.Replace(code, []byte("{{ask}}\n"), script("ask.js"), 1)
}

// brotli compresses a file with node, which has brotli.
const brotli = `const z = require('zlib'), fs = require('fs'), b = fs.readFileSync(process.argv[1]), p = z.constants;
fs.writeFileSync(process.argv[1] + '.br', z.brotliCompressSync(b, {params: {[p.BROTLI_PARAM_QUALITY]: 11, [p.BROTLI_PARAM_LGWIN]: 24, [p.BROTLI_PARAM_SIZE_HINT]: b.length}}));`

// pack puts compressed forms beside a file, where they are smaller.
func pack(path string, b []byte) error {
	var z bytes.Buffer
	w, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	if z.Len() >= len(b)*19/20 {
		return nil
	}
	if err := os.WriteFile(path+".gz", z.Bytes(), 0o666); err != nil {
		return err
	}
	return run(exec.Command("node", "-e", brotli, path))
}

func output(name string, args ...string) (string, error) {
	b, err := exec.Command(name, args...).Output()
	return strings.TrimSpace(string(b)), err
}

func run(c *exec.Cmd) error {
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(c.Args, " "), err)
	}
	return nil
}
