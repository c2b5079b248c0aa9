package jinja

import "strings"

// attr is v.name: an attribute or method if v has one, else an element.
func (r *run) attr(v Value, name string) Value {
	defined(v)
	if a, ok := r.ownAttr(v, name); ok {
		return a
	}
	if d, ok := v.(*Dict); ok {
		if item, ok := d.Get(name); ok {
			return item
		}
	}
	return undefinedAttr(v, Text(name))
}

// item is v[key]: an element if v has it, else an attribute or method.
func (r *run) item(v, key Value) Value {
	switch v := v.(type) {
	case undefined:
		panic(v.err())
	case *Dict:
		h, hashable := attempt(func() hashKey { return hashOf(key) }, "TypeError")
		if item, ok := v.get(h); ok && hashable {
			return item
		}
	default:
		if i, ok := smallInt(key); ok {
			if item, ok := r.index(v, i); ok {
				return item
			}
		}
	}
	if s, ok := key.(Str); ok {
		if a, ok := r.ownAttr(v, s.s); ok {
			return a
		}
	}
	return undefinedAttr(v, key)
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
func (r *run) ownAttr(v Value, name string) (Value, bool) {
	if strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") ||
		strings.Contains(mutators[v.typeName()], " "+name+" ") {
		return undefined{
			message: "access to attribute '" + name + "' of '" + v.typeName() + "' object is unsafe.",
			kind:    "SecurityError",
		}, true
	}
	var fn func(*run, args) Value
	switch v := v.(type) {
	case Str:
		if m, ok := r.methods[name]; ok {
			fn = func(r *run, a args) Value { return m.call(r, name, v, a) }
		}
	case *List:
		fn = listMethod(v.items, v, name)
	case tuple:
		for i, f := range v.fields {
			if f == name {
				return v.items[i], true
			}
		}
		fn = listMethod(v.items, nil, name)
	case *Dict:
		fn = dictMethod(v, name)
	case *namespace:
		a, ok := v.vars.Get(name)
		return a, ok
	case *loop:
		return v.attr(r, name)
	case *cycler:
		return v.attr(name)
	case *macro:
		return v.attr(name)
	case Bool, Int, bigInt, Float:
		a, ok := numberAttr(v, name)
		return a, ok
	}
	if fn == nil {
		return nil, false
	}
	return &function{name, fn}, true
}

// slice is v[from:to:step].
func (r *run) slice(v, from, to, step Value) Value {
	switch v := v.(type) {
	case undefined:
		panic(v.err())
	case Str:
		return r.sliceStr(v, from, to, step)
	case *List:
		return &List{r.sliceItems(v.items, from, to, step)}
	case tuple:
		return tuple{items: r.sliceItems(v.items, from, to, step)}
	case rangeValue:
		i, n, s := sliceIndices(int(v.n), from, to, step)
		return rangeValue{v.start + int64(i)*v.step, int64(n), v.step * int64(s)}
	case *Dict:
		panic(typeErrorf("unhashable type: 'slice'"))
	}
	panic(typeErrorf("'%s' object is not subscriptable", v.typeName()))
}

// sliceIndices returns the first index, the count and the step of a slice of n
// elements.
func sliceIndices(n int, from, to, step Value) (first, count, stride int) {
	stride = 1
	if _, none := step.(NoneType); !none {
		s, ok := smallInt(step)
		if !ok {
			if !isInt(step) {
				panic(typeErrorf("slice indices must be integers or None or have an __index__ method"))
			}
			s = int64(bigOf(step).Sign()) << 40
		}
		if s == 0 {
			panic(valueErrorf("slice step cannot be zero"))
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
	first = clip(from, first, n, low, high)
	last = clip(to, last, n, low, high)
	switch {
	case stride > 0 && last > first:
		count = (last-first-1)/stride + 1
	case stride < 0 && last < first:
		count = (first-last-1)/-stride + 1
	}
	return first, count, stride
}

// clip resolves one slice bound of n elements to [low, high].
func clip(v Value, def, n, low, high int) int {
	if _, ok := v.(NoneType); ok {
		return def
	}
	if !isInt(v) {
		panic(typeErrorf("slice indices must be integers or None or have an __index__ method"))
	}
	i, ok := smallInt(v)
	if !ok {
		i = int64(bigOf(v).Sign()) << 40
	}
	i = min(max(i, -1<<40), 1<<40)
	if i < 0 {
		i += int64(n)
	}
	return int(min(max(i, int64(low)), int64(high)))
}

func (r *run) sliceItems(items []Value, from, to, step Value) []Value {
	i, n, s := sliceIndices(len(items), from, to, step)
	r.chargeTimes(n, valueSize)
	out := make([]Value, 0, n)
	for ; n > 0; n-- {
		out = append(out, items[i])
		i += s
	}
	return out
}

func (r *run) sliceStr(v Str, from, to, step Value) Value {
	at := []int(nil)
	n := len(v.s)
	if !v.ascii() {
		at = v.offsets()
		n = len(at) - 1
	}
	r.charge(len(v.s) + 24*len(v.marks))
	byteAt := func(i int) int {
		if at == nil {
			return i
		}
		return at[i]
	}
	i, count, s := sliceIndices(n, from, to, step)
	if s == 1 {
		return v.sub(byteAt(i), byteAt(i+count))
	}
	r.chargeTimes(count, 8+8*len(v.marks))
	var b builder
	for ; count > 0; count-- {
		b.add(v.sub(byteAt(i), byteAt(i+1)))
		i += s
	}
	out := b.str()
	out.markup = v.markup
	return out
}
