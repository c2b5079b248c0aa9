package jinja

import "strings"

// attr is v.name: an attribute or method if v has one, else an element.
func (r *run) attr(v Value, name string) (Value, error) {
	if u, ok := v.(undefined); ok {
		return nil, u.err()
	}
	if a, ok, err := r.ownAttr(v, name); ok || err != nil {
		return a, err
	}
	if d, ok := v.(*Dict); ok {
		if item, ok := d.Get(name); ok {
			return item, nil
		}
	}
	return undefinedAttr(v, Text(name)), nil
}

// item is v[key]: an element if v has it, else an attribute or method.
func (r *run) item(v, key Value) (Value, error) {
	switch v := v.(type) {
	case undefined:
		return nil, v.err()
	case *Dict:
		item, ok, err := v.lookup(key)
		if ok || err != nil && !isKind(err, "TypeError") {
			return item, err
		}
	default:
		if i, ok := smallInt(key); ok {
			if item, ok := r.index(v, i); ok {
				return item, nil
			}
		}
	}
	if s, ok := key.(Str); ok {
		if a, ok, err := r.ownAttr(v, s.s); ok || err != nil {
			return a, err
		}
	}
	return undefinedAttr(v, key), nil
}

// index is the element of a sequence at i, counted from the end if negative.
func (r *run) index(v Value, i int64) (Value, bool) {
	switch v := v.(type) {
	case *List:
		return at(v.items, i)
	case tuple:
		return at(v.items, i)
	case rangeValue:
		if i < 0 {
			i += v.n
		}
		if i < 0 || i >= v.n {
			return nil, false
		}
		return v.at(i), true
	case Str:
		r.steps -= len(v.s) >> 6
		if v.ascii() {
			if i < 0 {
				i += int64(len(v.s))
			}
			if i < 0 || i >= int64(len(v.s)) {
				return nil, false
			}
			return v.sub(int(i), int(i)+1), true
		}
		at := v.offsets()
		n := int64(len(at) - 1)
		if i < 0 {
			i += n
		}
		if i < 0 || i >= n {
			return nil, false
		}
		return v.sub(at[i], at[i+1]), true
	}
	return nil, false
}

func at(items []Value, i int64) (Value, bool) {
	if i < 0 {
		i += int64(len(items))
	}
	if i < 0 || i >= int64(len(items)) {
		return nil, false
	}
	return items[i], true
}

// mutators are the methods the immutable sandbox refuses.
var mutators = map[string]string{
	"dict": " clear pop popitem setdefault update ",
	"list": " append clear extend insert pop remove reverse sort ",
}

// ownAttr returns the attribute or method of v called name.
func (r *run) ownAttr(v Value, name string) (Value, bool, error) {
	if strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") ||
		strings.Contains(mutators[v.typeName()], " "+name+" ") {
		return undefined{
			message: "access to attribute '" + name + "' of '" + v.typeName() + "' object is unsafe.",
			kind:    "SecurityError",
		}, true, nil
	}
	var fn func(*run, args) (Value, error)
	switch v := v.(type) {
	case Str:
		if m, ok := r.methods[name]; ok {
			fn = func(r *run, a args) (Value, error) { return m.call(r, name, v, a) }
		}
	case *List:
		fn = listMethod(v.items, v, name)
	case tuple:
		for i, f := range v.fields {
			if f == name {
				return v.items[i], true, nil
			}
		}
		fn = listMethod(v.items, nil, name)
	case *Dict:
		fn = dictMethod(v, name)
	case *namespace:
		a, ok := v.vars.Get(name)
		return a, ok, nil
	case *loop:
		return v.attr(r, name)
	case *cycler:
		return v.attr(name)
	case *macro:
		return v.attr(name)
	case Bool, Int, bigInt, Float:
		a, ok := numberAttr(v, name)
		return a, ok, nil
	}
	if fn == nil {
		return nil, false, nil
	}
	return &function{name, fn}, true, nil
}

// slice is v[from:to:step].
func (r *run) slice(v, from, to, step Value) (Value, error) {
	switch v := v.(type) {
	case undefined:
		return nil, v.err()
	case Str:
		return r.sliceStr(v, from, to, step)
	case *List:
		items, err := r.sliceItems(v.items, from, to, step)
		return &List{items}, err
	case tuple:
		items, err := r.sliceItems(v.items, from, to, step)
		return tuple{items: items}, err
	case rangeValue:
		i, n, s, err := sliceIndices(int(v.n), from, to, step)
		if err != nil {
			return nil, err
		}
		return rangeValue{v.start + int64(i)*v.step, int64(n), v.step * int64(s)}, nil
	case *Dict:
		return nil, typeErrorf("unhashable type: 'slice'")
	}
	return nil, typeErrorf("'%s' object is not subscriptable", v.typeName())
}

// sliceIndices returns the first index, the count and the step of a slice of n
// elements.
func sliceIndices(n int, from, to, step Value) (first, count, stride int, err error) {
	stride = 1
	if _, none := step.(NoneType); !none {
		s, ok := smallInt(step)
		if !ok {
			if !isInt(step) {
				return 0, 0, 0, typeErrorf("slice indices must be integers or None or have an __index__ method")
			}
			s = int64(bigOf(step).Sign()) << 40
		}
		if s == 0 {
			return 0, 0, 0, valueErrorf("slice step cannot be zero")
		}
		stride = int(min(max(s, -1<<40), 1<<40))
	}
	low, high := 0, n
	if stride < 0 {
		low, high = -1, n-1
	}
	first, last := low, high
	if stride < 0 {
		first, last = high, low
	}
	if first, err = clip(from, first, n, low, high); err != nil {
		return 0, 0, 0, err
	}
	if last, err = clip(to, last, n, low, high); err != nil {
		return 0, 0, 0, err
	}
	switch {
	case stride > 0 && last > first:
		count = (last-first-1)/stride + 1
	case stride < 0 && last < first:
		count = (first-last-1)/-stride + 1
	}
	return first, count, stride, nil
}

// clip resolves one slice bound of n elements to [low, high].
func clip(v Value, def, n, low, high int) (int, error) {
	if _, ok := v.(NoneType); ok {
		return def, nil
	}
	if !isInt(v) {
		return 0, typeErrorf("slice indices must be integers or None or have an __index__ method")
	}
	i, ok := smallInt(v)
	if !ok {
		i = int64(bigOf(v).Sign()) << 40
	}
	i = min(max(i, -1<<40), 1<<40)
	if i < 0 {
		i += int64(n)
	}
	return int(min(max(i, int64(low)), int64(high))), nil
}

func (r *run) sliceItems(items []Value, from, to, step Value) ([]Value, error) {
	i, n, s, err := sliceIndices(len(items), from, to, step)
	if err != nil {
		return nil, err
	}
	if err := r.chargeTimes(n, valueSize); err != nil {
		return nil, err
	}
	out := make([]Value, 0, n)
	for ; n > 0; n-- {
		out = append(out, items[i])
		i += s
	}
	return out, nil
}

func (r *run) sliceStr(v Str, from, to, step Value) (Value, error) {
	at := []int(nil)
	n := len(v.s)
	if !v.ascii() {
		at = v.offsets()
		n = len(at) - 1
	}
	if err := r.charge(len(v.s) + 24*len(v.marks)); err != nil {
		return nil, err
	}
	byteAt := func(i int) int {
		if at == nil {
			return i
		}
		return at[i]
	}
	i, count, s, err := sliceIndices(n, from, to, step)
	if err != nil {
		return nil, err
	}
	if s == 1 {
		return v.sub(byteAt(i), byteAt(i+count)), nil
	}
	if err := r.chargeTimes(count, 8+8*len(v.marks)); err != nil {
		return nil, err
	}
	var b builder
	for ; count > 0; count-- {
		b.add(v.sub(byteAt(i), byteAt(i+1)))
		i += s
	}
	out := b.str()
	out.markup = v.markup
	return out, nil
}
