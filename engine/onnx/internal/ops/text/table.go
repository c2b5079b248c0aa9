// Package text has the operators on strings.
package text

import (
	"quern/engine/onnx/internal/run"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	return run.Table{
		"StringNormalizer": stringNormalizer, "StringConcat": stringConcat, "StringSplit": stringSplit,
		"RegexFullMatch": regexFullMatch, "TfIdfVectorizer": tfIdf,
	}
}
