//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"quern/bench/internal/drive"
	"quern/bench/internal/must"
)

// disk fills a small disk.
func disk(ctx context.Context, o *options) (string, error) { return mounted(ctx, o, "disk", full) }

// mounted runs the program again in a mount namespace of its own, and does do there.
func mounted(ctx context.Context, o *options, name string, do func(context.Context, *options) (string, error)) (string, error) {
	if o.mounts {
		if err := drive.Private(); err != nil {
			return "", err
		}
		return do(ctx, o)
	}
	err := drive.Again(ctx, "-quern", o.quern, name, "-mounts", fmt.Sprintf("-must=%v", o.must), fmt.Sprintf("-times=%d", o.times))
	return "in mounts of its own, as above", err
}

// space is what the small disk has.
const space = 192 << 20

// full fills a small disk that a server keeps everything on, and makes room again.
func full(ctx context.Context, o *options) (_ string, err error) {
	defer must.Catch(&err)
	mnt := filepath.Join(o.dir, "disk")
	must.Do(os.Mkdir(mnt, 0o700))
	if err := unix.Mount("soak", mnt, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", space)); err != nil {
		return "", fmt.Errorf("%w: a small file system: %w", errNotHere, err)
	}
	defer unix.Unmount(mnt, unix.MNT_DETACH)
	for _, name := range []string{"tmp", "models", "jobs"} {
		must.Do(os.Mkdir(filepath.Join(mnt, name), 0o700))
	}
	hub := must.Get(startHub(12 << 20))
	defer hub.Close()
	s := must.Get(newServer(o, fmt.Sprintf("%smodel_dirs: [%s/models]\njobs: {dir: %[2]s/jobs}\nhub: {endpoint: http://%s}\n", small, mnt, hub.addr)))
	s.env = []string{"TMPDIR=" + filepath.Join(mnt, "tmp"), "HF_HOME=" + filepath.Join(o.dir, "hf")}
	must.Get(s.start(ctx))
	defer s.kill()
	c := newClient(s)

	// While there is room.
	lines := []byte(`{"custom_id":"1","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"Hello"}],"max_tokens":4}}` + "\n")
	input := must.Get(c.upload(ctx, lines))
	kept := archive{files: map[string][]byte{input: lines}}
	content := []byte(strings.Repeat(`{"text": "`+strings.Repeat("x", 1000)+"\"}\n", 1000))
	for range 4 {
		id := must.Get(c.upload(ctx, content))
		kept.files[id] = content
	}

	// None is left.
	ballast := must.Get(fill(filepath.Join(mnt, "ballast")))
	said := fmt.Sprintf("of %d MiB, %d filled", space>>20, ballast>>20)
	for name, do := range map[string]func() error{
		"an upload": func() error { _, err := c.upload(ctx, content); return err },
		"a pull":    func() error { return c.pull(ctx) },
		"a batch": func() error {
			// Its record may still fit into what a file system keeps for small files; its lines
			// cannot. So batches are asked for until one is refused.
			for range 2000 {
				if _, err := c.batch(ctx, input); err != nil {
					return err
				}
			}
			return errors.New("2000 batches were begun on a full disk")
		},
	} {
		var r *refusal
		if err := do(); !errors.As(err, &r) || r.status != http.StatusInsufficientStorage {
			return "", fmt.Errorf("%s on a full disk: want 507, got: %w", name, errors.Join(err, errors.New("that is not it")))
		}
		said += fmt.Sprintf("; %s: %d %s", name, r.status, r.code)
	}
	for i := range 20 {
		if _, err := c.stream(ctx, sum(i)); err != nil {
			return "", fmt.Errorf("a chat beside a full disk: %w", err)
		}
	}
	if err := kept.check(ctx, c); err != nil {
		return "", fmt.Errorf("with a full disk: %w", err)
	}

	// There is room again.
	begin := func() error { _, err := c.batch(ctx, input); return err }
	must.Do(os.Remove(filepath.Join(mnt, "ballast")))
	err = poll(ctx, 30*time.Second, "work goes on when there is room", func() error {
		id, err := c.upload(ctx, content)
		if err == nil {
			kept.files[id] = content
		}
		return err
	})
	if err := errors.Join(err, c.pull(ctx), begin()); err != nil {
		return "", fmt.Errorf("with room again: %w", err)
	}
	if err := kept.check(ctx, c); err != nil {
		return "", fmt.Errorf("with room again: %w", err)
	}
	return said + "; chats go on, and so does all with room again", s.stop()
}

// fill writes until there is no room, and returns how much.
func fill(path string) (n int64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		m, err := f.Write(make([]byte, size))
		if n += int64(m); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			return n, err
		}
	}
	return n, nil
}

// pull has the server pull the hub's model, in Ollama's dialect, whose errors are a text.
func (c *client) pull(ctx context.Context) error {
	resp, err := c.open(ctx, http.MethodPost, "/api/pull", "application/json", []byte(`{"model": "o/n", "stream": false}`))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var a struct{ Status, Error string }
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return fmt.Errorf("a pull: %s, %w", resp.Status, err)
	}
	if resp.StatusCode != http.StatusOK {
		return &refusal{status: resp.StatusCode, code: "pull", message: a.Error}
	}
	if a.Error != "" || a.Status != "success" {
		return fmt.Errorf("a pull ended with %+v", a)
	}
	return nil
}

// A hub has one repository with one file, which is no model; no client loads it.
type hub struct {
	addr string
	srv  *http.Server
}

func startHub(size int) (*hub, error) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	// The header of a GGUF file without tensors, and what pads it.
	file := append([]byte("GGUF\x03\x00\x00\x00"), make([]byte, size)...)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/models/", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": []any{map[string]any{
			"rfilename": "m-Q8_0.gguf", "size": len(file), "lfs": map[string]any{"sha256": fmt.Sprintf("%x", sha256.Sum256(file)), "size": len(file)}}}})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(file)))
	})
	h := &hub{ln.Addr().String(), &http.Server{Handler: mux}}
	go h.srv.Serve(ln) // until Close
	return h, nil
}

func (h *hub) Close() { h.srv.Close() }
