package jinja

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// TestLimits feeds templates made to exhaust the machine. Each must fail
// with ErrLimit, which counts steps and bytes, whether while parsing or rendering.
func TestLimits(t *testing.T) {
	nest := func(open, mid, end string, n int) string {
		return strings.Repeat(open, n) + mid + strings.Repeat(end, n)
	}
	for _, tt := range []struct{ name, src string }{
		{"source", strings.Repeat("x", maxSource+1)},
		{"brackets", "{{ " + nest("[", "1", "]", 20_000) + " }}"},
		{"parentheses", "{{ " + nest("(", "1", ")", 20_000) + " }}"},
		{"braces", "{{ " + nest("{1:", "1", "}", 20_000) + " }}"},
		{"not", "{{ " + strings.Repeat("not ", 20_000) + "1 }}"},
		{"minus", "{{ " + strings.Repeat("-", 20_000) + "1 }}"},
		{"else", "{{ " + strings.Repeat("1 if 0 else ", 50_000) + "1 }}"},
		{"blocks", nest("{% if 1 %}", "", "{% endif %}", 20_000)},
		{"targets", "{% set " + nest("(", "a", ")", 20_000) + " = 1 %}"},
		{"left sum", "{{ 1" + strings.Repeat("+1", 20_000) + " }}"},
		{"filters", "{{ 1" + strings.Repeat("|abs", 20_000) + " }}"},
		{"attributes", "{{ a" + strings.Repeat(".b", 30_000) + " }}"},
		{"subscripts", "{{ a" + strings.Repeat("[0]", 30_000) + " }}"},
		{"calls", "{{ a" + strings.Repeat("()", 30_000) + " }}"},
		{"and", "{{ 1" + strings.Repeat(" and 1", 20_000) + " }}"},
		{"repeat", "{{ 'x' * 10**9 }}"},
		{"repeat more", "{{ 'x' * 10**30 }}"},
		{"repeat list", "{{ [1] * 10**9 }}"},
		{"double", "{% set ns = namespace(s='x') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"},
		{"double list", "{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"},
		{"keep", "{% set ns = namespace(s=[]) %}{% for i in range(100000) %}{% set ns.s = ns.s + [i] %}{% endfor %}"},
		{"range", "{% for i in range(10**9) %}{% endfor %}"},
		{"ranges", "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"},
		{"center", "{{ 'x'|center(10**9) }}"},
		{"ljust", "{{ 'x'.ljust(10**9) }}"},
		{"zfill", "{{ 'x'.zfill(10**9) }}"},
		{"percent width", "{{ '%1000000000d' % 1 }}"},
		{"percent precision", "{{ '%.1000000000d' % 1 }}"},
		{"percent float", "{{ '%.1000000f' % 1.5 }}"},
		{"percent star", "{{ '%*d' % (10**9, 1) }}"},
		{"format width", "{{ '{:1000000000}'.format('x') }}"},
		{"format zeros", "{{ '{:01000000000}'.format(1) }}"},
		{"format groups", "{{ '{:01000000000,}'.format(1) }}"},
		{"indent", "{{ 'a\nb'|indent(10**9) }}"},
		{"json indent", "{{ [1]|tojson(indent=10**9) }}"},
		{"batch", "{{ [1]|batch(10**9, 'x')|list }}"},
		{"slice", "{{ [1]|slice(10**9)|list }}"},
		{"expandtabs", "{{ '\t'.expandtabs(10**9) }}"},
		{"replace", "{% set s = 'x' * 10000 %}{{ s|replace('x', s)|replace('x', s) }}"},
		{"join", "{% set s = 'x' * 100000 %}{{ (s|list)|join(s) }}"},
		{"power", "{{ 10 ** (10 ** 10) }}"},
		{"power tower", "{% set ns = namespace(n=9) %}{% for i in range(99) %}{% set ns.n = ns.n ** ns.n %}{% endfor %}"},
		{"product", "{% set ns = namespace(n=9) %}{% for i in range(9999) %}{% set ns.n = ns.n * ns.n %}{% endfor %}"},
		{"integer", "{{ " + strings.Repeat("9", 100_000) + " }}"},
		{"int", "{{ ('9' * 100000)|int }}"},
		{"digits", "{{ [[1]]|map(attribute='9' * 100000)|list }}"},
		{"recursion", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"},
		{"mutual recursion", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}"},
		{"fork", "{% macro m(n) %}{{ m(n+1) if n < 40 }}{{ m(n+1) if n < 40 }}{% endmacro %}{{ m(0) }}"},
		{"loop recursion", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"},
		{"caller recursion", "{% macro m() %}{{ caller() }}{% endmacro %}{% macro n() %}{% call m() %}{{ n() }}{% endcall %}{% endmacro %}{{ n() }}"},
		{"deep list", "{% set ns = namespace(x=[]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}"},
		{"deep json", "{% set ns = namespace(x=[]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x|tojson }}"},
		{"deep compare", "{% set a = namespace(x=[], y=[]) %}{% for i in range(5000) %}{% set a.x = [a.x] %}{% set a.y = [a.y] %}{% endfor %}{{ a.x == a.y }}"},
		{"wide list", "{% set ns = namespace(x=[1]) %}{% for i in range(300) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}"},
		{"wide json", "{% set ns = namespace(x=[1]) %}{% for i in range(300) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson }}"},
		{"wide compare", "{% set a = namespace(x=[1], y=[1]) %}{% for i in range(300) %}{% set a.x = [a.x, a.x] %}{% set a.y = [a.y, a.y] %}{% endfor %}{{ a.x == a.y }}"},
		{"wide key", "{% set ns = namespace(x=(1,)) %}{% for i in range(300) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ {ns.x: 1} }}"},
		{"self in self", "{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns }}"},
		{"generator chain", "{% set ns = namespace(x=[1]) %}{% for i in range(50000) %}{% set ns.x = ns.x|select %}{% endfor %}{{ ns.x|list }}"},
		{"output", "{% set s = 'x' * 1000000 %}{% for i in range(100) %}{{ s }}{% endfor %}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tmpl, err := Parse(tt.src)
			if err == nil {
				var out Str
				// Smaller than the defaults, to keep the test short.
				out, err = tmpl.Render(nil, Options{MaxSteps: 1_000_000, MaxMemory: 64 << 20})
				if err == nil {
					t.Fatalf("rendered %d bytes", len(out.s))
				}
			}
			if !errors.Is(err, ErrLimit) {
				t.Errorf("got error %v, want ErrLimit", err)
			}
			runtime.ReadMemStats(&after)
			if mb, n := (after.TotalAlloc-before.TotalAlloc)>>20, after.Mallocs-before.Mallocs; mb > 512 || n > 10_000_000 {
				t.Errorf("%d allocations of %d MiB", n, mb)
			}
		})
	}
}

func TestOptionsLimits(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		opt       Options
	}{
		{"steps", "{% for i in range(1000) %}{{ i }}{% endfor %}", Options{MaxSteps: 100}},
		{"steps of what is reversed", "{{ range(1000)|map('string')|reverse|list }}", Options{MaxSteps: 100}},
		{"steps of a pair", "{{ dict([range(1000)|select('lt', 2)]) }}", Options{MaxSteps: 100}},
		{"output", "{{ 'x' * 1000 }}", Options{MaxOutput: 999}},
		{"memory", "{% set a = 'x' * 1000 %}", Options{MaxMemory: 999}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, err := Parse(tt.src)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tmpl.Render(nil, tt.opt); !errors.Is(err, ErrLimit) {
				t.Errorf("got %v, want ErrLimit", err)
			}
			if _, err := tmpl.Render(nil, Options{}); err != nil {
				t.Errorf("with default limits: %v", err)
			}
		})
	}
}

func TestFromJSON(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		err      error
	}{
		{`{"b": 1, "a": [1.0, 1e2, -0, "x\u00e9\ud83d\ude00", null, true]}`, `{'b': 1, 'a': [1.0, 100.0, 0, 'xé😀', None, True]}`, nil},
		{`{"a": 1, "b": 2, "a": 3}`, `{'a': 3, 'b': 2}`, nil},
		{`123456789012345678901234567890`, `123456789012345678901234567890`, nil},
		{`"\ud800"`, "'\ufffd'", nil},
		{``, "", ErrJSON},
		{`{`, "", ErrJSON},
		{`[1,]`, "", ErrJSON},
		{`[1 2]`, "", ErrJSON},
		{`{"a" 1}`, "", ErrJSON},
		{`{1: 2}`, "", ErrJSON},
		{`1 2`, "", ErrJSON},
		{`]`, "", ErrJSON},
		{`nul`, "", ErrJSON},
		{strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "", ErrLimit},
		{strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000), "", ErrLimit},
		{strings.Repeat("9", 100_000), "", ErrLimit},
	} {
		v, err := FromJSON([]byte(tt.in), Outside)
		if !errors.Is(err, tt.err) {
			t.Errorf("FromJSON(%.40q) error = %v, want %v", tt.in, err, tt.err)
		}
		if err != nil || tt.err != nil {
			continue
		}
		tmpl, err := Parse("{{ [v] }}")
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.Render(NewDict().Set("v", v), Options{})
		if want := "[" + tt.want + "]"; err != nil || got.String() != want {
			t.Errorf("FromJSON(%q) = %q, %v; want %q", tt.in, got, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		want      error
		text      string
	}{
		{"syntax", "a\n{% if %}", ErrSyntax, "template line 2: expected an expression, got \"end of statement block\""},
		{"include", "{% include 'x' %}", ErrUnsupported, "template line 1: a chat template cannot use the \"include\" tag"},
		{"block", "{% block x %}{% endblock %}", ErrUnsupported, "template line 1: a chat template cannot use the \"block\" tag"},
		{"runtime", "\n\n{{ a.b }}", ErrRuntime, "template line 3: 'a' is undefined"},
		{"in a macro", "{% macro m() %}\n{{ a.b }}{% endmacro %}\n\n{{ m() }}", ErrRuntime, "template line 2: 'a' is undefined"},
		{"raise", "{{ raise_exception('No ' + 'way') }}", ErrRuntime, "No way"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, err := Parse(tt.src)
			if err == nil {
				_, err = tmpl.Render(nil, Options{})
			}
			if !errors.Is(err, tt.want) || err.Error() != tt.text {
				t.Errorf("got %v, want %s", err, tt.text)
			}
		})
	}
}

// A rendering asks now and then whether to go on, and ends when it may not.
func TestCheck(t *testing.T) {
	tmpl, err := Parse("{% for i in range(20000) %}{{ i }}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	if _, err := tmpl.Render(nil, Options{Check: func() error { asked++; return nil }}); err != nil || asked < 40000/checkEvery {
		t.Fatalf("asked %d times, %v", asked, err)
	}
	stop := errors.New("stop")
	left := 3
	if _, err := tmpl.Render(nil, Options{Check: func() error {
		if left--; left == 0 {
			return stop
		}
		return nil
	}}); !errors.Is(err, stop) || left != 0 {
		t.Errorf("%v with %d questions left; want it stopped at the third", err, left)
	}
}
