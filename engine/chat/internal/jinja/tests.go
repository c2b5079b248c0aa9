package jinja

// A test answers "v is name". Its params follow v.
type test struct {
	params []string
	apply  func(r *run, v Value, a []Value) bool
}

var tests = map[string]test{
	"boolean":     {apply: isType(func(v Value) bool { _, ok := v.(Bool); return ok })},
	"callable":    {apply: isType(func(v Value) bool { _, ok := v.(callable); _, u := v.(undefined); return ok || u })},
	"defined":     {apply: isType(func(v Value) bool { _, ok := v.(undefined); return !ok })},
	"divisibleby": {params: []string{"num"}, apply: func(r *run, v Value, a []Value) bool { return r.remainder(v, a[0], 0) }},
	"escaped":     {apply: isType(func(v Value) bool { s, _ := v.(Str); return s.markup })},
	"even":        {apply: func(r *run, v Value, _ []Value) bool { return r.remainder(v, Int(2), 0) }},
	"false":       {apply: isType(func(v Value) bool { b, ok := v.(Bool); return ok && !bool(b) })},
	"filter": {apply: func(r *run, v Value, _ []Value) bool {
		s, _ := v.(Str)
		_, ok := r.filters[s.s]
		return ok
	}},
	"float":     {apply: isType(func(v Value) bool { _, ok := v.(Float); return ok })},
	"in":        {params: []string{"seq"}, apply: func(r *run, v Value, a []Value) bool { return r.contains(v, a[0]) }},
	"integer":   {apply: isType(func(v Value) bool { _, b := v.(Bool); return isInt(v) && !b })},
	"iterable":  {apply: isType(func(v Value) bool { _, ok := v.(iterable); return ok })},
	"lower":     {apply: testText(isLower)},
	"mapping":   {apply: isType(func(v Value) bool { _, ok := v.(*Dict); return ok })},
	"none":      {apply: isType(func(v Value) bool { _, ok := v.(NoneType); return ok })},
	"number":    {apply: isType(isNumber)},
	"odd":       {apply: func(r *run, v Value, _ []Value) bool { return r.remainder(v, Int(2), 1) }},
	"sameas":    {params: []string{"other"}, apply: func(_ *run, v Value, a []Value) bool { return same(v, a[0]) }},
	"sequence":  {apply: isType(isSequence)},
	"string":    {apply: isType(func(v Value) bool { _, ok := v.(Str); return ok })},
	"test":      {apply: func(r *run, v Value, _ []Value) bool { s, _ := v.(Str); _, ok := r.tests[s.s]; return ok }},
	"true":      {apply: isType(func(v Value) bool { b, ok := v.(Bool); return ok && bool(b) })},
	"undefined": {apply: isType(func(v Value) bool { _, ok := v.(undefined); return ok })},
	"upper":     {apply: testText(isUpper)},

	"==": testCompare("=="), "eq": testCompare("=="), "equalto": testCompare("=="),
	"!=": testCompare("!="), "ne": testCompare("!="),
	">": testCompare(">"), "gt": testCompare(">"), "greaterthan": testCompare(">"),
	">=": testCompare(">="), "ge": testCompare(">="),
	"<": testCompare("<"), "lt": testCompare("<"), "lessthan": testCompare("<"),
	"<=": testCompare("<="), "le": testCompare("<="),
}

// test applies the named test.
func (r *run) test(name string, v Value, a args) bool {
	t, ok := r.tests[name]
	if !ok {
		panic(raisef("TemplateRuntimeError", "No test named %s found.", quote(name)))
	}
	return t.apply(r, v, a.bind(name, len(t.params), t.params...))
}

func isType(f func(Value) bool) func(*run, Value, []Value) bool {
	return func(_ *run, v Value, _ []Value) bool { return f(v) }
}

func testText(f func(string) bool) func(*run, Value, []Value) bool {
	return func(r *run, v Value, _ []Value) bool {
		return f(r.str(v).s)
	}
}

func testCompare(op string) test {
	return test{[]string{"other"}, func(r *run, v Value, a []Value) bool { return r.compare(op, v, a[0]) }}
}

// isSequence reports whether v has a length and takes subscripts.
func isSequence(v Value) bool {
	switch v.(type) {
	case Str, *List, tuple, *Dict, rangeValue, undefined:
		return true
	}
	return false
}

// remainder reports whether v % by is want.
func (r *run) remainder(v, by Value, want int) bool {
	rem := r.binary("%", v, by)
	return r.equal(rem, Int(want))
}
