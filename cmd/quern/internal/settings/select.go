package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"quern/engine/hub"
	"quern/engine/lm"
	"quern/engine/spell"
)

// selectModels makes specs the list of models: [NAME=]FILE, or the name of a
// model the configuration has. They are loaded at start.
func (s *Settings) selectModels(specs []string) error {
	var out []Model
	for _, spec := range specs {
		if _, configured := s.Model(spec); spec == lm.BuiltinName && !configured && !Exists(spec) {
			s.Builtin = true
			continue
		}
		m, err := s.selectModel(spec)
		if err == nil && IsHub(m.Path) {
			_, err = hub.ParseRef(m.Path)
		}
		if err != nil {
			return err
		}
		m.Preload = new(true)
		// Named on the command line, it is wanted here and now.
		s.Hub.Pull = s.Hub.Pull || IsHub(m.Path)
		out = append(out, m)
	}
	s.Models = out
	return distinct(out)
}

func (s *Settings) selectModel(spec string) (Model, error) {
	if spec == "" {
		return Model{}, errors.New("give a file or a name")
	}
	if IsHub(spec) || Exists(spec) {
		return Model{Path: spec}, nil
	}
	if name, file, ok := strings.Cut(spec, "="); ok {
		if name == "" || file == "" {
			return Model{}, fmt.Errorf("%q: write NAME=FILE", spec)
		}
		if !IsHub(file) && !Exists(file) {
			return Model{}, fmt.Errorf("no file %q", file)
		}
		// The file's own settings of that name stay, only its path changes.
		if m, ok := s.Model(name); ok {
			m.Path = file
			return m, nil
		}
		return Model{Name: name, Path: file}, nil
	}
	if m, ok := s.Model(spec); ok {
		return m, nil
	}
	var names []string
	for _, m := range s.Models {
		names = append(names, m.Name)
	}
	msg := fmt.Sprintf("no file %q, and no model of that name in the configuration", spec)
	if c := spell.Closest(spec, append(names, lm.BuiltinName)); c != "" {
		msg += fmt.Sprintf("; did you mean %q?", c)
	} else if _, bad := hub.ParseRef(spec); bad == nil && !slices.Contains(ModelEndings, filepath.Ext(spec)) {
		msg += "; a model of the hub is called hub:" + spec
	}
	return Model{}, errors.New(msg)
}

// Model is the configured model of that name.
func (s *Settings) Model(name string) (Model, bool) {
	for _, m := range s.Models {
		if m.Name == name {
			return m, true
		}
	}
	return Model{}, false
}

// ModelEndings are those of models' files, in names that might also be the hub's.
var ModelEndings = []string{".gguf", ".bin", ".onnx", ".safetensors", ".pth"}

// Exists reports whether there is a file or folder called path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
