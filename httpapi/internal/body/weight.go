package body

// The memory of decoded JSON, in bytes: itself and the values made of it. Numbers
// of a list are tokens.
const (
	WeightByte   = 2   // itself and its strings
	weightValue  = 16  // one more of a list or object
	weightString = 32  // where it is
	weightField  = 40  // where its value is, in a map that grew
	weightList   = 64  // a prompt of tokens
	weightObject = 256 // a message, and its reader
)

// A Weight counts the memory that the JSON written to it will take once it is decoded.
type Weight struct {
	Bytes           int64
	quoted, escaped bool // in a string; behind its backslash
}

func (w *Weight) Write(p []byte) (int, error) {
	n := int64(WeightByte * len(p))
	for _, c := range p {
		switch {
		case w.escaped:
			w.escaped = false
		case c == '"':
			if w.quoted = !w.quoted; w.quoted {
				n += weightString
			}
		case w.quoted:
			w.escaped = c == '\\'
		case c == ',':
			n += weightValue
		case c == ':':
			n += weightField
		case c == '[':
			n += weightList
		case c == '{':
			n += weightObject
		}
	}
	w.Bytes += n
	return len(p), nil
}
