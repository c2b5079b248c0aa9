// Package move has the operators that make tensors of little, change their shape or
// move their elements.
package move

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	return run.Table{
		"Shape": shapeOf, "Size": func(c *run.Call) []*tensor.Tensor { return run.One(tensor.Ints(c.In[0].Len()).As()) },
		"Reshape": reshape, "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": unsqueeze,
		"Transpose": transpose, "Concat": concat, "Slice": slice, "Split": splitInto, "Gather": gather, "Expand": expand,

		"Constant": constant, "ConstantOfShape": constantOfShape, "Range": numberRange, "EyeLike": eyeLike,

		"Tile": tile, "Pad": pad, "CenterCropPad": centerCropPad, "Trilu": trilu,
		"DepthToSpace": depthToSpace, "SpaceToDepth": spaceToDepth, "ReverseSequence": reverseSequence,
		"GatherElements": gatherElements, "GatherND": gatherND,
		"Scatter": scatterElements, "ScatterElements": scatterElements, "ScatterND": scatterND, "TensorScatter": tensorScatter,
		"Compress": compress, "NonZero": nonZero, "OneHot": oneHot, "TopK": topK, "Unique": Unique,
		"ai.onnx.ml.ArrayFeatureExtractor": arrayFeatureExtractor,
	}
}
