package body

import (
	"strings"
	"unicode/utf8"
)

// Limits of metadata.
const (
	maxLabels     = 16
	MaxLabelName  = 64  // characters
	MaxLabelValue = 512 // characters
)

// Labels reads metadata: names and texts of the client's own. It is never nil.
func Labels(o *Object) map[string]string {
	labels := map[string]string{}
	v, ok := o.Get("metadata")
	if !ok {
		return labels
	}
	m := v.Object()
	if m == nil {
		return labels
	}
	for label := range m.Members() {
		switch {
		case len(labels) == maxLabels:
			v.Invalid("must have at most %d entries", maxLabels)
		case utf8.RuneCountInString(label.Name) > MaxLabelName:
			v.Invalid("must have names of at most %d characters, got %.80q", MaxLabelName, label.Name)
		default:
			text := label.Str()
			if utf8.RuneCountInString(text) > MaxLabelValue {
				label.Invalid("must have at most %d characters", MaxLabelValue)
			}
			labels[strings.Clone(label.Name)] = strings.Clone(text)
		}
		if !v.Ok() {
			break
		}
	}
	return labels
}
