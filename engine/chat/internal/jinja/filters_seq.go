package jinja

import "slices"

func filterLength(_ *run, v Value, _ []Value) Value {
	return Int(length(v))
}

func filterList(r *run, v Value, _ []Value) Value {
	return newItems(r, r.collect(v))
}

func filterFirst(_ *run, v Value, _ []Value) Value {
	item, ok := iterate(v)()
	if !ok {
		item = undefined{message: "No first item, sequence was empty."}
	}
	return item
}

func filterLast(r *run, v Value, _ []Value) Value {
	items := r.reversible(v)
	if len(items) == 0 {
		return undefined{message: "No last item, sequence was empty."}
	}
	return items[len(items)-1]
}

// reversible returns the items of what Python can iterate backwards.
func (r *run) reversible(v Value) []Value {
	switch v.(type) {
	case *generator:
		panic(typeErrorf("'%s' object is not reversible", v.typeName()))
	case undefined, *List, tuple, Str, *Dict, *dictView, rangeValue:
		return r.collect(v)
	}
	panic(typeErrorf("'%s' object is not reversible", v.typeName()))
}

func filterReverse(r *run, v Value, _ []Value) Value {
	if s, ok := v.(Str); ok {
		return r.sliceStr(s, None, None, Int(-1))
	}
	items, ok := attempt(func() []Value { return r.collect(v) }, "TypeError")
	if !ok {
		panic(raisef("FilterArgumentError", "argument must be iterable"))
	}
	r.charge(valueSize * len(items))
	out := slices.Clone(items)
	slices.Reverse(out)
	if _, ok := v.(*generator); ok {
		return &List{out}
	}
	return &generator{iterItems(out), "reversed"}
}

func filterItems(r *run, v Value, _ []Value) Value {
	switch v := v.(type) {
	case undefined:
		return r.newGenerator(iterItems(nil))
	case *Dict:
		return r.newGenerator((&dictView{v, "items"}).iter())
	}
	return r.newGenerator(func() (Value, bool) {
		panic(typeErrorf("Can only get item pairs from a mapping."))
	})
}

func filterDictsort(r *run, v Value, a []Value) Value {
	pos := 0
	if a[1] != nil {
		switch s, _ := a[1].(Str); s.s {
		case "key":
		case "value":
			pos = 1
		default:
			panic(raisef("FilterArgumentError", `You can only sort by either "key" or "value"`))
		}
	}
	d, ok := v.(*Dict)
	if !ok {
		defined(v)
		panic(raisef("AttributeError", "'%s' object has no attribute 'items'", v.typeName()))
	}
	items := (&dictView{d, "items"}).items()
	keys := make([]Value, len(items))
	for i, item := range items {
		keys[i] = foldCase(item.(tuple).items[pos], boolArg(a[0]))
	}
	return r.permuted(items, keys, boolArg(a[2]))
}

// permuted returns items in the order of keys.
func (r *run) permuted(items, keys []Value, reverse bool) Value {
	at := r.sorted(keys, reverse)
	out := make([]Value, len(items))
	for i, j := range at {
		out[i] = items[j]
	}
	return newItems(r, out)
}

func filterSort(r *run, v Value, a []Value) Value {
	items := r.collect(v)
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
			k := r.follow(item, path, nil)
			key[j] = foldCase(k, boolArg(a[1]))
		}
		keys[i] = &List{key}
	}
	return r.permuted(items, keys, boolArg(a[0]))
}

func filterUnique(r *run, v Value, a []Value) Value {
	next := iterateLater(v)
	path := pathOf(a[1])
	seen := make(map[hashKey]bool)
	return r.newGenerator(func() (Value, bool) {
		for {
			item, ok := next()
			if !ok {
				return nil, false
			}
			k := r.follow(item, path, nil)
			h := hashOf(foldCase(k, boolArg(a[0])))
			if !seen[h] {
				seen[h] = true
				r.charge(2 * valueSize)
				return item, true
			}
		}
	})
}

// filterExtreme makes min or max; op holds between the better and the worse.
func filterExtreme(op string) func(*run, Value, []Value) Value {
	return func(r *run, v Value, a []Value) Value {
		items := r.collect(v)
		if len(items) == 0 {
			return undefined{message: "No aggregated item, sequence was empty."}
		}
		path := pathOf(a[1])
		var best, bestKey Value
		for _, item := range items {
			k := r.follow(item, path, nil)
			k = foldCase(k, boolArg(a[0]))
			better := best == nil
			if !better {
				better = r.order(op, k, bestKey)
			}
			if better {
				best, bestKey = item, k
			}
		}
		return best
	}
}

func filterSum(r *run, v Value, a []Value) Value {
	items := r.collect(v)
	path := pathOf(a[0])
	total := a[1]
	if total == nil {
		total = Int(0)
	}
	if _, ok := total.(Str); ok {
		panic(typeErrorf("sum() can't sum strings [use ''.join(seq) instead]"))
	}
	for _, item := range items {
		item = r.follow(item, path, nil)
		total = r.binary("+", total, item)
	}
	return total
}

func filterGroupby(r *run, v Value, a []Value) Value {
	items := r.collect(v)
	path, sensitive := pathOf(a[0]), boolArg(a[2])
	keys := make([]Value, len(items))
	for i, item := range items {
		keys[i] = foldCase(r.follow(item, path, a[1]), sensitive)
	}
	at := r.sorted(keys, false)
	var groups []Value
	var group *List
	for n, i := range at {
		start := n == 0
		if !start {
			start = !r.equal(keys[at[n-1]], keys[i])
		}
		if start {
			k := r.follow(items[i], path, a[1])
			group = NewList()
			groups = append(groups, tuple{items: []Value{k, group}, fields: []string{"grouper", "list"}})
		}
		group.items = append(group.items, items[i])
	}
	return newItems(r, groups)
}

func filterBatch(r *run, v Value, a []Value) Value {
	n := index(a[0])
	next := iterateLater(v)
	done := false
	var held Value
	return r.newGenerator(func() (Value, bool) {
		var row []Value
		if held != nil {
			row, held = append(row, held), nil
		}
		for !done {
			item, ok := next()
			if !ok {
				done = true
				break
			}
			r.charge(valueSize)
			if len(row) == n {
				held = item
				return &List{row}, true
			}
			row = append(row, item)
		}
		if len(row) == 0 {
			return nil, false
		}
		if !isNone(a[1]) && len(row) < n {
			r.chargeTimes(n-len(row), valueSize)
			for len(row) < n {
				row = append(row, a[1])
			}
		}
		return &List{row}, true
	})
}

func filterSlice(r *run, v Value, a []Value) Value {
	n := index(a[0])
	items := r.collect(v)
	if n == 0 {
		panic(zeroDivision("integer division or modulo by zero"))
	}
	slice, from := 0, 0
	return r.newGenerator(func() (Value, bool) {
		if slice >= n {
			return nil, false
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
		r.charge(valueSize * (len(row) + 1))
		return &List{row}, true
	})
}

func filterAttr(r *run, v Value, a []Value) Value {
	name, ok := a[0].(Str)
	if !ok {
		panic(typeErrorf("attribute name must be string, not '%s'", a[0].typeName()))
	}
	defined(v)
	if own, ok := r.ownAttr(v, name.s); ok {
		return own
	}
	return undefinedAttr(v, name)
}

// filterMap applies a filter, or looks up an attribute, element by element.
func filterMap(r *run, v Value, a args) Value {
	var apply func(item Value) Value
	var early thrown
	if attr, ok := a.keyword("attribute"); ok && len(a.pos) == 0 {
		def, _ := a.keyword("default")
		for _, n := range a.names {
			if n != "attribute" && n != "default" {
				early = raisef("FilterArgumentError", "Unexpected keyword argument %s", quote(n))
			}
		}
		path := pathOf(attr)
		apply = func(item Value) Value { return r.follow(item, path, def) }
	} else if len(a.pos) == 0 {
		early = raisef("FilterArgumentError", "map requires a filter argument")
	} else {
		name, ok := a.pos[0].(Str)
		if !ok {
			early = raisef("TemplateRuntimeError", "No filter named %s.", a.pos[0].typeName())
		}
		rest := a
		rest.pos = a.pos[1:]
		apply = func(item Value) Value { return r.filter(name.s, item, rest) }
	}
	return r.lazily(v, early, func(item Value) (Value, bool) { return apply(item), true })
}

// lazily is a generator of what f keeps of v. Nothing happens, and nothing is
// wrong, until it is run.
func (r *run) lazily(v Value, early thrown, f func(Value) (Value, bool)) Value {
	var next iterator
	return r.newGenerator(func() (Value, bool) {
		if next == nil {
			if !truth(v) {
				next = iterItems(nil)
			} else if early.error != nil {
				panic(early)
			} else {
				next = iterate(v)
			}
		}
		for {
			item, ok := next()
			if !ok {
				return nil, false
			}
			r.enter()
			out, keep := f(item)
			r.depth--
			if keep {
				return out, keep
			}
		}
	})
}

// filterSelect makes select, reject, selectattr and rejectattr: keep elements, or those whose
// attribute, passes a test, or fails it.
func filterSelect(keep, attr bool) func(*run, Value, args) Value {
	return func(r *run, v Value, a args) Value {
		var path []Value
		var early thrown
		rest := a
		if attr {
			if len(a.pos) == 0 {
				early = raisef("FilterArgumentError", "Missing parameter for attribute name")
			} else {
				path = pathOf(a.pos[0])
				rest.pos = a.pos[1:]
			}
		}
		test := truth
		if len(rest.pos) > 0 {
			name, _ := rest.pos[0].(Str)
			rest.pos = rest.pos[1:]
			test = func(item Value) bool { return r.test(name.s, item, rest) }
		}
		return r.lazily(v, early, func(item Value) (Value, bool) {
			ok := test(r.follow(item, path, nil))
			return item, ok == keep
		})
	}
}

func filterDefault(_ *run, v Value, a []Value) Value {
	_, missing := v.(undefined)
	if !missing && !(boolArg(a[1]) && !truth(v)) {
		return v
	}
	if a[0] == nil {
		return Text("")
	}
	return a[0]
}
