//go:build !js

package ops

import (
	"quern/engine/onnx/internal/ops/ml"
	"quern/engine/onnx/internal/ops/text"
	"quern/engine/onnx/internal/run"
)

// further are families that no model has which a browser may serve.
var further = []func() run.Table{text.Table, ml.Table}
