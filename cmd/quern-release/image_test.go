package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"time"
)

var at = time.Unix(1780000000, 0).UTC()

// untar is a tar file's contents by name, and its headers.
func untar(t *testing.T, text []byte) (map[string][]byte, map[string]*tar.Header) {
	t.Helper()
	files, headers := map[string][]byte{}, map[string]*tar.Header{}
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		if headers[h.Name] != nil {
			t.Errorf("%s is there twice", h.Name)
		}
		if !h.ModTime.Equal(at) {
			t.Errorf("%s is of %v, want %v", h.Name, h.ModTime, at)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name], headers[h.Name] = body, h
	}
}

func decode(t *testing.T, text []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatalf("%v in %.80s", err, text)
	}
}

// TestImage follows an image from its index to the files, as a registry's client does: sizes and
// digests are right all the way, and Docker's own list names the same.
func TestImage(t *testing.T) {
	variants := []variant{
		{"linux/amd64", []byte("program of amd64"), []byte("licences"), []byte("{}")},
		{"linux/arm64", []byte("program of arm64"), []byte("licences"), []byte("{}")},
	}
	text, digest, err := pack(variants, "1.2.3", []byte("certificates"), at)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := pack(variants, "1.2.3", []byte("certificates"), at)
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("made again it is another, %v", err)
	}
	files, _ := untar(t, text)
	follow := func(d descriptor, to any) []byte {
		t.Helper()
		blob, ok := files[blobName(d.Digest)]
		if !ok || digestOf(blob) != d.Digest || len(blob) != d.Size {
			t.Fatalf("%+v: there %v, %d bytes of %s", d, ok, len(blob), digestOf(blob))
		}
		if to != nil {
			decode(t, blob, to)
		}
		return blob
	}

	var outer, inner struct{ Manifests []descriptor }
	decode(t, files["index.json"], &outer)
	if len(outer.Manifests) != 1 || outer.Manifests[0].Digest != digest || outer.Manifests[0].MediaType != typeIndex {
		t.Fatalf("index.json has %+v, want %s", outer.Manifests, digest)
	}
	if name := outer.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; name != "quern:1.2.3" {
		t.Errorf("it is called %q", name)
	}
	follow(outer.Manifests[0], &inner)
	var docker []dockerImage
	decode(t, files["manifest.json"], &docker)
	if len(inner.Manifests) != 2 || len(docker) != 2 {
		t.Fatalf("%d and %d images, want 2", len(inner.Manifests), len(docker))
	}
	for i, d := range inner.Manifests {
		arch := variants[i].platform[len("linux/"):]
		if d.Platform == nil || *d.Platform != (platform{arch, "linux"}) {
			t.Errorf("platform %+v, want linux/%s", d.Platform, arch)
		}
		var m struct {
			Config descriptor
			Layers []descriptor
		}
		follow(d, &m)
		var config struct {
			Architecture, OS string
			Config           struct {
				User       string
				Entrypoint []string
			}
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
		follow(m.Config, &config)
		if config.Architecture != arch || config.OS != "linux" || config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/quern"}) {
			t.Errorf("config %+v", config)
		}
		names := []string{}
		all := map[string]*tar.Header{}
		for j, l := range m.Layers {
			names = append(names, blobName(l.Digest))
			plain := gunzip(t, follow(l, nil))
			if digestOf(plain) != config.RootFS.DiffIDs[j] {
				t.Errorf("layer %d is %s, want %s", j, digestOf(plain), config.RootFS.DiffIDs[j])
			}
			inside, headers := untar(t, plain)
			for name, h := range headers {
				all[name] = h
			}
			if p, ok := inside["quern"]; ok && !bytes.Equal(p, variants[i].program) {
				t.Errorf("%s has %q", arch, p)
			}
		}
		for name, want := range map[string]struct {
			mode int64
			user int
		}{"quern": {0o755, 0}, "tmp/": {0o1777, 0}, "models/": {0o755, user}, "var/lib/quern/": {0o750, user}, "etc/ssl/certs/ca-certificates.crt": {0o644, 0}} {
			if h := all[name]; h == nil || h.Mode != want.mode || h.Uid != want.user || h.Gid != want.user {
				t.Errorf("%s: %+v, want %+v", name, h, want)
			}
		}
		if docker[i].Config != blobName(m.Config.Digest) || !slices.Equal(docker[i].Layers, names) || !slices.Equal(docker[i].RepoTags, []string{"quern:1.2.3-" + arch}) {
			t.Errorf("Docker's %+v, want %s and %v", docker[i], m.Config.Digest, names)
		}
	}
}

func gunzip(t *testing.T, text []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
