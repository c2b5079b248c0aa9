package local

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

// An embedding is how a model that makes embeddings was trained.
type embedding struct {
	known           bool // query and document are what the model wants
	query, document string
	matryoshka      bool // the first values of a vector are a vector of their own
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
	embedding
}{
	{"nomic-embed-text-v1.5", embedding{true, "search_query: ", "search_document: ", true}},
	{"nomic-embed-text-v2", embedding{true, "search_query: ", "search_document: ", true}},
	{"nomic-embed", embedding{true, "search_query: ", "search_document: ", false}},
	{"qwen3-embedding", embedding{true, instruct, "", true}},
	{"gte-qwen2", embedding{true, instruct + " ", "", false}},
	{"e5-mistral", embedding{true, instruct + " ", "", false}},
	{"e5-large-instruct", embedding{true, instruct + " ", "", false}},
	{"e5-", embedding{true, "query: ", "passage: ", false}},
	{"bge-m3", embedding{known: true}},
	{"bge-small-zh", embedding{true, "为这个句子生成表示以用于检索相关文章：", "", false}},
	{"bge-base-zh", embedding{true, "为这个句子生成表示以用于检索相关文章：", "", false}},
	{"bge-large-zh", embedding{true, "为这个句子生成表示以用于检索相关文章：", "", false}},
	{"bge-", embedding{true, represent, "", false}},
	{"mxbai-embed", embedding{true, represent, "", true}},
	{"arctic-embed-m-v2", embedding{true, "query: ", "", true}},
	{"arctic-embed-l-v2", embedding{true, "query: ", "", true}},
	{"arctic-embed-m-v1.5", embedding{true, represent, "", true}},
	{"arctic-embed", embedding{true, represent, "", false}},
	{"gte-", embedding{known: true}},
	{"minilm", embedding{known: true}},
	{"mpnet-base", embedding{known: true}},
}

// embeddingOf finds out how the model of a file was trained: what o says, else
// the file's own prompts, else what the table knows under its name.
func embeddingOf(meta *weights.Meta, id, path string, o *engine.ModelOptions) embedding {
	var e embedding
	for _, name := range []string{meta.String("general.name"), meta.String("general.basename"), id, filepath.Base(path)} {
		name = strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(name))
		for _, m := range embeddings {
			if !e.known && strings.Contains(name, m.name) {
				e = m.embedding
			}
		}
	}
	var file struct {
		Prompts map[string]string `json:"prompts"`
	}
	// A text that is not what it should be counts as none.
	if json.Unmarshal([]byte(meta.String("hf.sentence_transformers")), &file) == nil {
		query, ok := file.Prompts["query"]
		document, ok2 := file.Prompts["document"]
		if !ok2 {
			document, ok2 = file.Prompts["passage"]
		}
		if ok || ok2 {
			e.known, e.query, e.document = true, query, document
		}
	}
	if o.QueryPrefix != nil {
		e.known, e.query = true, *o.QueryPrefix
	}
	if o.DocumentPrefix != nil {
		e.known, e.document = true, *o.DocumentPrefix
	}
	if o.Matryoshka != nil {
		e.matryoshka = *o.Matryoshka
	}
	return e
}

// prefix is what stands before an input of the given type.
func (e *embedding) prefix(inputType string) string {
	switch inputType {
	case "query":
		return e.query
	case "document":
		return e.document
	}
	return ""
}
