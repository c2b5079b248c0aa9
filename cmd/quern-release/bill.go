package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// A component is a module, the standard library or the program, in the words of CycloneDX.
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Scope      string     `json:"scope,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// bill is the bill of materials of a program, read from what the linker wrote into it: CycloneDX
// 1.6 as JSON. The program depends on each module; their dependencies among each other are left out.
func bill(info *debug.BuildInfo, version, platform string, sum [sha256.Size]byte, at time.Time) ([]byte, error) {
	goos, arch, _ := strings.Cut(platform, "/")
	main := component{Type: "application", Name: "quern", Version: version,
		PURL:   fmt.Sprintf("pkg:golang/%s@%s?goarch=%s&goos=%s", info.Main.Path, version, arch, goos),
		Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", sum)}}}
	main.Ref = main.PURL
	for _, s := range info.Settings {
		main.Properties = append(main.Properties, property{"go:build:" + s.Key, s.Value})
	}
	std := component{Type: "library", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"), Scope: "required"}
	std.PURL = "pkg:golang/std@" + std.Version
	std.Ref = std.PURL
	all := []component{std}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return nil, fmt.Errorf("%s is replaced by %s, which a release may not hold", m.Path, m.Replace.Path)
		}
		c := component{Type: "library", Name: m.Path, Version: m.Version, Scope: "required", PURL: "pkg:golang/" + m.Path + "@" + m.Version}
		c.Ref = c.PURL
		c.Properties = []property{{"go:sum", m.Sum}}
		all = append(all, c)
	}
	refs := make([]string, len(all))
	for i, c := range all {
		refs[i] = c.Ref
	}
	deps := []dependency{{main.Ref, refs}}
	for _, r := range refs {
		deps = append(deps, dependency{r, []string{}})
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema":      "http://cyclonedx.org/schema/bom-1.6.schema.json",
		"bomFormat":    "CycloneDX",
		"specVersion":  "1.6",
		"serialNumber": serial(sum),
		"version":      1,
		"metadata":     map[string]any{"timestamp": at.Format(time.RFC3339), "component": main},
		"components":   all,
		"dependencies": deps,
	}, "", "  ")
	return append(text, '\n'), err
}

// serial names a bill by its program: a UUID of version 8, RFC 9562.
func serial(sum [sha256.Size]byte) string {
	id := sum[:16]
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
