package jinja

import (
	"strings"
	"testing"
)

// spell writes a Str with its marked bytes in brackets: [ ] for outside, < >
// for final.
func spell(s Str) string {
	var b strings.Builder
	at := 0
	for _, m := range s.Marks() {
		b.WriteString(s.s[at:m.From])
		open, end := "[", "]"
		if m.Origin == Final {
			open, end = "<", ">"
		}
		b.WriteString(open + s.s[m.From:m.To] + end)
		at = m.To
	}
	return b.String() + s.s[at:]
}

func TestMarks(t *testing.T) {
	vars := NewDict().
		Set("c", TextFrom("Client", Outside)).
		Set("f", TextFrom("Final", Final)).
		Set("p", TextFrom("  pad ", Outside)).
		Set("csv", TextFrom("a,b", Outside)).
		Set("d", NewDict().Set("k", TextFrom("v", Outside)))
	key, err := FromJSON([]byte(`{"key": 1, "n": 2}`), Outside)
	if err != nil {
		t.Fatal(err)
	}
	vars.Set("obj", key)
	for _, tt := range []struct{ src, want string }{
		// Copies keep exact marks.
		{"a{{ c }}b", "a[Client]b"},
		{"{{ 'x' + c + 'y' }}", "x[Client]y"},
		{"{{ 'x' ~ c ~ 1 }}", "x[Client]1"},
		{"{{ c ~ f }}", "[Client]<Final>"},
		{"{{ c + c }}", "[ClientClient]"},
		{"{{ 'x' * 2 ~ c * 2 }}", "xx[ClientClient]"},
		{"{{ ('x' ~ c) * 2 }}", "x[Client]x[Client]"},
		{"{{ ('xy' ~ c)[1:4] }}", "y[Cl]"},
		{"{{ ('xy' ~ c)[::-1] }}", "[tneilC]yx"},
		{"{{ ('xy' ~ c)[0] }}{{ ('xy' ~ c)[2] }}", "x[C]"},
		{"{{ ('x' ~ p ~ ' ') | trim }}", "x[  pad]"},
		{"{{ (' ' ~ p).lstrip() }}", "[pad ]"},
		{"{{ ('x,' ~ csv).split(',')|join('|') }}", "x|[a]|[b]"},
		{"{{ ('x ' ~ p ~ ' y').split()|join('|') }}", "x|[pad]|y"},
		{"{{ ('x,' ~ csv).rsplit(',', 1)[0] }}", "x,[a]"},
		{"{{ ('x' ~ c).partition('C')|join('|') }}", "x|[C]|[lient]"},
		{"{{ ('i' ~ c ~ 'i').replace('i', '!') }}", "![Cl]![ent]!"},
		{"{{ 'a-a'|replace('-', c) }}", "a[Client]a"},
		{"{{ c|replace('', '.') }}", ".[C].[l].[i].[e].[n].[t]."},
		{"{{ [c, 'x']|join(', ') }}", "[Client], x"},
		{"{{ ['x', 'y']|join(c) }}", "x[Client]y"},
		{"{{ 'x%sy%d' % (c, 1) }}", "x[Client]y1"},
		{"{{ '%9s|' % c }}", "   [Client]|"},
		{"{{ '%(k)s!' % d }}", "[v]!"},
		{"{{ 'x{}y{:>8}'.format(c, c) }}", "x[Client]y  [Client]"},
		{"{{ c|format('a') if no else c.center(8) }}", " [Client] "},
		{"{{ ('a\n' ~ c)|indent(2) }}", "a\n  [Client]"},
		{"{{ 'a\nb'|indent(c) }}", "a\n[Client]b"},
		{"{{ c|truncate(4, true, '!', 0) }}", "[Cli]!"},
		{"{{ (c ~ '\nx').splitlines()|join('|') }}", "[Client]|x"},
		{"{% for x in 'a' ~ csv %}{{ x }}|{% endfor %}", "a|[a]|[,]|[b]|"},
		{"{% set x %}a{{ c }}{% endset %}{{ x }}", "a[Client]"},
		{"{% macro m(x) %}<{{ x }}{% endmacro %}{{ m(c) }}", "<[Client]"},
		{"{% filter trim %} {{ c }} {% endfilter %}", "[Client]"},
		{"{% for k in obj %}{{ k }} {% endfor %}", "[key] [n] "},
		{"{{ obj|dictsort|first|first }}", "[key]"},
		{"{{ [c]|map('trim')|first }}{{ [c]|sort|first }}{{ [c]|unique|list|last }}{{ [c, 'x']|min }}", "[ClientClientClientClient]"},
		{"{{ c|string }}{{ c|safe }}{{ c|default('x') }}{{ nope|default(c) }}{{ c or 'x' }}", "[ClientClientClientClientClient]"},
		{"{{ d.get('z', c) }}{{ d.values()|first }}", "[Clientv]"},
		{"{% for k in dict(**obj) %}{{ k }}{% endfor %}{{ namespace(**obj) }}", "[keyn<Namespace {'key': 1, 'n': 2}>]"},
		{"{% macro m() %}{{ kwargs|first }}{% endmacro %}{{ m(**obj) }}", "[key]"},
		{"{{ '%s'|format(**obj) }}", "[{'key': 1, 'n': 2}]"},
		// Rewriting marks everything.
		{"{{ ('x' ~ c)|upper }}", "[XCLIENT]"},
		{"{{ ('x' ~ c)|title }}{{ ('x' ~ c).swapcase() }}", "[XclientXcLIENT]"},
		{"{{ {'a': c}|tojson }}", `[{"a": "Client"}]`},
		{"{{ [c] }}", "[['Client']]"},
		{"{{ obj|tojson }}", `[{"key": 1, "n": 2}]`},
		{"{{ obj }}", "[{'key': 1, 'n': 2}]"},
		{"{{ '%r' % c }}", "['Client']"},
		{"{{ ('<' ~ c)|e }}", "[&lt;Client]"},
		{"{{ c|urlencode }}", "[Client]"},
		{"{{ 'x'.center(5, c[0]) }}", "[CCxCC]"},
		{"{{ '{:C>5}'.replace('C', c[0]).format('x') }}", "[CCCCx]"},
		{"{{ [1]|tojson(separators=(c, c)) }}", "[[1]]"},
		{"{{ '%c' % 60 }}", "[<]"},
		// Text that only depends on a client's is the template's own.
		{"{{ 'yes' if c == 'Client' else 'no' }}{{ c|length }}", "yes6"},
		{"{{ {'Client': 'x'}[c] }}", "x"},
		{"{{ 'abc'.upper() }}{{ {'a': 1}|tojson }}", `ABC{"a": 1}`},
		// Final text stays findable through copies and through rewriting of
		// all of it, not through a mixture.
		{"{{ f|trim }}{{ f[1:] }}{{ 'x' ~ f }}", "<Finalinal>x<Final>"},
		{"{{ f|upper }}{{ ('x' ~ f)|upper }}", "<FINAL>[XFINAL]"},
		{"{{ f|tojson }}", `["Final"]`},
	} {
		t.Run(tt.src, func(t *testing.T) {
			tmpl, err := Parse(tt.src)
			if err != nil {
				t.Fatal(err)
			}
			out, err := tmpl.Render(vars, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := spell(out); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
