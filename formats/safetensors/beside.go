package safetensors

import (
	"errors"
	"io/fs"
	"path/filepath"

	"quern/formats/weights"
)

// Beside puts the texts that describe a model of Hugging Face's into metadata,
// as Open does: config.json and the others in dir, under "hf.". Those that are
// missing are left out.
func Beside(m *weights.Meta, dir string) error {
	for _, c := range companions {
		text, err := readSmall(filepath.Join(dir, filepath.FromSlash(c.file)), c.max)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		m.Set(c.key, string(text))
	}
	if t := chatTemplate(m); t != "" {
		m.Set("tokenizer.chat_template", t)
	}
	return nil
}
