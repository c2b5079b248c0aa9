package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build makes the program for a platform, as OS/ARCH.
func build(ctx context.Context, platform, version string) (*built, error) {
	dir, err := os.MkdirTemp("", "quern-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	goos, arch, _ := strings.Cut(platform, "/")
	path := filepath.Join(dir, "quern")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-ldflags", "-s -w -X main.version="+version, "-o", path, "./cmd/quern")
	// What the environment says of builds is not part of a release.
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", platform, err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", platform, err)
	}
	return &built{platform, program, info}, nil
}
