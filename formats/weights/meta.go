package weights

import "iter"

// A Value is one metadata value. Integers of every width are int64 (uint64
// when above the int64 range), floats are float64, and arrays are []int64,
// []float64, []bool, []string or, for arrays of arrays, []Value.
type Value any

// Meta is ordered metadata. The zero value is empty and ready for Set.
type Meta struct {
	keys []string
	m    map[string]Value
}

// Set stores v under key, keeping the position of a key already there.
func (m *Meta) Set(key string, v Value) {
	if m.m == nil {
		m.m = make(map[string]Value)
	}
	if _, ok := m.m[key]; !ok {
		m.keys = append(m.keys, key)
	}
	m.m[key] = v
}

// Lookup returns the value under key.
func (m *Meta) Lookup(key string) (Value, bool) {
	v, ok := m.m[key]
	return v, ok
}

// All yields keys and values in file order.
func (m *Meta) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, k := range m.keys {
			if !yield(k, m.m[k]) {
				return
			}
		}
	}
}

// Len returns the number of keys.
func (m *Meta) Len() int { return len(m.keys) }

// String returns the string under key, or "" when it is absent or no string.
func (m *Meta) String(key string) string {
	s, _ := m.m[key].(string)
	return s
}

// Int returns the integer under key. ok is false when the key is absent or
// holds something else.
func (m *Meta) Int(key string) (n int64, ok bool) {
	n, ok = m.m[key].(int64)
	return n, ok
}

// Bool returns the boolean under key.
func (m *Meta) Bool(key string) (b, ok bool) {
	b, ok = m.m[key].(bool)
	return b, ok
}

// Strings returns the string array under key, nil when absent.
func (m *Meta) Strings(key string) []string {
	s, _ := m.m[key].([]string)
	return s
}

// Ints returns the integer array under key, nil when absent.
func (m *Meta) Ints(key string) []int64 {
	s, _ := m.m[key].([]int64)
	return s
}

// Floats returns the float array under key, nil when absent.
func (m *Meta) Floats(key string) []float64 {
	s, _ := m.m[key].([]float64)
	return s
}
