package safetensors

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"quern/formats/weights"
)

// indexSuffix is how the file is named that says which shard holds a tensor.
const indexSuffix = ".safetensors.index.json"

const maxIndex = 64 << 20 // bytes of an index

// companions are the files that describe the model beside its weights: where
// their text goes in metadata, and the most they may hold. The vocabulary of
// Gemma 3, the largest in use, takes 33 MB.
var companions = []struct {
	file, key string
	max       int64
}{
	{"config.json", "hf.config", 16 << 20},
	{"generation_config.json", "hf.generation_config", 1 << 20},
	{"tokenizer_config.json", "hf.tokenizer_config", 16 << 20},
	{"special_tokens_map.json", "hf.special_tokens_map", 1 << 20},
	{"chat_template.jinja", "hf.chat_template", 1 << 20},
	{"chat_template.json", "hf.chat_template_json", 1 << 20},
	{"1_Pooling/config.json", "hf.pooling", 1 << 20},
	{"sentence_bert_config.json", "hf.sentence_bert_config", 1 << 20},
	{"config_sentence_transformers.json", "hf.sentence_transformers", 1 << 20},
	{"tokenizer.json", "hf.tokenizer", 128 << 20},
	{"rwkv_vocab_v20230424.txt", "hf.rwkv_vocab", 16 << 20},
	{"adapter_config.json", "hf.adapter_config", 1 << 20},
}

// Open maps a model: a directory, its index, its file, or any of its shards.
// The texts beside it (config.json and others) become metadata under "hf.", as does the
// name of the folder.
func Open(path string) (*weights.Set, error) {
	dir, shards, err := find(path)
	if err != nil {
		return nil, err
	}
	return weights.Mapped(func(files *weights.Mappings) (*weights.Set, error) { return open(dir, shards, files) })
}

func open(dir string, shards []string, files *weights.Mappings) (*weights.Set, error) {
	var data [][]byte
	for _, name := range shards {
		b, err := files.Map(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		data = append(data, b)
	}
	set, err := Parse(data[0], data[1:]...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, shards[0]), err)
	}
	if err := Beside(&set.Meta, dir); err != nil {
		return nil, err
	}
	if abs, err := filepath.Abs(dir); err == nil {
		set.Meta.Set("hf.folder", filepath.Base(abs))
	}
	return set, addModules(set, dir, files)
}

// find returns the directory of a model and the names of its files.
func find(path string) (dir string, shards []string, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", nil, err
	}
	if strings.HasSuffix(path, indexSuffix) {
		shards, err = readIndex(path)
		return filepath.Dir(path), shards, err
	}
	dir = path
	name := ""
	if !st.IsDir() {
		dir, name = filepath.Dir(path), filepath.Base(path)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, err
	}
	var single []string
	for _, e := range entries {
		n := e.Name()
		switch {
		case strings.HasPrefix(n, "."):
		case strings.HasSuffix(n, indexSuffix):
			list, err := readIndex(filepath.Join(dir, n))
			if err != nil {
				if name == "" {
					return "", nil, err
				}
				continue // the file named may have nothing to do with it
			}
			if name == "" || slices.Contains(list, name) {
				return dir, list, nil
			}
		case strings.EqualFold(filepath.Ext(n), ".safetensors"):
			single = append(single, n)
		}
	}
	switch {
	case name != "":
		return dir, []string{name}, nil
	case slices.Contains(single, "model.safetensors"):
		return dir, []string{"model.safetensors"}, nil
	case len(single) == 1:
		return dir, single, nil
	case slices.Contains(single, "adapter_model.safetensors"):
		return dir, []string{"adapter_model.safetensors"}, nil
	case len(single) == 0:
		return "", nil, fmt.Errorf("%w: %s holds no SafeTensors file", ErrFormat, dir)
	}
	return "", nil, fmt.Errorf("%w: %s holds several SafeTensors files and no index that says how they belong together: %s",
		ErrFormat, dir, strings.Join(single, ", "))
}

// readIndex returns the names of a model's shards, in order.
func readIndex(path string) ([]string, error) {
	text, err := readSmall(path, maxIndex)
	if err != nil {
		return nil, err
	}
	var index struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("%s: %w: %v", path, ErrFormat, err)
	}
	files := make(map[string]bool)
	for tensor, file := range index.WeightMap {
		// A shard lies beside its index, wherever the index came from.
		if file == "" || file != filepath.Base(file) || !filepath.IsLocal(file) || strings.ContainsAny(file, `/\:`) {
			return nil, fmt.Errorf("%s: %w: tensor %q is in %q, no file beside the index", path, ErrFormat, tensor, file)
		}
		files[file] = true
	}
	if len(files) == 0 || len(files) > maxShards {
		return nil, fmt.Errorf("%s: %w: it names %d shards, want 1 to %d", path, ErrFormat, len(files), maxShards)
	}
	return slices.Sorted(maps.Keys(files)), nil
}

// readSmall reads a file of at most max bytes.
func readSmall(path string, max int64) ([]byte, error) {
	f, err := weights.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > max {
		return nil, fmt.Errorf("%s: %w: more than %d bytes", path, ErrFormat, max)
	}
	return text, nil
}

// chatTemplate returns the template of a model: a file of its own, else the
// one in tokenizer_config.json, of several the one called default. A template
// that is not where it should be counts as none.
func chatTemplate(m *weights.Meta) string {
	if t := m.String("hf.chat_template"); t != "" {
		return t
	}
	for _, key := range []string{"hf.chat_template_json", "hf.tokenizer_config"} {
		var c struct {
			Template json.RawMessage `json:"chat_template"`
		}
		if json.Unmarshal([]byte(m.String(key)), &c) != nil || len(c.Template) == 0 {
			continue
		}
		var one string
		if json.Unmarshal(c.Template, &one) == nil && one != "" {
			return one
		}
		var named []struct{ Name, Template string }
		if json.Unmarshal(c.Template, &named) != nil {
			continue
		}
		for _, t := range named {
			if t.Name == "default" {
				return t.Template
			}
		}
	}
	if m.String("hf.rwkv_vocab") != "" {
		return "rwkv-world" // a name, as converters write it; the model was trained with it
	}
	return ""
}
