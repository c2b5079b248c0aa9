package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"quern/cmd/quern/internal/settings"
	"quern/engine"
)

// adapterFlag is --adapter of commands for one model.
func adapterFlag(f *pflag.FlagSet, path *string, does string) {
	f.StringVar(path, "adapter", "", does+" a LoRA adapter of the model, a GGUF `file` or a folder as PEFT writes it")
}

// adapterOf is the flag's adapters: none or one.
func adapterOf(path string) ([]engine.Adapter, error) {
	if path == "" {
		return nil, nil
	}
	if !settings.Exists(path) {
		return nil, usageError{fmt.Errorf("--adapter: no file %q", path)}
	}
	name := strings.TrimSuffix(filepath.Base(filepath.Clean(path)), ".gguf")
	name = strings.Map(func(r rune) rune { // a name requests could use
		if r == ':' || r <= ' ' {
			return '-'
		}
		return r
	}, name)
	return []engine.Adapter{{Name: name[max(0, len(name)-100):], Path: path}}, nil
}

// adapt sets the adapters of the model that was named: one of a file, or one of list.
func adapt(list []engine.ModelOptions, name string, adapters []engine.Adapter) error {
	if len(adapters) == 0 {
		return nil
	}
	for i := range list {
		m := &list[i]
		if m.Name != name && m.Path != name {
			continue
		}
		for _, a := range m.Adapters {
			if a.Name == adapters[0].Name {
				return usageError{fmt.Errorf("--adapter: model %q has an adapter %q already; it is called %s:%s", name, a.Name, name, a.Name)}
			}
		}
		m.Adapters = append(m.Adapters[:len(m.Adapters):len(m.Adapters)], adapters...)
		return nil
	}
	return usageError{errors.New("--adapter is of one model; name its file, or a model of the configuration")}
}
