package formats

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"quern/formats/ggml"
	"quern/formats/gguf"
	"quern/formats/safetensors"
	"quern/formats/torch"
	"quern/formats/weights"
)

// headSize is how much of a file sniffing sees: a tar header, or the first
// member of a zip archive.
const headSize = 1024

// A kind of file, known by its first bytes.
type kind struct {
	is   func(head []byte) bool
	open func(path string) (*weights.Set, error)
	// what completes the sentence "FILE is" with what the file is and what to
	// do about it; err is the sentinel. Both are unused where open is set.
	err  error
	what func(head []byte) string
}

// sniff returns the first kind of the table that head is.
func sniff(head []byte) kind {
	for _, k := range kinds {
		if k.is(head) {
			return k
		}
	}
	panic("formats: the last kind must match everything")
}

var kinds = []kind{
	{is: prefix("GGUF"), open: gguf.Open},
	{is: isSafeTensors, open: safetensors.Open},
	{is: isTorchZip, open: torch.Open},
	{is: prefix(ggml.Magic), open: ggml.Open},
	{is: isONNX, err: ErrUnsupported, what: says("an ONNX model; \"quern run-onnx\" runs the graph, and its folder with config.json and tokenizer.json is served")},

	// Other programs' models. ggml's early formats wrote their magic as a
	// little-endian number, which turns it round.
	{is: prefix("fmgg", "tjgg"), err: ErrUnsupported, what: says("a ggml file from before GGUF; get the model as GGUF or convert it again")},
	{is: prefix("algg"), err: ErrUnsupported, what: says("a ggml LoRA adapter from before GGUF; convert the adapter again")},
	{is: prefix("FUGG"), err: ErrUnsupported, what: says("a big-endian GGUF file; convert the model to little-endian")},
	{is: isPickle, err: ErrUnsupported, what: says("a Python pickle, probably a PyTorch checkpoint from before 1.6; save it again with a newer PyTorch, or get the model as GGUF or SafeTensors")},
	{is: prefix("\x93NUMPY"), err: ErrUnsupported, what: says("a NumPy array, not a model")},
	{is: prefix("\x89HDF\r\n\x1a\n"), err: ErrUnsupported, what: says("an HDF5 file, as Keras writes; convert the model to GGUF")},
	{is: at(4, "TFL3"), err: ErrUnsupported, what: says("a TensorFlow Lite model; get the model as GGUF")},

	// Packed files.
	{is: prefix("PK\x03\x04"), err: ErrUnsupported, what: says("a zip archive; unpack it and open the model inside")},
	{is: prefix("\x1f\x8b"), err: ErrUnsupported, what: packed("gzip")},
	{is: prefix("\x28\xb5\x2f\xfd"), err: ErrUnsupported, what: packed("Zstandard")},
	{is: prefix("\xfd7zXZ\x00"), err: ErrUnsupported, what: packed("xz")},
	{is: prefix("BZh"), err: ErrUnsupported, what: packed("bzip2")},
	{is: prefix("7z\xbc\xaf\x27\x1c"), err: ErrUnsupported, what: packed("7-Zip")},
	{is: at(257, "ustar"), err: ErrUnsupported, what: says("a tar archive; unpack it and open the model inside")},

	// What downloads leave behind.
	{is: func(h []byte) bool { return len(h) == 0 }, err: ErrFormat, what: says("empty; download it again")},
	{is: prefix("version https://git-lfs.github.com/spec/"), err: ErrFormat, what: lfsPointer},
	{is: isHTML, err: ErrFormat, what: says("an HTML page, not a model; the address it came from leads to a web page or needs a login")},
	{is: isXML, err: ErrFormat, what: says("an XML document, not a model; a file store answers so when it refuses a download")},
	{is: isJSON, err: ErrFormat, what: says("a JSON document, not a model; it may be a server's error or a model's configuration")},
	{is: isZeros, err: ErrFormat, what: says("blank where a model begins; the download is incomplete")},
	{is: isText, err: ErrFormat, what: says("a text file, not a model")},
	{is: func([]byte) bool { return true }, err: ErrFormat, what: says("no model file of a known kind")},
}

func says(s string) func([]byte) string { return func([]byte) string { return s } }

func packed(with string) func([]byte) string {
	return says("compressed with " + with + "; unpack it first")
}

func prefix(magics ...string) func([]byte) bool {
	return func(h []byte) bool {
		return slices.ContainsFunc(magics, func(m string) bool { return bytes.HasPrefix(h, []byte(m)) })
	}
}

func at(off int, magic string) func([]byte) bool {
	return func(h []byte) bool {
		return len(h) >= off && bytes.HasPrefix(h[off:], []byte(magic))
	}
}

// isSafeTensors looks for the length of the header and the JSON it is.
func isSafeTensors(h []byte) bool {
	if len(h) < 10 {
		return false
	}
	n := binary.LittleEndian.Uint64(h)
	return n >= 2 && n <= 1<<30 && h[8] == '{' && (h[9] == '"' || h[9] == '}' || h[9] == ' ' || h[9] == '\n')
}

// isONNX looks for a protobuf message that begins with a small ir_version and
// goes on with another field of ModelProto. ONNX has no magic.
func isONNX(h []byte) bool {
	if len(h) < 3 || h[0] != 0x08 || h[1] == 0 || h[1] > 64 {
		return false
	}
	switch h[2] {
	case 0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72: // producer … opset, metadata
		return true
	}
	return false
}

// isTorchZip looks for the member every torch.save archive begins with.
func isTorchZip(h []byte) bool {
	const nameLength, name = 26, 30 // in a zip member's header
	if !bytes.HasPrefix(h, []byte("PK\x03\x04")) || len(h) < name {
		return false
	}
	n := int(binary.LittleEndian.Uint16(h[nameLength:]))
	first := h[name:min(name+n, len(h))]
	return bytes.HasSuffix(first, []byte("/data.pkl")) || bytes.HasSuffix(first, []byte("/.format_version"))
}

// isPickle looks for a pickle's protocol number and, right after it, an
// operation such a file can begin with.
func isPickle(h []byte) bool {
	return len(h) >= 3 && h[0] == 0x80 && h[1] >= 2 && h[1] <= 5 && bytes.IndexByte([]byte("\x8a}]ch.(\x95K"), h[2]) >= 0
}

// text returns h without a byte order mark and leading white space.
func text(h []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(h, []byte("\xef\xbb\xbf")), " \t\r\n")
}

func isHTML(h []byte) bool {
	low := bytes.ToLower(text(h))
	return bytes.HasPrefix(low, []byte("<!doctype html")) || bytes.HasPrefix(low, []byte("<html")) || bytes.HasPrefix(low, []byte("<head"))
}

func isXML(h []byte) bool { return bytes.HasPrefix(text(h), []byte("<?xml")) }

func isJSON(h []byte) bool {
	t := text(h)
	return len(t) > 0 && (t[0] == '{' || t[0] == '[') && isText(h)
}

func isZeros(h []byte) bool { return len(bytes.Trim(h, "\x00")) == 0 }

// isText reports whether h has no control characters but those of text.
func isText(h []byte) bool {
	return !slices.ContainsFunc(h, func(c byte) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f || c >= 0x80 })
}

// lfsPointer says what git would have fetched.
func lfsPointer(h []byte) string {
	what := "a git-LFS pointer, not the model itself"
	if _, size, ok := bytes.Cut(h, []byte("\nsize ")); ok {
		size, _, _ = bytes.Cut(size, []byte("\n"))
		if len(size) > 0 && len(size) <= 20 && len(bytes.Trim(size, "0123456789")) == 0 {
			what += fmt.Sprintf(" of %s bytes", size)
		}
	}
	return what + `; run "git lfs pull" or download the file itself`
}
