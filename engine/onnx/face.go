package onnx

import "quern/formats/onnx"

func New(m *onnx.Model, o Options) (*Session, error) {
	return newSession(m, o, operators{table: allTables(), hints: hints, fuse: fuse})
}
