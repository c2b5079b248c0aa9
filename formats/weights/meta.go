package weights

import "iter"

// A Value is one metadata value. Integers of every width are int64 (uint64
// when above the int64 range), floats are float64, and arrays are []int64,
// []float64, []bool, []string or, for arrays of arrays, []Value.
type Value any

// Meta is ordered metadata. The zero value is empty and ready for Set.
type Meta struct {
	keys []string
	m    map[string]entry
}

type entry struct {
	v    Value
	kind Kind
}

// Set stores v under key, keeping the position of a key already there. Its
// kind becomes unknown.
func (m *Meta) Set(key string, v Value) { m.SetKind(key, v, 0) }

// SetKind is Set for a value whose stored type is known, so that rewriting a
// file keeps the widths it had.
func (m *Meta) SetKind(key string, v Value, k Kind) {
	if m.m == nil {
		m.m = make(map[string]entry)
	}
	if _, ok := m.m[key]; !ok {
		m.keys = append(m.keys, key)
	}
	m.m[key] = entry{v, k}
}

// Lookup returns the value under key.
func (m *Meta) Lookup(key string) (Value, bool) {
	e, ok := m.m[key]
	return e.v, ok
}

// Kind returns the stored type of the value under key, or zero when it is
// absent or unknown.
func (m *Meta) Kind(key string) Kind { return m.m[key].kind }

// All yields keys and values in file order.
func (m *Meta) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, k := range m.keys {
			if !yield(k, m.m[k].v) {
				return
			}
		}
	}
}

// Len returns the number of keys.
func (m *Meta) Len() int { return len(m.keys) }

// String returns the string under key, or "" when it is absent or no string.
func (m *Meta) String(key string) string {
	s, _ := m.m[key].v.(string)
	return s
}

// Int returns the integer under key. ok is false when the key is absent or
// holds something else.
func (m *Meta) Int(key string) (n int64, ok bool) {
	n, ok = m.m[key].v.(int64)
	return n, ok
}

// Bool returns the boolean under key.
func (m *Meta) Bool(key string) (b, ok bool) {
	b, ok = m.m[key].v.(bool)
	return b, ok
}

// Strings returns the string array under key, nil when absent.
func (m *Meta) Strings(key string) []string {
	s, _ := m.m[key].v.([]string)
	return s
}

// Ints returns the integer array under key, nil when absent.
func (m *Meta) Ints(key string) []int64 {
	s, _ := m.m[key].v.([]int64)
	return s
}

// Floats returns the float array under key, nil when absent.
func (m *Meta) Floats(key string) []float64 {
	s, _ := m.m[key].v.([]float64)
	return s
}
