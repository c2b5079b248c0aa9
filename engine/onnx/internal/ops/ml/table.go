// Package ml has the operators of ai.onnx.ml: forests, support vectors, linear models
// and what prepares their features.
package ml

import (
	"quern/engine/onnx/internal/run"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	return run.Table{
		"ai.onnx.ml.LabelEncoder":           labelEncoder,
		"ai.onnx.ml.Binarizer":              binarizer,
		"ai.onnx.ml.Scaler":                 scaleFeatures,
		"ai.onnx.ml.Normalizer":             normalizer,
		"ai.onnx.ml.LinearRegressor":        linearRegressor,
		"ai.onnx.ml.TreeEnsemble":           treeEnsemble,
		"ai.onnx.ml.TreeEnsembleClassifier": forestClassifier,
		"ai.onnx.ml.TreeEnsembleRegressor":  forestRegressor,
		"ai.onnx.ml.LinearClassifier":       linearClassifier,
		"ai.onnx.ml.SVMClassifier":          svmClassifier,
		"ai.onnx.ml.SVMRegressor":           svmRegressor,
		"ai.onnx.ml.OneHotEncoder":          oneHotEncoder,
		"ai.onnx.ml.Imputer":                imputer,
		"ai.onnx.ml.FeatureVectorizer":      featureVectorizer,
		"ai.onnx.ml.CategoryMapper":         categoryMapper,
	}
}
