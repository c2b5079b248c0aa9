// Command quern-release makes everything that a release of quern consists of, in one folder:
// archives for Linux, macOS and Windows on amd64 and arm64, a bill of materials beside each,
// an image for containers, the Helm chart, and the checksums of all.
//
//	go run ./cmd/quern-release -version 1.2.3
//
// It runs in the root of a checkout. The same commit, Go version, and root certificates give the
// same bytes, on any machine and in any folder.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	var r release
	var platforms string
	flag.StringVar(&r.version, "version", "", "of the release, as 1.2.3 (default 0.0.0-dev.COMMIT)")
	flag.StringVar(&r.out, "o", "dist", "folder that takes the files; it must be empty or not there")
	flag.StringVar(&platforms, "platforms", strings.Join(all, ","), "what is built; those of Linux make the image")
	flag.StringVar(&r.roots, "roots", "/etc/ssl/certs/ca-certificates.crt", "root certificates of the image, for pulling models")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r.platforms = strings.Split(platforms, ",")
	if err := r.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "quern-release:", err)
		os.Exit(1)
	}
}

// all is what a release is built for.
var all = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// A release is what is made, and where.
type release struct {
	version, out, roots string
	platforms           []string
	at                  time.Time // of every file: that of the commit, or of SOURCE_DATE_EPOCH
}

// Versions are those of semver.org without build metadata, which tags of images cannot hold.
var versions = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

func (r *release) run(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	var linux []variant
	for _, p := range r.platforms {
		began := time.Now()
		b, err := build(ctx, p, r.version)
		if err != nil {
			return err
		}
		bom, err := bill(b.info, r.version, p, sha256.Sum256(b.program), r.at)
		if err != nil {
			return err
		}
		notices, err := notices(ctx, b.info)
		if err != nil {
			return err
		}
		name, err := r.archive(b, notices)
		if err != nil {
			return err
		}
		if err := r.write(name+".cdx.json", bom); err != nil {
			return err
		}
		if strings.HasPrefix(p, "linux/") {
			linux = append(linux, variant{p, b.program, notices, bom})
		}
		fmt.Printf("%s, %d MB, %d modules, %.0f s\n", p, len(b.program)>>20, len(b.info.Deps), time.Since(began).Seconds())
	}
	if len(linux) > 0 {
		if err := r.image(linux); err != nil {
			return err
		}
	}
	if err := r.chart(); err != nil {
		return err
	}
	return r.checksums()
}

// prepare finds what was not said, and makes the folder.
func (r *release) prepare(ctx context.Context) error {
	for _, p := range r.platforms {
		if !slices.Contains(all, p) {
			return fmt.Errorf("-platforms has %q; there are %s", p, strings.Join(all, ", "))
		}
	}
	if _, err := os.Stat("cmd/quern"); err != nil {
		return fmt.Errorf("this is not the root of quern's checkout: %w", err)
	}
	if r.version == "" {
		commit, err := git(ctx, "rev-parse", "--short=12", "HEAD")
		if err != nil {
			return fmt.Errorf("-version says which release this is, where git does not know a commit: %w", err)
		}
		r.version = "0.0.0-dev.g" + commit
	}
	if !versions.MatchString(r.version) {
		return fmt.Errorf("-version %q is not a version as 1.2.3 or 1.2.3-rc.1", r.version)
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		var err error
		if epoch, err = git(ctx, "log", "-1", "--format=%ct"); err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH says of when the files are, where git does not know a commit: %w", err)
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH %q is not a number of seconds", epoch)
	}
	r.at = time.Unix(seconds, 0).UTC()
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	has, err := os.ReadDir(r.out)
	if err == nil && len(has) > 0 {
		err = fmt.Errorf("the folder %s is not empty; remove it, or name another with -o", r.out)
	}
	return err
}

func git(ctx context.Context, args ...string) (string, error) {
	text, err := exec.CommandContext(ctx, "git", args...).Output()
	return strings.TrimSpace(string(text)), err
}

// A built is a program, and what the linker wrote into it.
type built struct {
	platform string
	program  []byte
	info     *debug.BuildInfo
}

// extras are the files beside the program in an archive, by the system it is for.
var extras = map[string][]string{
	"":      {"LICENSE", "README.md", "CHANGELOG.md", "cmd/quern/quern.example.yaml"},
	"linux": {"deploy/systemd/quern.service", "deploy/systemd/quern-cuda.conf"},
}

// archive writes the archive of one platform, and returns its name without what the format adds.
func (r *release) archive(b *built, notices []byte) (name string, err error) {
	goos, arch, _ := strings.Cut(b.platform, "/")
	name = fmt.Sprintf("quern_%s_%s_%s", r.version, goos, arch)
	program := "quern"
	if goos == "windows" {
		program = "quern.exe"
	}
	files := []file{{name: name + "/" + program, mode: 0o755, data: b.program}, {name: name + "/THIRD_PARTY.txt", mode: 0o644, data: notices}}
	for _, path := range slices.Concat(extras[""], extras[goos]) {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		files = append(files, file{name: name + "/" + filepath.Base(path), mode: 0o644, data: text})
	}
	pack, suffix := tarGz, ".tar.gz"
	if goos == "windows" {
		pack, suffix = zipped, ".zip"
	}
	text, err := pack(files, r.at)
	if err != nil {
		return "", err
	}
	return name, r.write(name+suffix, text)
}

// chart writes the Helm chart, with the release's version as its own and that of the image.
func (r *release) chart() error {
	const dir = "deploy/helm/quern"
	var files []file
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if d.Name() == "Chart.yaml" {
			text = chartVersion.ReplaceAll(text, []byte("${1}"+r.version))
		}
		rel, err := filepath.Rel(filepath.Dir(dir), path)
		files = append(files, file{name: filepath.ToSlash(rel), mode: 0o644, data: text})
		return err
	})
	if err != nil {
		return err
	}
	text, err := tarGz(files, r.at)
	if err != nil {
		return err
	}
	return r.write("quern-chart-"+r.version+".tgz", text)
}

var chartVersion = regexp.MustCompile(`(?m)^((?:appVersion|version): ).*$`)

// checksums writes the sums of all files, as sha256sum -c reads them.
func (r *release) checksums() error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(text), f.Name())
	}
	return r.write("SHA256SUMS", []byte(b.String()))
}

func (r *release) write(name string, text []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), text, 0o644)
}
