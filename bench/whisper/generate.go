package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"quern/bench/internal/must"
	"quern/engine/asr/audio"
	"quern/engine/asr/heard"
	"quern/formats/ggml"
	"quern/kernels/quant"
)

// fileTypes are the number types of ggml files with the numbers of their headers:
// those of quantised files carry the version of the formats, 2, in thousands.
var fileTypes = []struct {
	typ    quant.Type
	number uint32
}{
	{quant.F32, 0}, {quant.F16, 1},
	{quant.Q4_0, 2002}, {quant.Q8_0, 2007}, {quant.Q5_0, 2008}, {quant.Q5_1, 2009},
}

// typeOf finds a number type by its name.
func typeOf(name string) (typ quant.Type, number uint32, err error) {
	var names []string
	for _, t := range fileTypes {
		if strings.EqualFold(t.typ.String(), name) {
			return t.typ, t.number, nil
		}
		names = append(names, t.typ.String())
	}
	return 0, 0, fmt.Errorf("no type %q; there are %s", name, strings.Join(names, ", "))
}

// generate writes a model to path: a file of whisper.cpp's, or with hf a
// directory of Hugging Face's.
func generate(path string, s shape, typeName string, seed uint64, hf bool) error {
	typ, number, err := typeOf(typeName)
	if err != nil {
		return err
	}
	if hf {
		if typ != quant.F16 && typ != quant.F32 {
			return fmt.Errorf("SafeTensors files of Whisper are F16 or F32, not %v", typ)
		}
		return writeDirectory(path, s, typ, seed)
	}
	return writeFile(path, func(w io.Writer) error { return writeGGML(w, s, typ, number, seed) })
}

// writeFile writes beside path and renames, so that no process that has the old file
// mapped sees it change.
func writeFile(path string, write func(io.Writer) error) (err error) {
	defer must.Catch(&err)
	f := must.Get(os.Create(path + ".part"))
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	must.Do(write(w))
	must.Do(w.Flush())
	must.Do(f.Close())
	return os.Rename(f.Name(), path)
}

// writeGGML writes what package ggml describes.
func writeGGML(w io.Writer, s shape, typ quant.Type, number uint32, seed uint64) (err error) {
	defer must.Catch(&err)
	var head []byte
	put := func(n ...int) {
		for _, v := range n {
			head = binary.LittleEndian.AppendUint32(head, uint32(v))
		}
	}
	head = append(head, ggml.Magic...)
	put(vocabSize, places, s.width, s.heads, s.layers, textPlaces, s.width, s.heads, s.layers, bands, int(number))
	filters, bins := audio.MelFilters(bands)
	put(bands, bins)
	for _, v := range filters {
		head, _ = binary.Append(head, binary.LittleEndian, v) // a float32 has a size
	}
	tokens := vocabulary()
	put(len(tokens))
	for _, t := range tokens {
		put(len(t))
		head = append(head, t...)
	}
	for _, t := range s.tensors() {
		typ := t.numberType(typ)
		shape := t.shape
		if strings.HasPrefix(t.openAI, "encoder.conv") && len(shape) == 1 { // a column
			shape = append(shape, 1)
		}
		put(len(shape), len(t.openAI), int(typ.Layout().GGML))
		for i := range shape {
			put(shape[len(shape)-1-i])
		}
		head = append(head, t.openAI...)
		data := must.Get(encode(&t, typ, seed))
		must.Get(w.Write(head))
		must.Get(w.Write(data))
		head = head[:0]
	}
	return nil
}

func encode(t *tensor, typ quant.Type, seed uint64) ([]byte, error) {
	x := t.floats(seed)
	n, ok := typ.Size(len(x))
	if _, whole := typ.Size(t.shape[len(t.shape)-1]); !ok || !whole {
		return nil, fmt.Errorf("rows of %d of %s are no whole blocks of %v", t.shape[len(t.shape)-1], t.openAI, typ)
	}
	data := make([]byte, n)
	typ.Layout().Encode(data, x)
	return data, nil
}

// writeDirectory writes model.safetensors and the files beside it.
func writeDirectory(dir string, s shape, typ quant.Type, seed uint64) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	special := specialTokens()
	generation, config := configs(s, special)
	for name, v := range map[string]any{"config.json": config, "generation_config.json": generation, "tokenizer.json": tokenizer(special)} {
		text, err := json.MarshalIndent(v, "", " ")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o666)
		}
		if err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(dir, "model.safetensors"), func(w io.Writer) error {
		type entry struct {
			Type    string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}
		head, at := map[string]entry{}, 0
		list := s.tensors()
		for i := range list {
			n, ok := typ.Size(list[i].elems())
			if !ok {
				return fmt.Errorf("%v does not fit %s", typ, list[i].huggingFace)
			}
			head[list[i].huggingFace] = entry{typ.String(), list[i].shape, [2]int{at, at + n}}
			at += n
		}
		text, err := json.Marshal(head)
		if err != nil {
			return err
		}
		for len(text)%8 != 0 { // data begins aligned
			text = append(text, ' ')
		}
		if err := binary.Write(w, binary.LittleEndian, uint64(len(text))); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		for i := range list {
			data, err := encode(&list[i], typ, seed)
			if err != nil {
				return err
			}
			if _, err := w.Write(data); err != nil {
				return err
			}
		}
		return nil
	})
}

// specialTokens are those from plainSize on.
func specialTokens() []string {
	list := []string{"<|endoftext|>", "<|startoftranscript|>"}
	for _, code := range heard.Languages()[:99] {
		list = append(list, "<|"+code+"|>")
	}
	list = append(list, "<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>")
	for i := range 1501 {
		list = append(list, fmt.Sprintf("<|%.2f|>", float64(i)*0.02))
	}
	return list
}

// configs are generation_config.json and config.json.
func configs(s shape, special []string) (generation, config map[string]any) {
	ids, languages := map[string]int{}, map[string]int{}
	for i, t := range special {
		ids[t] = plainSize + i
		if i >= 2 && i < 101 {
			languages[t] = ids[t]
		}
	}
	generation = map[string]any{
		"lang_to_id": languages, "task_to_id": map[string]int{"transcribe": ids["<|transcribe|>"], "translate": ids["<|translate|>"]},
		"is_multilingual": true, "decoder_start_token_id": ids["<|startoftranscript|>"], "eos_token_id": ids["<|endoftext|>"],
		"no_timestamps_token_id": ids["<|notimestamps|>"], "prev_sot_token_id": ids["<|startofprev|>"], "max_initial_timestamp_index": 50,
	}
	config = map[string]any{
		"model_type": "whisper", "architectures": []string{"WhisperForConditionalGeneration"}, "d_model": s.width,
		"encoder_layers": s.layers, "encoder_attention_heads": s.heads, "encoder_ffn_dim": 4 * s.width,
		"decoder_layers": s.layers, "decoder_attention_heads": s.heads, "decoder_ffn_dim": 4 * s.width,
		"num_mel_bins": bands, "max_source_positions": places, "max_target_positions": textPlaces, "vocab_size": vocabSize,
		"activation_function": "gelu", "scale_embedding": false,
	}
	return generation, config
}

// tokenizer is tokenizer.json: byte pair encoding over the bytes of a text.
func tokenizer(special []string) map[string]any {
	ids, vocab := map[string]int{}, map[string]int{}
	var merges []string
	for i, t := range vocabulary() {
		if i >= 256 {
			a, b := halves(t, ids)
			merges = append(merges, spell(a)+" "+spell(b))
		}
		ids[t], vocab[spell(t)] = i, i
	}
	var added []any
	for i, t := range special {
		added = append(added, map[string]any{"id": plainSize + i, "content": t, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": i < 107})
	}
	bytes := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	return map[string]any{
		"version": "1.0", "added_tokens": added, "pre_tokenizer": bytes, "decoder": bytes,
		"model": map[string]any{"type": "BPE", "vocab": vocab, "merges": merges},
	}
}

// halves returns the two tokens that the pairs of lower rank make of a token,
// whose ids are known.
func halves(t string, ids map[string]int) (a, b string) {
	var parts []string
	for i := range len(t) {
		parts = append(parts, t[i:i+1])
	}
	for len(parts) > 2 {
		best, at := vocabSize, 0
		for i := range len(parts) - 1 {
			if id, ok := ids[parts[i]+parts[i+1]]; ok && id < best {
				best, at = id, i
			}
		}
		parts[at] += parts[at+1]
		parts = slices.Delete(parts, at+1, at+2)
	}
	return parts[0], parts[1]
}

// spell writes bytes as byte-level vocabularies do: printable Latin-1 as itself,
// the others from U+0100 on.
func spell(bytes string) string {
	var out []rune
	for i := range len(bytes) {
		r := rune(bytes[i])
		switch {
		case r <= ' ':
			r += 0x100
		case 0x7F <= r && r <= 0xA0:
			r += 0x121 - 0x7F
		case r == 0xAD:
			r = 0x143
		}
		out = append(out, r)
	}
	return string(out)
}
