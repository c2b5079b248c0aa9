package jinja

// listMethod returns a method of a list or tuple that changes nothing. list is
// nil for a tuple, which has no copy.
func listMethod(items []Value, list *List, name string) func(*run, args) (Value, error) {
	switch name {
	case "count":
		return func(r *run, a args) (Value, error) {
			v, err := a.bind(name, 1, "value")
			if err != nil {
				return nil, err
			}
			n := 0
			for _, item := range items {
				same, err := r.equal(item, v[0])
				if err != nil {
					return nil, err
				}
				if same {
					n++
				}
			}
			return Int(n), nil
		}
	case "index":
		return func(r *run, a args) (Value, error) {
			v, err := a.bind(name, 1, "value", "start", "stop")
			if err != nil {
				return nil, err
			}
			from, to, err := findBounds(len(items), v[1], v[2])
			if err != nil {
				return nil, err
			}
			for i := from; i < to; i++ {
				same, err := r.equal(items[i], v[0])
				if err != nil {
					return nil, err
				}
				if same {
					return Int(i), nil
				}
			}
			return nil, valueErrorf("value is not in list")
		}
	case "copy":
		if list != nil {
			return func(*run, args) (Value, error) { return list, nil } // lists never change
		}
	}
	return nil
}

// findBounds resolves the optional bounds of find, index and count.
func findBounds(n int, start, stop Value) (from, to int, err error) {
	if start == nil {
		start = None
	}
	if stop == nil {
		stop = None
	}
	if from, err = clip(start, 0, n, 0, n); err != nil {
		return 0, 0, err
	}
	to, err = clip(stop, n, n, 0, n)
	return from, to, err
}

// dictMethod returns a method of a dict that changes nothing.
func dictMethod(d *Dict, name string) func(*run, args) (Value, error) {
	switch name {
	case "keys", "values", "items":
		return func(_ *run, a args) (Value, error) {
			_, err := a.bind(name, 0)
			return &dictView{d, name}, err
		}
	case "get":
		return func(_ *run, a args) (Value, error) {
			if len(a.names) > 0 {
				return nil, typeErrorf("dict.get() takes no keyword arguments")
			}
			v, err := a.bind(name, 1, "key", "default")
			if err != nil {
				return nil, err
			}
			item, ok, err := d.lookup(v[0])
			if ok || err != nil {
				return item, err
			}
			if v[1] == nil {
				return None, nil
			}
			return v[1], nil
		}
	case "copy":
		return func(*run, args) (Value, error) { return d, nil } // dicts never change
	case "fromkeys":
		return func(r *run, a args) (Value, error) {
			v, err := a.bind(name, 1, "iterable", "value")
			if err != nil {
				return nil, err
			}
			keys, err := r.collect(v[0])
			if err != nil {
				return nil, err
			}
			if v[1] == nil {
				v[1] = None
			}
			out := NewDict()
			for _, k := range keys {
				if err := out.put(k, v[1]); err != nil {
					return nil, err
				}
			}
			return out, r.charge(4 * valueSize * len(keys))
		}
	}
	return nil
}
