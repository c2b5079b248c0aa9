package wire

import "strings"

const idLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newID makes the id of a call that has none.
func (r *Reader) newID() string {
	prefix, n := "call_", 16
	if r.opt.ShortIDs {
		prefix, n = "", 9
	}
	id := []byte(prefix)
	for range n {
		id = append(id, idLetters[r.opt.Random()%uint64(len(idLetters))])
	}
	return string(id)
}

// resolve returns the tool a model means by a name. Models repeat a name
// (read.read) or write special tokens behind it; where nothing fits, the name
// stays what it is.
func (r *Reader) resolve(name string) string {
	if r.tools == nil || r.tools[name] != nil {
		return name
	}
	if head, tail, ok := strings.Cut(name, "."); ok && head == tail && r.tools[head] != nil {
		return head
	}
	if c := r.Format.Channel; c != nil {
		if head, _, ok := strings.Cut(name, c.Message); ok && r.tools[head] != nil {
			return head
		}
	}
	for _, alias := range r.Format.Aliases {
		if name == alias[0] && r.tools[alias[1]] != nil {
			return alias[1]
		}
	}
	return name
}
