package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"quern/bench/internal/must"
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// A reranker that knows words without having been trained. Its vocabulary is
// letters, so that it reads any word. Every letter with its neighbours in the word
// is a product of three random vectors of ±1, which is nearly orthogonal to that of
// any other three letters; the letters of the query attend to those of the
// document, and the score is the share that found their like.
//
// Kanerva, "Hyperdimensional Computing", 2009, sec. 3.

// writeReranker writes the folder of a cross-encoder, as Hugging Face publishes
// one.
func writeReranker(dir string) (err error) {
	defer must.Catch(&err)
	words := letters()
	must.Do(os.MkdirAll(dir, 0o755))
	files := map[string][]byte{"model.onnx": reranker(words)}
	special := func(id int, text string) map[string]any {
		return map[string]any{"id": id, "content": text, "special": true}
	}
	piece := func(kind, id string, of int) map[string]any {
		return map[string]any{kind: map[string]any{"id": id, "type_id": of}}
	}
	vocab, added, tokens := make(map[string]int), []any{}, map[string]any{}
	for i, w := range words {
		if vocab[w] = i; i < specials {
			added = append(added, special(i, w))
			tokens[w] = map[string]any{"id": w, "ids": []int{i}, "tokens": []string{w}}
		}
	}
	single := []any{piece("SpecialToken", "[CLS]", 0), piece("Sequence", "A", 0), piece("SpecialToken", "[SEP]", 0)}
	for name, v := range map[string]any{
		"config.json": map[string]any{
			"model_type": "bert", "architectures": []string{"BertForSequenceClassification"}, "id2label": map[string]any{"0": "LABEL_0"},
			"vocab_size": len(words), "max_position_embeddings": 2048, "pad_token_id": 0,
		},
		"tokenizer_config.json": map[string]any{"tokenizer_class": "BertTokenizer", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"},
		"tokenizer.json": map[string]any{
			"model":         map[string]any{"type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
			"added_tokens":  added,
			"normalizer":    map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "lowercase": true},
			"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
			"decoder":       map[string]any{"type": "WordPiece", "prefix": "##", "cleanup": true},
			"post_processor": map[string]any{
				"type": "TemplateProcessing", "single": single, "special_tokens": tokens,
				"pair": append(single, piece("Sequence", "B", 1), piece("SpecialToken", "[SEP]", 1)),
			},
		},
	} {
		files[name] = must.Get(json.Marshal(v))
	}
	for name, b := range files {
		must.Do(os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	return nil
}

// specials are the first tokens, which mean nothing.
const specials = 4

// letters is the vocabulary: each letter and digit as the first of a word and as
// another.
func letters() []string {
	words := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]"}
	for _, r := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		words = append(words, string(r), fmt.Sprintf("##%c", r))
	}
	return words
}

// reranker returns the graph: logits of (texts, 1).
func reranker(words []string) []byte {
	const width, sharp = 256, 20
	b, r := onnxtest.New(17), rand.New(rand.NewPCG(1, 0))
	ids := b.Input("input_ids", onnx.Int64, "batch", "tokens")
	shown := b.Input("attention_mask", onnx.Int64, "batch", "tokens")
	kinds := b.Input("token_type_ids", onnx.Int64, "batch", "tokens")
	op := func(name string, in ...string) string { return b.Node(name, in) }
	number := func(v float32) string { return b.Floats(nil, v) }
	// table is a row of ±1 for each letter, zeros for what is none.
	table := func() string {
		v := make([]float32, len(words)*width)
		for i := specials * width; i < len(v); i++ {
			v[i] = float32(2*r.IntN(2) - 1)
		}
		return op("Gather", b.Floats([]int{len(words), width}, v...), ids)
	}
	// first is one for what begins a word or is none.
	first, letter := make([]float32, len(words)), make([]float32, len(words))
	for i, w := range words {
		if len(w) != 3 {
			first[i] = 1
		}
		if i >= specials {
			letter[i] = 1
		}
	}
	begins := op("Gather", b.Floats([]int{len(words), 1}, first...), ids)
	// moved is x (texts, tokens, …) a token later, or with a negative number
	// earlier, and fill where there is none.
	moved := func(x string, by int64, fill float32) string {
		pads, from, to := []int64{0, max(by, 0), 0, 0, max(-by, 0), 0}, max(-by, 0), int64(1<<40)
		if by > 0 {
			to = -by
		}
		x = op("Pad", x, b.List(pads...), number(fill))
		return op("Slice", x, b.List(from), b.List(to), b.List(1))
	}
	// unless is one where open is one, else x.
	unless := func(open, x string) string {
		return op("Add", open, op("Mul", op("Sub", number(1), open), x))
	}
	left, right := unless(begins, moved(table(), 1, 0)), unless(moved(begins, -1, 1), moved(table(), -1, 0))
	context := op("Mul", op("Mul", table(), left), right)

	float := func(x string) string { return b.Node("Cast", []string{x}, onnxtest.Int("to", int64(onnx.Float))) }
	document := op("Mul", float(shown), float(kinds))
	query := op("Mul", float(shown), op("Sub", number(1), float(kinds)))
	keys := b.Node("Transpose", []string{context}, onnxtest.IntList("perm", 0, 2, 1))
	like := op("Mul", op("MatMul", context, keys), number(1./width))
	hidden := op("Mul", op("Sub", op("Unsqueeze", document, b.List(1)), number(1)), number(1e4))
	weights := b.Node("Softmax", []string{op("Add", op("Mul", like, number(sharp)), hidden)}, onnxtest.Int("axis", -1))
	found := b.Node("ReduceSum", []string{op("Mul", weights, like), b.List(2)}, onnxtest.Int("keepdims", 0))
	// With no document there is nothing to find, whatever the softmax makes of it.
	found = op("Mul", found, b.Node("ReduceMax", []string{document}, onnxtest.IntList("axes", 1), onnxtest.Int("keepdims", 1)))
	found = op("Relu", op("Sub", op("Mul", found, number(2)), number(1))) // less than a half is chance
	asks := op("Mul", query, op("Gather", b.Floats([]int{len(words)}, letter...), ids))
	sum := func(x string) string { return op("ReduceSum", x, b.List(1)) }
	share := op("Div", sum(op("Mul", found, asks)), op("Add", sum(asks), number(1e-6)))
	b.Output("logits", op("Sub", op("Mul", share, number(12)), number(6)), onnx.Float, "batch", 1)
	return b.Bytes()
}
