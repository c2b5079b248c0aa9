package ops

import "quern/engine/onnx/internal/run"

// further are families that no model has which a browser may serve: operators on strings, and those
// of classic machine learning. A model that has them is refused, by their names.
var further []func() run.Table
