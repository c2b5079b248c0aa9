package safetensors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"quern/formats/weights"
)

// Sentence-transformers keeps what comes behind a network in folders of their own, which
// modules.json lists in order. Two kinds have files that change what comes out: Dense, a
// layer over the pooled vector, and LogitScore, the tokens whose likelihoods make a score.
//
// Reimers & Gurevych, "Sentence-BERT", 2019, and its published code.

// maxDense is how many Dense layers a model may have, as many as GGUF files.
const maxDense = 2

// addModules adds what is in those folders: the types of all modules as "hf.modules", the
// configuration of a Dense layer as "hf.dense_2", of the next as "hf.dense_3", their
// tensors under names that begin so, and the configuration of a LogitScore.
func addModules(set *weights.Set, dir string, files *weights.Mappings) error {
	path := filepath.Join(dir, "modules.json")
	text, err := readSmall(path, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var list []struct{ Path, Type string }
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("%s: %w: %v", path, ErrFormat, err)
	}
	var types []string
	dense := 0
	for _, m := range list {
		kind := m.Type[strings.LastIndexByte(m.Type, '.')+1:]
		types = append(types, kind)
		if kind != "Dense" && kind != "LogitScore" {
			continue
		}
		if m.Path == "" || m.Path != filepath.Base(m.Path) || !filepath.IsLocal(m.Path) || strings.ContainsAny(m.Path, `/\:`) {
			return fmt.Errorf("%s: %w: %s is in %q, no folder beside it", path, ErrFormat, kind, m.Path)
		}
		folder := filepath.Join(dir, m.Path)
		config, err := readSmall(filepath.Join(folder, "config.json"), 1<<20)
		if err != nil {
			return err
		}
		if kind == "LogitScore" {
			set.Meta.Set("hf.logit_score", string(config))
			continue
		}
		if dense++; dense > maxDense {
			return fmt.Errorf("%s: %w: more than %d Dense layers", path, ErrUnsupported, maxDense)
		}
		name := fmt.Sprintf("dense_%d", dense+1)
		set.Meta.Set("hf."+name, string(config))
		if err := addDense(set, folder, name, files); err != nil {
			return err
		}
	}
	set.Meta.Set("hf.modules", types)
	return nil
}

// addDense adds the tensors of a layer under names that begin with its own.
func addDense(set *weights.Set, folder, name string, files *weights.Mappings) error {
	file := filepath.Join(folder, "model.safetensors")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w: a Dense layer without model.safetensors; get the model's folder with it", folder, ErrUnsupported)
	}
	data, err := files.Map(file)
	if err != nil {
		return err
	}
	layer, err := Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for t := range layer.All() {
		t.Name = name + "." + t.Name
		if err := set.Add(t); err != nil {
			return fmt.Errorf("%s: %w: %v", file, ErrFormat, err)
		}
	}
	return nil
}
