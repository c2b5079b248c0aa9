package asr

import (
	"encoding/json"
	"os"
	"path/filepath"
	"quern/formats/ggml"
)

// IsModel reports whether path is a model of OpenAI's recogniser: a directory
// of Hugging Face's, or a file of whisper.cpp's.
func IsModel(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	if st.IsDir() {
		data, err := os.ReadFile(filepath.Join(path, "config.json"))
		var config struct {
			Type string `json:"model_type"`
		}
		return err == nil && json.Unmarshal(data, &config) == nil && config.Type == "whisper"
	}
	return ggml.Sniff(path) != ""
}
