// Package builtin holds quern-tiny, the model inside the binary.
//
// quern-tiny is a demonstration and a test double, not an assistant: a Llama of
// about four million parameters, trained by the scripts in train on text that
// they make up. It greets, adds small numbers, names capitals and opposites,
// tells short stories, calls simple functions, and says that it does not know
// the rest. It exists so that a fresh binary answers with no download and that
// tests run a whole model.
package builtin

// Name is the model's name in the API and its general.name in the file.
const Name = "quern-tiny"

// GGUF returns the model file: GGUF v3, matrices Q8_0, norms F32. The bytes are
// shared by all callers and read-only.
func GGUF() []byte { return gguf() }
