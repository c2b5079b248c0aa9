package jinja

import "cmp"

// listMethod returns a method of a list or tuple that changes nothing. list is
// nil for a tuple, which has no copy.
func listMethod(items []Value, list *List, name string) func(*run, args) Value {
	switch name {
	case "count":
		return func(r *run, a args) Value {
			v := a.bind(name, 1, "value")
			n := 0
			for _, item := range items {
				if r.equal(item, v[0]) {
					n++
				}
			}
			return Int(n)
		}
	case "index":
		return func(r *run, a args) Value {
			v := a.bind(name, 1, "value", "start", "stop")
			from, to := findBounds(len(items), v[1], v[2])
			for i := from; i < to; i++ {
				if r.equal(items[i], v[0]) {
					return Int(i)
				}
			}
			panic(valueErrorf("value is not in list"))
		}
	case "copy":
		if list != nil {
			return func(*run, args) Value { return list } // lists never change
		}
	}
	return nil
}

// findBounds resolves the optional bounds of find, index and count.
func findBounds(n int, start, stop Value) (from, to int) {
	return clip(cmp.Or(start, None), 0, n, 0, n), clip(cmp.Or(stop, None), n, n, 0, n)
}

// dictMethod returns a method of a dict that changes nothing.
func dictMethod(d *Dict, name string) func(*run, args) Value {
	switch name {
	case "keys", "values", "items":
		return func(_ *run, a args) Value {
			a.bind(name, 0)
			return &dictView{d, name}
		}
	case "get":
		return func(_ *run, a args) Value {
			if len(a.names) > 0 {
				panic(typeErrorf("dict.get() takes no keyword arguments"))
			}
			v := a.bind(name, 1, "key", "default")
			if item, ok := d.lookup(v[0]); ok {
				return item
			}
			return cmp.Or(v[1], None)
		}
	case "copy":
		return func(*run, args) Value { return d } // dicts never change
	case "fromkeys":
		return func(r *run, a args) Value {
			v := a.bind(name, 1, "iterable", "value")
			keys := r.collect(v[0])
			out := NewDict()
			for _, k := range keys {
				out.put(k, cmp.Or(v[1], None))
			}
			r.charge(4 * valueSize * len(keys))
			return out
		}
	}
	return nil
}
