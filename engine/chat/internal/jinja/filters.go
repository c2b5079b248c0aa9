package jinja

import (
	"sort"
	"strings"
)

// A filter is a function of the value before the bar. Its params follow that
// value; missing ones are nil. A filter with raw takes its arguments unbound.
type filter struct {
	params   []string
	required int
	apply    func(r *run, v Value, a []Value) Value
	raw      func(r *run, v Value, a args) Value
}

var filters = map[string]filter{
	"abs":            {apply: filterAbs},
	"attr":           {params: []string{"name"}, required: 1, apply: filterAttr},
	"batch":          {params: []string{"linecount", "fill_with"}, required: 1, apply: filterBatch},
	"capitalize":     {apply: textFilter(func(_ *run, s Str) Str { return s.rewritten(capitalize(s.s)) })},
	"center":         {params: []string{"width"}, apply: filterCenter},
	"count":          {apply: filterLength},
	"d":              {params: []string{"default_value", "boolean"}, apply: filterDefault},
	"default":        {params: []string{"default_value", "boolean"}, apply: filterDefault},
	"dictsort":       {params: []string{"case_sensitive", "by", "reverse"}, apply: filterDictsort},
	"e":              {apply: filterEscape},
	"escape":         {apply: filterEscape},
	"filesizeformat": {params: []string{"binary"}, apply: filterFilesize},
	"first":          {apply: filterFirst},
	"float":          {params: []string{"default"}, apply: filterFloat},
	"forceescape":    {apply: filterForceEscape},
	"format":         {raw: filterFormat},
	"groupby":        {params: []string{"attribute", "default", "case_sensitive"}, required: 1, apply: filterGroupby},
	"indent":         {params: []string{"width", "first", "blank"}, apply: filterIndent},
	"int":            {params: []string{"default", "base"}, apply: filterInt},
	"items":          {apply: filterItems},
	"join":           {params: []string{"d", "attribute"}, apply: filterJoin},
	"last":           {apply: filterLast},
	"length":         {apply: filterLength},
	"list":           {apply: filterList},
	"lower":          {apply: textFilter(func(_ *run, s Str) Str { return s.rewritten(lower(s.s)) })},
	"map":            {raw: filterMap},
	"max":            {params: []string{"case_sensitive", "attribute"}, apply: filterExtreme(">")},
	"min":            {params: []string{"case_sensitive", "attribute"}, apply: filterExtreme("<")},
	"reject":         {raw: filterSelect(false, false)},
	"rejectattr":     {raw: filterSelect(false, true)},
	"replace":        {params: []string{"old", "new", "count"}, required: 2, apply: filterReplace},
	"reverse":        {apply: filterReverse},
	"round":          {params: []string{"precision", "method"}, apply: filterRound},
	"safe":           {apply: filterSafe},
	"select":         {raw: filterSelect(true, false)},
	"selectattr":     {raw: filterSelect(true, true)},
	"slice":          {params: []string{"slices", "fill_with"}, required: 1, apply: filterSlice},
	"sort":           {params: []string{"reverse", "case_sensitive", "attribute"}, apply: filterSort},
	"string":         {apply: textFilter(func(_ *run, s Str) Str { return s })},
	"striptags":      {apply: filterStriptags},
	"sum":            {params: []string{"attribute", "start"}, apply: filterSum},
	"title":          {apply: textFilter(func(_ *run, s Str) Str { return s.rewritten(titleFilter(s.s)) })},
	"tojson":         {params: []string{"ensure_ascii", "indent", "separators", "sort_keys"}, apply: filterToJSON},
	"trim":           {params: []string{"chars"}, apply: filterTrim},
	"truncate":       {params: []string{"length", "killwords", "end", "leeway"}, apply: filterTruncate},
	"unique":         {params: []string{"case_sensitive", "attribute"}, apply: filterUnique},
	"upper":          {apply: textFilter(func(_ *run, s Str) Str { return s.rewritten(upper(s.s)) })},
	"urlencode":      {apply: filterURLEncode},
	"wordcount":      {apply: filterWordcount},
	"wordwrap":       {params: []string{"width", "break_long_words", "wrapstring", "break_on_hyphens"}, apply: filterWordwrap},
}

// filter applies the named filter.
func (r *run) filter(name string, v Value, a args) Value {
	f, ok := r.filters[name]
	if !ok {
		panic(raisef("TemplateRuntimeError", "No filter named %s found.", quote(name)))
	}
	if f.raw != nil {
		return f.raw(r, v, a)
	}
	return f.apply(r, v, a.bind(name, f.required, f.params...))
}

// textFilter makes a filter of a function on the value's text.
func textFilter(f func(r *run, s Str) Str) func(*run, Value, []Value) Value {
	return func(r *run, v Value, _ []Value) Value {
		out := f(r, r.str(v))
		r.charge(len(out.s))
		return out
	}
}

// intArg is an optional integer argument.
func intArg(v Value, def int) int {
	if v == nil {
		return def
	}
	return index(v)
}

// boolArg is an optional flag.
func boolArg(v Value) bool { return v != nil && truth(v) }

// pathOf splits a filter's attribute argument into steps; nil is no step.
func pathOf(v Value) []Value {
	if isNone(v) {
		return nil
	}
	s, ok := v.(Str)
	if !ok {
		return []Value{v}
	}
	var path []Value
	for _, part := range strings.Split(s.s, ".") {
		step := Value(Text(part))
		if isDigits(part) {
			step = parseInt(part, 10)
		}
		path = append(path, step)
	}
	return path
}

func isDigits(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return decimalDigit(r) < 0 }) < 0
}

// follow walks path from v. def, unless nil, replaces what is undefined.
func (r *run) follow(v Value, path []Value, def Value) Value {
	for _, step := range path {
		v = r.item(v, step)
		if _, ok := v.(undefined); ok && !isNone(def) {
			v = def
		}
	}
	r.charge(1)
	return v
}

// foldCase lowers strings for sorting and grouping.
func foldCase(v Value, sensitive bool) Value {
	if s, ok := v.(Str); ok && !sensitive {
		return s.rewritten(lower(s.s))
	}
	return v
}

// sorted returns the stable order of keys.
func (r *run) sorted(keys []Value, reverse bool) []int {
	at := make([]int, len(keys))
	for i := range at {
		at[i] = i
	}
	sort.SliceStable(at, func(i, j int) bool {
		a, b := keys[at[i]], keys[at[j]]
		if reverse {
			a, b = b, a
		}
		r.charge(1)
		return r.order("<", a, b)
	})
	return at
}

// newItems returns a list a filter made.
func newItems(r *run, items []Value) Value {
	r.charge(valueSize * len(items))
	return &List{items}
}
