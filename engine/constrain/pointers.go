package constrain

import (
	"encoding/json"
	"strings"
)

// maxPointers bounds the JSON Pointers to all values of a schema together, which the
// reader of schemas spells: a long name counts once for each value below it.
const maxPointers = 32 << 20

// pointersFit reports whether they do. What is no JSON is another's to refuse.
func pointersFit(src string) bool {
	type level struct {
		object, named bool
		at, child     int // lengths of pointers
	}
	var stack []level
	total := 0
	d := json.NewDecoder(strings.NewReader(src))
	for total <= maxPointers {
		t, err := d.Token()
		if err != nil {
			return true
		}
		delim, _ := t.(json.Delim)
		if delim == ']' || delim == '}' {
			stack = stack[:len(stack)-1]
			continue
		}
		at := 0
		if n := len(stack); n > 0 {
			top := &stack[n-1]
			if top.object && !top.named {
				name, _ := t.(string)
				top.named, top.child = true, top.at+1+len(name)
				continue
			}
			top.named = false
			at = top.child
		}
		total += at
		if delim != 0 {
			stack = append(stack, level{object: delim == '{', at: at, child: at + len("/99999")})
		}
	}
	return false
}
