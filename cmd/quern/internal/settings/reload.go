package settings

import (
	"reflect"
	"slices"
	"strings"
)

// Changed names the settings in which two differ: those a running server can apply, and
// those that are applied at its next start.
func Changed(before, after *Settings) (live, fixed []string) {
	for _, r := range table() {
		if r.key == "" || strings.Contains(r.key, "[]") || slices.ContainsFunc(table(), func(o row) bool { return strings.HasPrefix(o.key, r.key+".") }) {
			continue // the rows of entries, and headings
		}
		if reflect.DeepEqual(field(before, r.key).Interface(), field(after, r.key).Interface()) {
			continue
		}
		if r.live {
			live = append(live, r.key)
		} else {
			fixed = append(fixed, r.key)
		}
	}
	return live, fixed
}
