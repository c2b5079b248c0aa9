package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// A variant is the image of one platform.
type variant struct {
	platform string
	program  []byte
	notices  []byte
	bill     []byte
}

// A descriptor points to a blob, in the words of the OCI image specification.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

const (
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeIndex    = "application/vnd.oci.image.index.v1+json"
)

// user runs quern in the image, by number, as images without a base do.
const user = 65532

// A bundle is an OCI image layout that is being made, as a tar file. It is Docker's format too:
// manifest.json names the same blobs, for versions that do not read layouts.
type bundle struct {
	at     time.Time
	files  []file
	has    map[string]bool // blobs by digest
	docker []dockerImage
}

type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// image writes the image of all variants.
func (r *release) image(all []variant) error {
	roots, err := os.ReadFile(r.roots)
	if err != nil {
		return fmt.Errorf("the image needs root certificates, a file that -roots names: %w", err)
	}
	text, digest, err := pack(all, r.version, roots, r.at)
	if err != nil {
		return err
	}
	fmt.Printf("image quern:%s, %d MB, %s\n", r.version, len(text)>>20, digest)
	return r.write("quern_"+r.version+"_image.tar", text)
}

// pack makes the bundle, and returns the digest of its index too.
func pack(all []variant, version string, roots []byte, at time.Time) (text []byte, digest string, err error) {
	b := &bundle{at: at, has: map[string]bool{}}
	var manifests []descriptor
	for _, v := range all {
		m, err := b.variant(v, version, roots)
		if err != nil {
			return nil, "", err
		}
		manifests = append(manifests, m)
	}
	index := b.object(typeIndex, map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": manifests})
	index.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": "quern:" + version,
		"io.containerd.image.name":          "docker.io/library/quern:" + version,
	}
	b.add("index.json", marshal(map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []descriptor{index}}))
	b.add("manifest.json", marshal(b.docker))
	b.add("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	text, err = tarred(b.files, at)
	return text, index.Digest, err
}

// variant adds the layers, the config and the manifest of one platform.
func (b *bundle) variant(v variant, version string, roots []byte) (descriptor, error) {
	goos, arch, _ := strings.Cut(v.platform, "/")
	var layers []descriptor
	var diffs, names []string
	for _, files := range [][]file{root(v, roots), {{name: "quern", mode: 0o755, data: v.program}}} {
		text, err := tarred(files, b.at)
		if err != nil {
			return descriptor{}, err
		}
		diffs = append(diffs, digestOf(text))
		if text, err = gzipped(text); err != nil {
			return descriptor{}, err
		}
		d := b.blob(typeLayer, text)
		layers, names = append(layers, d), append(names, blobName(d.Digest))
	}
	config := b.object(typeConfig, map[string]any{
		"architecture": arch, "os": goos, "created": b.at.Format(time.RFC3339),
		"config": map[string]any{
			"User": fmt.Sprintf("%d:%[1]d", user), "WorkingDir": "/var/lib/quern", "StopSignal": "SIGTERM",
			"Entrypoint": []string{"/quern"}, "Cmd": []string{"serve"},
			"Env":          []string{"HOME=/var/lib/quern", "QUERN_LISTEN=0.0.0.0:8080", "QUERN_MODELS=/models"},
			"ExposedPorts": map[string]any{"8080/tcp": map[string]any{}},
			"Volumes":      map[string]any{"/models": map[string]any{}, "/var/lib/quern": map[string]any{}},
			"Labels": map[string]string{
				"org.opencontainers.image.title": "quern", "org.opencontainers.image.version": version,
				"org.opencontainers.image.description": "an inference server for models that write, listen and speak",
				"org.opencontainers.image.licenses":    "Apache-2.0",
			},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": diffs},
		"history": []map[string]any{{"created": b.at.Format(time.RFC3339), "created_by": "quern-release: folders, users, certificates, licences"}, {"created": b.at.Format(time.RFC3339), "created_by": "quern-release: quern"}},
	})
	b.docker = append(b.docker, dockerImage{blobName(config.Digest), []string{"quern:" + version + "-" + arch}, names})
	m := b.object(typeManifest, map[string]any{"schemaVersion": 2, "mediaType": typeManifest, "config": config, "layers": layers})
	m.Platform = &platform{arch, goos}
	return m, nil
}

// root is what there is in the image but the program.
func root(v variant, roots []byte) []file {
	const doc = "usr/share/doc/quern/"
	return []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\nquern:x:%d:\n", user)},
		{name: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:0::/:/sbin/nologin\nquern:x:%d:%[1]d::/var/lib/quern:/sbin/nologin\n", user)},
		{name: "etc/ssl/", mode: 0o755}, {name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: roots},
		{name: "models/", mode: 0o755, user: user},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755}, {name: "usr/share/", mode: 0o755}, {name: "usr/share/doc/", mode: 0o755}, {name: doc, mode: 0o755},
		{name: doc + "THIRD_PARTY.txt", mode: 0o644, data: v.notices},
		{name: doc + "quern.cdx.json", mode: 0o644, data: v.bill},
		{name: "var/", mode: 0o755}, {name: "var/lib/", mode: 0o755}, {name: "var/lib/quern/", mode: 0o750, user: user},
	}
}

func (b *bundle) add(name string, text []byte) {
	b.files = append(b.files, file{name: name, mode: 0o644, data: text})
}

// blob adds bytes under their digest.
func (b *bundle) blob(mediaType string, text []byte) descriptor {
	d := descriptor{MediaType: mediaType, Digest: digestOf(text), Size: len(text)}
	if !b.has[d.Digest] {
		b.has[d.Digest] = true
		b.add(blobName(d.Digest), text)
	}
	return d
}

func (b *bundle) object(mediaType string, v any) descriptor { return b.blob(mediaType, marshal(v)) }

func blobName(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

func digestOf(text []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(text)) }

// marshal is of values made here, which have a JSON.
func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
