package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"quern/engine/hub"
	"quern/engine/lm"
)

// selectModels makes specs the list of models: [NAME=]FILE, or the name of a
// model the configuration has. They are loaded at start.
func (s *settings) selectModels(specs []string) error {
	var out []modelSettings
	for _, spec := range specs {
		if _, configured := s.model(spec); spec == lm.BuiltinName && !configured && !exists(spec) {
			s.Builtin = true
			continue
		}
		m, err := s.selectModel(spec)
		if err == nil && isHub(m.Path) {
			_, err = hub.ParseRef(m.Path)
		}
		if err != nil {
			return err
		}
		m.Preload = true
		// Named on the command line, it is wanted here and now.
		s.Hub.Pull = s.Hub.Pull || isHub(m.Path)
		out = append(out, m)
	}
	s.Models = out
	return nil
}

func (s *settings) selectModel(spec string) (modelSettings, error) {
	if spec == "" {
		return modelSettings{}, errors.New("give a file or a name")
	}
	if isHub(spec) || exists(spec) {
		return modelSettings{Path: spec}, nil
	}
	if name, file, ok := strings.Cut(spec, "="); ok {
		if name == "" || file == "" {
			return modelSettings{}, fmt.Errorf("%q: write NAME=FILE", spec)
		}
		if !isHub(file) && !exists(file) {
			return modelSettings{}, fmt.Errorf("no file %q", file)
		}
		// The file's own settings of that name stay, only its path changes.
		if m, ok := s.model(name); ok {
			m.Path = file
			return m, nil
		}
		return modelSettings{Name: name, Path: file}, nil
	}
	if m, ok := s.model(spec); ok {
		return m, nil
	}
	var names []string
	for _, m := range s.Models {
		names = append(names, m.Name)
	}
	msg := fmt.Sprintf("no file %q, and no model of that name in the configuration", spec)
	if c := closest(spec, append(names, lm.BuiltinName)); c != "" {
		msg += fmt.Sprintf("; did you mean %q?", c)
	} else if _, bad := hub.ParseRef(spec); bad == nil && !contains(modelEndings, filepath.Ext(spec)) {
		msg += "; a model of the hub is called hub:" + spec
	}
	return modelSettings{}, errors.New(msg)
}

func (s *settings) model(name string) (modelSettings, bool) {
	for _, m := range s.Models {
		if m.Name == name {
			return m, true
		}
	}
	return modelSettings{}, false
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
