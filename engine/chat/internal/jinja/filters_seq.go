package jinja

func filterLength(_ *run, v Value, _ []Value) (Value, error) {
	n, err := length(v)
	return Int(n), err
}

func filterList(r *run, v Value, _ []Value) (Value, error) {
	items, err := r.collect(v)
	if err != nil {
		return nil, err
	}
	return newItems(r, items)
}

func filterFirst(_ *run, v Value, _ []Value) (Value, error) {
	next, err := iterate(v)
	if err != nil {
		return nil, err
	}
	item, ok, err := next()
	if err == nil && !ok {
		item = undefined{message: "No first item, sequence was empty."}
	}
	return item, err
}

func filterLast(r *run, v Value, _ []Value) (Value, error) {
	items, err := r.reversible(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return undefined{message: "No last item, sequence was empty."}, nil
	}
	return items[len(items)-1], nil
}

// reversible returns the items of what Python can iterate backwards.
func (r *run) reversible(v Value) ([]Value, error) {
	switch v.(type) {
	case *generator:
		return nil, typeErrorf("'%s' object is not reversible", v.typeName())
	case undefined, *List, tuple, Str, *Dict, *dictView, rangeValue:
		return r.collect(v)
	}
	return nil, typeErrorf("'%s' object is not reversible", v.typeName())
}

func filterReverse(r *run, v Value, _ []Value) (Value, error) {
	if s, ok := v.(Str); ok {
		return r.sliceStr(s, None, None, Int(-1))
	}
	items, err := r.collect(v)
	if err != nil {
		return nil, raisef("FilterArgumentError", "argument must be iterable")
	}
	if err := r.charge(valueSize * len(items)); err != nil {
		return nil, err
	}
	out := make([]Value, len(items))
	for i, item := range items {
		out[len(items)-1-i] = item
	}
	if _, ok := v.(*generator); ok {
		return &List{out}, nil
	}
	return &generator{iterItems(out), "reversed"}, nil
}

func filterItems(r *run, v Value, _ []Value) (Value, error) {
	switch v := v.(type) {
	case undefined:
		return r.newGenerator(iterItems(nil)), nil
	case *Dict:
		return r.newGenerator((&dictView{v, "items"}).iter()), nil
	}
	return r.newGenerator(func() (Value, bool, error) {
		return nil, false, typeErrorf("Can only get item pairs from a mapping.")
	}), nil
}

func filterDictsort(r *run, v Value, a []Value) (Value, error) {
	pos := 0
	if a[1] != nil {
		switch s, _ := a[1].(Str); s.s {
		case "key":
		case "value":
			pos = 1
		default:
			return nil, raisef("FilterArgumentError", `You can only sort by either "key" or "value"`)
		}
	}
	d, ok := v.(*Dict)
	if !ok {
		if u, ok := v.(undefined); ok {
			return nil, u.err()
		}
		return nil, raisef("AttributeError", "'%s' object has no attribute 'items'", v.typeName())
	}
	items := (&dictView{d, "items"}).items()
	keys := make([]Value, len(items))
	for i, item := range items {
		keys[i] = foldCase(item.(tuple).items[pos], boolArg(a[0]))
	}
	return r.permuted(items, keys, boolArg(a[2]))
}

// permuted returns items in the order of keys.
func (r *run) permuted(items, keys []Value, reverse bool) (Value, error) {
	at, err := r.sorted(keys, reverse)
	if err != nil {
		return nil, err
	}
	out := make([]Value, len(items))
	for i, j := range at {
		out[i] = items[j]
	}
	return newItems(r, out)
}

func filterSort(r *run, v Value, a []Value) (Value, error) {
	items, err := r.collect(v)
	if err != nil {
		return nil, err
	}
	paths := [][]Value{pathOf(a[2])}
	if s, ok := a[2].(Str); ok {
		paths = paths[:0]
		for _, part := range splitOn(s, ",", -1) {
			paths = append(paths, pathOf(part))
		}
	}
	keys := make([]Value, len(items))
	for i, item := range items {
		key := make([]Value, len(paths))
		for j, path := range paths {
			k, err := r.follow(item, path, nil)
			if err != nil {
				return nil, err
			}
			key[j] = foldCase(k, boolArg(a[1]))
		}
		keys[i] = &List{key}
	}
	return r.permuted(items, keys, boolArg(a[0]))
}

func filterUnique(r *run, v Value, a []Value) (Value, error) {
	next, err := iterate(v)
	if err != nil {
		next = func() (Value, bool, error) { return nil, false, err }
	}
	path := pathOf(a[1])
	seen := make(map[hashKey]bool)
	return r.newGenerator(func() (Value, bool, error) {
		for {
			item, ok, err := next()
			if err != nil || !ok {
				return nil, false, err
			}
			k, err := r.follow(item, path, nil)
			if err != nil {
				return nil, false, err
			}
			h, err := hashOf(foldCase(k, boolArg(a[0])))
			if err != nil {
				return nil, false, err
			}
			if !seen[h] {
				seen[h] = true
				return item, true, r.charge(2 * valueSize)
			}
		}
	}), nil
}

// filterExtreme makes min or max; op holds between the better and the worse.
func filterExtreme(op string) func(*run, Value, []Value) (Value, error) {
	return func(r *run, v Value, a []Value) (Value, error) {
		items, err := r.collect(v)
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return undefined{message: "No aggregated item, sequence was empty."}, nil
		}
		path := pathOf(a[1])
		var best, bestKey Value
		for _, item := range items {
			k, err := r.follow(item, path, nil)
			if err != nil {
				return nil, err
			}
			k = foldCase(k, boolArg(a[0]))
			better := best == nil
			if !better {
				if better, err = r.order(op, k, bestKey); err != nil {
					return nil, err
				}
			}
			if better {
				best, bestKey = item, k
			}
		}
		return best, nil
	}
}

func filterSum(r *run, v Value, a []Value) (Value, error) {
	items, err := r.collect(v)
	if err != nil {
		return nil, err
	}
	path := pathOf(a[0])
	total := a[1]
	if total == nil {
		total = Int(0)
	}
	if _, ok := total.(Str); ok {
		return nil, typeErrorf("sum() can't sum strings [use ''.join(seq) instead]")
	}
	for _, item := range items {
		if item, err = r.follow(item, path, nil); err != nil {
			return nil, err
		}
		if total, err = r.binary("+", total, item); err != nil {
			return nil, err
		}
	}
	return total, nil
}

func filterGroupby(r *run, v Value, a []Value) (Value, error) {
	items, err := r.collect(v)
	if err != nil {
		return nil, err
	}
	path, sensitive := pathOf(a[0]), boolArg(a[2])
	keys := make([]Value, len(items))
	for i, item := range items {
		k, err := r.follow(item, path, a[1])
		if err != nil {
			return nil, err
		}
		keys[i] = foldCase(k, sensitive)
	}
	at, err := r.sorted(keys, false)
	if err != nil {
		return nil, err
	}
	var groups []Value
	var group *List
	for n, i := range at {
		start := n == 0
		if !start {
			eq, err := r.equal(keys[at[n-1]], keys[i])
			if err != nil {
				return nil, err
			}
			start = !eq
		}
		if start {
			k, err := r.follow(items[i], path, a[1])
			if err != nil {
				return nil, err
			}
			group = NewList()
			groups = append(groups, tuple{items: []Value{k, group}, fields: []string{"grouper", "list"}})
		}
		group.items = append(group.items, items[i])
	}
	return newItems(r, groups)
}

func filterBatch(r *run, v Value, a []Value) (Value, error) {
	n, err := index(a[0])
	if err != nil {
		return nil, err
	}
	next, err := iterate(v)
	if err != nil {
		next = func() (Value, bool, error) { return nil, false, err }
	}
	done := false
	var held Value
	return r.newGenerator(func() (Value, bool, error) {
		var row []Value
		if held != nil {
			row, held = append(row, held), nil
		}
		for !done {
			item, ok, err := next()
			if err != nil {
				return nil, false, err
			}
			if !ok {
				done = true
				break
			}
			if err := r.charge(valueSize); err != nil {
				return nil, false, err
			}
			if len(row) == n {
				held = item
				return &List{row}, true, nil
			}
			row = append(row, item)
		}
		if len(row) == 0 {
			return nil, false, nil
		}
		if !isNone(a[1]) && len(row) < n {
			if err := r.chargeTimes(n-len(row), valueSize); err != nil {
				return nil, false, err
			}
			for len(row) < n {
				row = append(row, a[1])
			}
		}
		return &List{row}, true, nil
	}), nil
}

func filterSlice(r *run, v Value, a []Value) (Value, error) {
	n, err := index(a[0])
	if err != nil {
		return nil, err
	}
	items, err := r.collect(v)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, zeroDivision("integer division or modulo by zero")
	}
	slice, from := 0, 0
	return r.newGenerator(func() (Value, bool, error) {
		if slice >= n {
			return nil, false, nil
		}
		size := len(items) / n
		extra := slice < len(items)%n
		if extra {
			size++
		}
		row := append([]Value(nil), items[from:from+size]...)
		from += size
		slice++
		if !extra && !isNone(a[1]) {
			row = append(row, a[1])
		}
		return &List{row}, true, r.charge(valueSize * (len(row) + 1))
	}), nil
}

func filterAttr(r *run, v Value, a []Value) (Value, error) {
	name, ok := a[0].(Str)
	if !ok {
		return nil, typeErrorf("attribute name must be string, not '%s'", a[0].typeName())
	}
	if u, ok := v.(undefined); ok {
		return nil, u.err()
	}
	if own, ok, err := r.ownAttr(v, name.s); ok || err != nil {
		return own, err
	}
	return undefinedAttr(v, name), nil
}

// filterMap applies a filter, or looks up an attribute, element by element.
func filterMap(r *run, v Value, a args) (Value, error) {
	apply := func(item Value) (Value, error) { return nil, nil }
	var early error
	if attr, ok := a.keyword("attribute"); ok && len(a.pos) == 0 {
		def, _ := a.keyword("default")
		for _, n := range a.names {
			if n != "attribute" && n != "default" {
				early = raisef("FilterArgumentError", "Unexpected keyword argument %s", quote(n))
			}
		}
		path := pathOf(attr)
		apply = func(item Value) (Value, error) { return r.follow(item, path, def) }
	} else if len(a.pos) == 0 {
		early = raisef("FilterArgumentError", "map requires a filter argument")
	} else {
		name, ok := a.pos[0].(Str)
		if !ok {
			early = raisef("TemplateRuntimeError", "No filter named %s.", a.pos[0].typeName())
		}
		rest := a
		rest.pos = a.pos[1:]
		apply = func(item Value) (Value, error) { return r.filter(name.s, item, rest) }
	}
	return r.lazily(v, early, func(item Value) (Value, bool, error) {
		out, err := apply(item)
		return out, true, err
	}), nil
}

// lazily is a generator of what f keeps of v. Nothing happens, and nothing is
// wrong, until it is run.
func (r *run) lazily(v Value, early error, f func(Value) (Value, bool, error)) Value {
	var next iterator
	return r.newGenerator(func() (Value, bool, error) {
		if next == nil {
			if !truth(v) {
				next = iterItems(nil)
			} else if early != nil {
				return nil, false, early
			} else {
				var err error
				if next, err = iterate(v); err != nil {
					return nil, false, err
				}
			}
		}
		for {
			item, ok, err := next()
			if err != nil || !ok {
				return nil, false, err
			}
			if err := r.enter(); err != nil {
				return nil, false, err
			}
			out, keep, err := f(item)
			r.depth--
			if err != nil || keep {
				return out, keep, err
			}
		}
	})
}

// filterSelect makes select and its kin: keep elements, or those whose
// attribute, passes a test, or fails it.
func filterSelect(keep, attr bool) func(*run, Value, args) (Value, error) {
	return func(r *run, v Value, a args) (Value, error) {
		var path []Value
		var early error
		rest := a
		if attr {
			if len(a.pos) == 0 {
				early = raisef("FilterArgumentError", "Missing parameter for attribute name")
			} else {
				path = pathOf(a.pos[0])
				rest.pos = a.pos[1:]
			}
		}
		test := func(item Value) (bool, error) { return truth(item), nil }
		if len(rest.pos) > 0 {
			name, _ := rest.pos[0].(Str)
			rest.pos = rest.pos[1:]
			test = func(item Value) (bool, error) { return r.test(name.s, item, rest) }
		}
		return r.lazily(v, early, func(item Value) (Value, bool, error) {
			x, err := r.follow(item, path, nil)
			if err != nil {
				return nil, false, err
			}
			ok, err := test(x)
			return item, ok == keep, err
		}), nil
	}
}

func filterDefault(_ *run, v Value, a []Value) (Value, error) {
	_, missing := v.(undefined)
	if !missing && !(boolArg(a[1]) && !truth(v)) {
		return v, nil
	}
	if a[0] == nil {
		return Text(""), nil
	}
	return a[0], nil
}
