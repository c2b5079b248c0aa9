package embed

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"quern/engine"
	"quern/formats/weights"
)

// Embedding models are trained with a text in front of queries, and some with
// another in front of documents. Files of sentence-transformers say which;
// for others there is a table of the usual ones.

// A Training is how a model that makes embeddings was trained.
type Training struct {
	Known           bool // the prefixes of queries and documents are known
	query, document string
	plain           string // before texts of neither type
	Matryoshka      bool   // the first values of a vector are a vector of their own
}

// instruct is the task that models trained with instructions are given for
// search, as their authors do.
const instruct = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

// represent is what the English BGE models and others after them were trained
// with.
const represent = "Represent this sentence for searching relevant passages: "

// embeddings is the table of known models, by a part of their names; the first
// that matches counts. Texts are those of the models' cards.
var embeddings = []struct {
	name string
	Training
}{
	{"nomic-embed-text-v1.5", Training{Known: true, query: "search_query: ", document: "search_document: ", Matryoshka: true}},
	{"nomic-embed-text-v2", Training{Known: true, query: "search_query: ", document: "search_document: ", Matryoshka: true}},
	{"nomic-embed", Training{Known: true, query: "search_query: ", document: "search_document: "}},
	{"embeddinggemma", Training{Known: true, query: "task: search result | query: ", document: "title: none | text: ", Matryoshka: true}},
	{"embedding-gemma", Training{Known: true, query: "task: search result | query: ", document: "title: none | text: ", Matryoshka: true}},
	{"modernbert-embed", Training{Known: true, query: "search_query: ", document: "search_document: ", Matryoshka: true}},
	{"qwen3-embedding", Training{Known: true, query: instruct, Matryoshka: true}},
	{"gte-qwen2", Training{Known: true, query: instruct + " "}},
	{"e5-mistral", Training{Known: true, query: instruct + " "}},
	{"e5-large-instruct", Training{Known: true, query: instruct + " "}},
	{"e5-", Training{Known: true, query: "query: ", document: "passage: "}},
	{"bge-m3", Training{Known: true}},
	{"bge-small-zh", Training{Known: true, query: "为这个句子生成表示以用于检索相关文章："}},
	{"bge-base-zh", Training{Known: true, query: "为这个句子生成表示以用于检索相关文章："}},
	{"bge-large-zh", Training{Known: true, query: "为这个句子生成表示以用于检索相关文章："}},
	{"bge-", Training{Known: true, query: represent}},
	{"mxbai-embed", Training{Known: true, query: represent, Matryoshka: true}},
	{"arctic-embed-m-v2", Training{Known: true, query: "query: ", Matryoshka: true}},
	{"arctic-embed-l-v2", Training{Known: true, query: "query: ", Matryoshka: true}},
	{"arctic-embed-m-v1.5", Training{Known: true, query: represent, Matryoshka: true}},
	{"arctic-embed", Training{Known: true, query: represent}},
	{"gte-", Training{Known: true}},
	{"minilm", Training{Known: true}},
	{"mpnet-base", Training{Known: true}},
}

// TrainingOf returns how the model of a file was trained: by o, else by
// the file's own prompts, else those in the table under its name.
func TrainingOf(meta *weights.Meta, id, path string, o *engine.ModelOptions) Training {
	var e Training
	for _, name := range []string{meta.String("general.name"), meta.String("general.basename"), id, filepath.Base(path)} {
		name = strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(name))
		for _, m := range embeddings {
			if !e.Known && strings.Contains(name, m.name) {
				e = m.Training
			}
		}
	}
	var file struct {
		Prompts map[string]string `json:"prompts"`
		Default string            `json:"default_prompt_name"`
	}
	// A malformed file counts as none.
	if json.Unmarshal([]byte(meta.String("hf.sentence_transformers")), &file) == nil {
		query, ok := file.Prompts["query"]
		document, ok2 := file.Prompts["document"]
		if !ok2 {
			document, ok2 = file.Prompts["passage"]
		}
		if ok || ok2 {
			e.Known, e.query, e.document = true, query, document
		}
		e.plain = file.Prompts[file.Default]
	}
	if o.QueryPrefix != nil {
		e.Known, e.query = true, *o.QueryPrefix
	}
	if o.DocumentPrefix != nil {
		e.Known, e.document = true, *o.DocumentPrefix
	}
	if o.Matryoshka != nil {
		e.Matryoshka = *o.Matryoshka
	}
	return e
}

// prefix is the text before an input of the given type.
func (e *Training) prefix(inputType string) string {
	switch inputType {
	case "query":
		return e.query
	case "document":
		return e.document
	}
	return e.plain
}
