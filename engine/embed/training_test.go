package embed

import (
	"testing"

	"quern/engine"
	"quern/formats/weights"
)

// The texts of models' cards are found under the names files and repositories
// give them; a file's own prompts count more.
func TestKnownPrefixes(t *testing.T) {
	for _, tt := range []struct{ name, id, prompts, query, document string }{
		{"nomic-embed-text-v1.5", "x", "", "search_query: ", "search_document: "},
		{"", "Qwen/Qwen3-Embedding-0.6B-GGUF:Q8_0", "", instruct, ""},
		{"Bge Small En v1.5", "x", "", represent, ""},
		{"", "embeddinggemma-300m-qat-q8_0", "", "task: search result | query: ", "title: none | text: "},
		{"Embedding Gemma 300m", "x", "", "task: search result | query: ", "title: none | text: "},
		{"", "nomic-ai/modernbert-embed-base", "", "search_query: ", "search_document: "},
		{"", "multilingual-e5-base", "", "query: ", "passage: "},
		{"", "multilingual-e5-large-instruct", "", instruct + " ", ""},
		{"", "all-MiniLM-L6-v2", "", "", ""},
		{"", "e5-small", `{"prompts":{"query":"Q: ","document":"D: "}}`, "Q: ", "D: "},
	} {
		var m weights.Meta
		m.Set("general.name", tt.name)
		m.Set("hf.sentence_transformers", tt.prompts)
		e := TrainingOf(&m, tt.id, "/models/f.gguf", &engine.ModelOptions{})
		if !e.Known || e.prefix("query") != tt.query || e.prefix("document") != tt.document || e.prefix("") != "" {
			t.Errorf("%q %q: %+v, want %q and %q", tt.name, tt.id, e, tt.query, tt.document)
		}
	}
	var m weights.Meta
	m.Set("hf.sentence_transformers", `{"prompts":{"query":"Q: ","STS":"S: "},"default_prompt_name":"STS"}`)
	if e := TrainingOf(&m, "x", "x", &engine.ModelOptions{}); e.prefix("") != "S: " || e.prefix("query") != "Q: " {
		t.Errorf("%+v, want S: before texts of which nothing is said", e)
	}
	if e := TrainingOf(new(weights.Meta), "llama", "llama.gguf", &engine.ModelOptions{}); e.Known {
		t.Errorf("llama is known: %+v", e)
	}
}
