package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestRefused(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join("..", ".."))
	for _, tt := range []struct {
		name  string
		r     release
		epoch string
		want  string // "" is accepted
	}{
		{"as it should be", release{version: "1.2.3-rc.1", out: t.TempDir()}, "1780000000", ""},
		{"no version", release{version: "v1.2", out: t.TempDir()}, "1780000000", `"v1.2" is not a version`},
		{"build metadata, which tags cannot hold", release{version: "1.2.3+x", out: t.TempDir()}, "1780000000", "is not a version"},
		{"another system", release{version: "1.2.3", out: t.TempDir(), platforms: []string{"plan9/amd64"}}, "1780000000", `"plan9/amd64"; there are linux/amd64`},
		{"a folder with files", release{version: "1.2.3", out: full}, "1780000000", "is not empty"},
		{"a time that is none", release{version: "1.2.3", out: t.TempDir()}, "today", "SOURCE_DATE_EPOCH"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("SOURCE_DATE_EPOCH", tt.epoch)
			err := tt.r.prepare(t.Context())
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestBill compares a bill of materials with what it was made from.
func TestBill(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "quern"},
		Settings: []debug.BuildSetting{{Key: "CGO_ENABLED", Value: "0"}},
		Deps:     []*debug.Module{{Path: "example.org/a", Version: "v1.0.0", Sum: "h1:aaa="}, {Path: "example.org/b/v2", Version: "v2.1.0", Sum: "h1:bbb="}}}
	sum := sha256.Sum256([]byte("program"))
	text, err := bill(info, "1.2.3", "linux/arm64", sum, at)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		BOMFormat, SpecVersion, SerialNumber string
		Metadata                             struct {
			Timestamp string
			Component component
		}
		Components   []component
		Dependencies []dependency
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.BOMFormat != "CycloneDX" || got.SpecVersion != "1.6" || !strings.HasPrefix(got.SerialNumber, "urn:uuid:") || got.Metadata.Timestamp != "2026-05-28T20:26:40Z" {
		t.Errorf("%+v", got)
	}
	if m := got.Metadata.Component; m.PURL != "pkg:golang/quern@1.2.3?goarch=arm64&goos=linux" || len(m.Hashes) != 1 || len(m.Properties) != 1 {
		t.Errorf("the program is %+v", m)
	}
	want := []string{"pkg:golang/std@1.26.8", "pkg:golang/example.org/a@v1.0.0", "pkg:golang/example.org/b/v2@v2.1.0"}
	if len(got.Components) != len(want) || len(got.Dependencies) != len(want)+1 {
		t.Fatalf("%d components, %d dependencies", len(got.Components), len(got.Dependencies))
	}
	for i, c := range got.Components {
		if c.PURL != want[i] || c.Ref != want[i] || got.Dependencies[0].DependsOn[i] != want[i] {
			t.Errorf("component %d is %+v, want %s", i, c, want[i])
		}
	}
	info.Deps[0].Replace = &debug.Module{Path: "../a"}
	if _, err := bill(info, "1.2.3", "linux/arm64", sum, at); err == nil {
		t.Error("a module that is replaced goes into a release")
	}
}

// TestNotices asks for the licence of a module that quern has, and of one without any.
func TestNotices(t *testing.T) {
	text, err := notices(context.Background(), &debug.BuildInfo{GoVersion: "go1.26"})
	if err != nil || !bytes.Contains(text, []byte("Redistribution and use in source and binary forms")) {
		t.Errorf("Go's licence is not in %.200s, %v", text, err)
	}
	if err := notice(&bytes.Buffer{}, "example.org/a v1.0.0", t.TempDir()); err == nil || !strings.Contains(err.Error(), "example.org/a v1.0.0 has no file with its licence") {
		t.Error(err)
	}
}

// TestZip reads an archive of Windows: a program can be run, and the bytes follow from what is in it.
func TestZip(t *testing.T) {
	files := []file{{name: "q/quern.exe", mode: 0o755, data: []byte("program")}, {name: "q/LICENSE", mode: 0o644, data: []byte("licence")}}
	text, err := zipped(files, at)
	if err != nil {
		t.Fatal(err)
	}
	again, err := zipped(files, at)
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("made again it is another, %v", err)
	}
	r, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(in)
		if err != nil || f.Name != files[i].name || !bytes.Equal(body, files[i].data) || int64(f.Mode().Perm()) != files[i].mode || !f.Modified.Equal(at) {
			t.Errorf("%s, %v, %v, %q, %v", f.Name, f.Mode(), f.Modified, body, err)
		}
	}
}

// TestChart gives the chart the version of the release.
func TestChart(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	r := release{version: "1.2.3", out: t.TempDir(), at: at}
	if err := r.chart(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.out, "quern-chart-1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := untar(t, gunzip(t, text))
	chart := string(files["quern/Chart.yaml"])
	if !strings.Contains(chart, "\nversion: 1.2.3\n") || !strings.Contains(chart, "\nappVersion: 1.2.3\n") || files["quern/values.yaml"] == nil {
		t.Errorf("the chart is %s, with %d files", chart, len(files))
	}
}
