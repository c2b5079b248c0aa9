#!/usr/bin/env python3
"""Write golden.json: what Jinja prints or raises for each snippet below; and
differences.json: the same for the snippets where quern means to differ.

The environment is set up as Hugging Face's renderer sets it up. Made with
Python 3.11 and python3-jinja2 3.1.2 (Debian 12).
"""

import datetime
import json
import pathlib
import re

from jinja2 import nodes
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_run"), [], [], body).set_lineno(line)

    def _run(self, caller):
        return caller()


def refuse(message):
    raise TemplateError(message)


NOW = datetime.datetime(2026, 1, 15, 10, 30, 5, 123456)

env = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
)
env.filters["tojson"] = lambda x, ensure_ascii=False, indent=None, separators=None, sort_keys=False: json.dumps(
    x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
)
env.globals["raise_exception"] = refuse
env.globals["strftime_now"] = NOW.strftime

VARS = {
    "s": "Hello, World",
    "u": "Grüße, 你好 🙂 straße",
    "blank": " \t padded\n ",
    "lines": "one\ntwo\r\nthree\n\nfive",
    "n": 7,
    "neg": -7,
    "f": 2.5,
    "big": 123456789012345678901234567890,
    "yes": True,
    "no": False,
    "nil": None,
    "list": [3, 1, 2],
    "words": ["banana", "Apple", "cherry", "apple"],
    "nested": [[1, 2], [3, [4, 5]]],
    "d": {"b": 1, "a": 2, "C": 3, "items": "shadow"},
    "people": [
        {"name": "Ann", "age": 30, "city": {"zip": "1"}},
        {"name": "bob", "age": 25, "city": {"zip": "2"}},
        {"name": "Cy", "age": 30},
    ],
    "html": "<a href='x'>\"1\" & 2</a>",
    "tree": [{"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": 4, "kids": []}]}]}, {"v": 5, "kids": []}],
    "floats": [1.0, 0.1, 1e16, 1e15, 123456789.123, 1e-5, 0.0001, -0.0, 1e300, 5e-324],
    "ctl": "a\"b\\c\n\t\r\b\f\x01\x7f\u2028é",
}

# Expressions, each printed on its own.
EXPRESSIONS = r"""
1 + 2 * 3
(1 + 2) * 3
7 / 2
7 // 2
neg // 2
neg % 3
7 % -3
-7.5 % 2
-7.5 // 2
7.5 // -2
2 ** 10
2 ** 3 ** 2
2 ** -1
-2 ** 2
0 ** 0
0 ** -1
big + 1
big * big
-big
big // 7
big % 1000
-big // 7
-big % 1000
big / 2
big == big + 0
9223372036854775807 + 1
-9223372036854775807 - 2
9223372036854775807 * 2
4611686018427387904 * 2
1 / 0
1 // 0
1 % 0
1.0 / 0
1.5 // 0
0.1 + 0.2
1e3
1.5e-7
1_000_000
0x1F
0o17
0b101
1e400
-1e400
100000000000000000.0
3.0
true + true
true * 3
-true
+true
true / 2
not true
not not ''
1 < 2 < 3
1 < 3 < 2
1 == 1.0
1 == true
'a' < 'b'
'a' < 'B'
[1, 2] < [1, 3]
(1, 2) == (1, 2)
[1] == (1,)
1 < 'a'
none < 1
{'a': 1} == {'a': 1.0}
{'a': 1} < {'a': 2}
1 in [1, 2]
'a' in 'abc'
1 in 'abc'
'b' in d
'z' not in d
1 in none
1 in (1, 2)
missing in [1]
'a' in missing
missing in 'abc'
none == none
missing == missing
missing == other_missing
missing == none
missing != 1
1 and 2
0 and 2
0 or 'x'
none or missing or 'end'
'' or []
missing and 1
'a' ~ 1 ~ none ~ true ~ 1.0 ~ missing
'a' + 'b'
'a' + 1
1 + 'a'
[1] + [2]
[1] + (2,)
(1,) + (2,)
'ab' * 3
3 * 'ab'
'ab' * -1
[1, 2] * 2
(1,) * 3
'a' * 1.5
'a' - 'b'
none + 1
missing + 1
1 + missing
'a' + missing
missing * 2
-missing
missing.x
missing['x']
missing()
missing.x.y
none.x
none.x.y
nil.split('x')
s.nope
s.nope.nope
d.nope
d.a
d['a']
d['items']
d.items()
d.keys()
d.values()
d.get('a')
d.get('zz')
d.get('zz', 5)
d.get(key='a')
d.get()
d.get([])
d[[]]
d[1]
list[0]
list[-1]
list[9]
list['0']
list.0
list[true]
list['append']
list.append
list.append(1)
list.sort()
d.update({'a': 1})
d.pop('a')
d.setdefault('a', 1)
list.count(1)
list.index(2)
list.index(9)
list.index(1, 2)
list.copy()
(1, 2, 1).count(1)
(1, 2).copy
s[0]
s[-1]
s[100]
s[0:5]
s[:5]
s[7:]
s[::-1]
s[::2]
s[5:0:-2]
s[-3:]
s[:-3]
s[100:]
s[-100:3]
u[0:3]
u[::-1]
u[7]
u[7:9]
u|length
list[1:]
list[::-1]
list[::0]
list['a':]
list[1.5:]
list[missing:]
nil[1:]
missing[1:]
d[1:]
n[1:]
(1, 2, 3)[1:]
range(10)[2:5]
range(10)[::-2]
range(5)
range(5)|list
range(2, 5)|list
range(5, 0, -2)|list
range(0)|list
range(1, 2, 0)
range(10)[3]
range(10)[-1]
range(10)[10]
range(100001)
range('a')
range()
range(3, stop=1)
3 in range(5)
[]
[1, 'a', 2.0, none, true]
()
(1,)
(1, 2)
{}
{'a': 1, 2: 'b', none: 3, 1.5: 4, (1, 2): 5}
{[]: 1}
{'a': 1, 'a': 2}
{1: 'a', true: 'b', 1.0: 'c'}
{'it"s': "it's", 'b\n': '\x00é\u200b'}
"it's"
['it\'s', "\"both'\""]
['\\', '\t', '\r', '\x7f', '\xa0', '\U0001F600', '\ud7ff']
'\x41\u00e9\101\q\
z'
'a' 'b' "c"
nested
d
floats
ctl
people[0]
yes
no
nil
none
big
neg
missing
'x' if yes
'x' if no
'x' if no else 'y'
'x' if no else 'y' if no else 'z'
('x' if no) is undefined
('x' if no) + 'a'
s is string
n is number
yes is number
yes is integer
n is integer
big is integer
f is integer
f is float
n is float
yes is boolean
n is boolean
yes is true
no is true
1 is true
no is false
none is none
missing is none
missing is defined
s is defined
missing is undefined
missing.x is defined
d.x is defined
d is mapping
list is mapping
list is sequence
d is sequence
s is sequence
n is sequence
missing is sequence
d.items() is sequence
list is iterable
s is iterable
n is iterable
missing is iterable
range(3) is iterable
(list|map('string')) is iterable
range is callable
s is callable
s.upper is callable
missing is callable
3 is odd
3 is even
-3 is odd
4 is divisibleby 2
4 is divisibleby(3)
's' is odd
1 is eq 1
1 is equalto 2
1 is ne 1
2 is gt 1
2 is ge 2
2 is lt 1
2 is le 2
2 is greaterthan 1
2 is lessthan 1
1 is sameas 1
true is sameas true
1 is sameas true
1 is in [1, 2]
'abc' is lower
'ABC' is upper
'aBc' is lower
'' is lower
'upper' is filter
'nope' is filter
'odd' is test
'nope' is test
1 is nope
1 is not odd
1 is not none
s is not string and yes
1|nope
('a'|nope) if no else 'b'
'a' if yes else (1 is nope)
-1|abs
-1.5|abs
neg|abs
'a'|abs
missing|abs
d|attr('a')
s|attr('nope')
list|attr('append')
[1, 2, 3, 4, 5]|batch(2)|list
[1, 2, 3, 4, 5]|batch(2, 'x')|list
[]|batch(2)|list
'hello WORLD'|capitalize
u|capitalize
''|capitalize
'x'|center(9)
'xy'|center(9)
'xy'|center(5)
'x'|center|length
s|center(3)
list|count
missing|count
none|length
5|length
'x'|default('y')
missing|default('y')
missing|default
none|default('y')
''|default('y', true)
''|default('y', boolean=true)
none|d('y', true)
missing.x|default('y')
d.x|default('y')
d|dictsort
d|dictsort(true)
d|dictsort(by='value')
{'b': 1, 'a': 2}|dictsort(false, 'value')
d|dictsort(reverse=true)
{'b': 1, 'a': 2}|dictsort(by='nope')
list|dictsort
missing|dictsort
{'b': 1, 2: 3}|dictsort
html|e
html|escape|e
html|forceescape
(html|e)|forceescape
html|safe
('<b>'|safe) + '<c>'
'<c>' + ('<b>'|safe)
('<b>'|safe) ~ '<c>'
('<b>'|safe) is escaped
'<b>' is escaped
('%s'|safe) % '<b>'
('%s %d'|safe) % ('<b>', 1)
('{}'|safe).format('<b>')
('<'|safe) * 2
('a&b'|e).replace('a', '<')
('<a>'|safe)[1:2] + '<'
('<a>'|safe)|upper + '<'
('<a>'|safe)|trim + '<'
('<a>'|safe)|indent + '<'
('<a>'|safe).join(['<', '>'])
('<a,b>'|safe).split(',')
('a'|e)|length
['<', '<b>'|safe]|join('&')
('a<'|e).upper()
[('<'|e)]
list|first
[]|first
''|first
'abc'|first
missing|first
5|first
d|first
list|last
[]|last
d|last
(list|map('string'))|last
'abc'|last
'3.5'|float
'abc'|float
'abc'|float(1.5)
none|float
'  7 '|float
'1_0'|float
'inf'|float
'-nan'|float
'1e5'|float
missing|float
'%s-%s'|format('a', 1)
'%(a)s'|format(a=1)
'%s'|format('a', a=1)
'%s'|format
'%d %i %5d|%-5d|%05d|%+d|% d'|format(1, 2, 3, 4, 5, 6, 7)
'%x %X %#x %o %#o'|format(255, 255, 255, 8, 8)
'%e %E %.2e'|format(12345.678, 12345.678, 0.00012)
'%f %.2f %8.3f|%-8.1f|%08.2f'|format(1.5, 2.345, 3.14159, 2.25, -1.5)
'%g %g %g %G %.3g'|format(0.0001, 1e-5, 123456789, 1e20, 1234.5)
'%s %r %a'|format('é', 'é', 'é')
'%c%c'|format(65, 'b')
'%5s|%-5s|%.2s|%5.1s'|format('abc', 'abc', 'abc', 'abc')
'%*d|%.*f'|format(5, 3, 2, 3.14159)
'%%'|format
'%d'|format('a')
'%d'|format(1.9)
'%x'|format(1.9)
'%q'|format(1)
'%'|format(1)
'%s %s'|format(1)
'%s'|format(1, 2)
'%.3d'|format(7)
'%+.1f'|format(-0.0)
'%s' % 'a'
'%s' % none
'%s %s' % (1, 2)
'%s' % (1, 2)
'%s' % [1, 2]
'%s' % {'a': 1}
'%(a)s %(b)d' % {'a': 1, 'b': 2}
'%(z)s' % {'a': 1}
'x' % []
'x' % {}
'x' % 1
'%s' % missing
people|groupby('age')
people|groupby('name')|map('first')|list
(people|groupby('age'))[0].grouper
(people|groupby('age'))[0].list|length
people|groupby('city.zip', default='?')|map('first')|list
lines|indent
lines|indent(2)
lines|indent(2, true)
lines|indent(2, true, true)
lines|indent('> ')
lines|indent(width=1, first=true, blank=true)
''|indent
'a\n'|indent(2)
'a\n\n'|indent(2, blank=true)
5|indent
'42'|int
'42.9'|int
'abc'|int
'abc'|int(5)
'0x1f'|int(0, 16)
'1f'|int(base=16)
'077'|int(0, 8)
'0b11'|int(0, 0)
' 5 '|int
'1_000'|int
'_1'|int
3.9|int
-3.9|int
none|int
none|int(default=3)
list|int
missing|int
true|int
'१२'|int
d|items|list
missing|items|list
list|items|list
list|join
list|join(', ')
list|join('-', attribute='x')
people|join(', ', attribute='name')
people|join(', ', attribute='city.zip')
words|join(1)
s|join('.')
5|join
missing|join('x')
d|join(',')
'abc'|list
d|list
missing|list
5|list
'HeLLo'|lower
u|lower
'ΑΣ'|lower
5|lower
words|map('upper')|list
words|map('replace', 'a', 'o')|list
people|map(attribute='name')|list
people|map(attribute='city.zip')|list
people|map(attribute='city.zip', default='?')|list
people|map(attribute='x', default='?')|list
nested|map('first')|list
nested|map(attribute=0)|list
nested|map(attribute='0')|list
list|map|list
list|map('nope')|list
missing|map('upper')|list
5|map('upper')|list
list|max
list|min
words|max
words|min
words|min(case_sensitive=true)
people|max(attribute='age')
[]|max
[]|max is undefined
[1, 'a']|max
list|reject('odd')|list
list|reject|list
[0, 1, '', none]|select|list
[0, 1, '', none]|reject|list
list|select('odd')|list
list|select('gt', 1)|list
list|select('>', 1)|list
list|select('in', [1, 2])|list
list|select('nope')|list
people|selectattr('city')|map(attribute='name')|list
people|selectattr('age', 'eq', 30)|map(attribute='name')|list
people|selectattr('city.zip', 'defined')|map(attribute='name')|list
people|selectattr('city', 'undefined')|map(attribute='name')|list
people|rejectattr('age', 'gt', 25)|map(attribute='name')|list
people|rejectattr('city')|map(attribute='name')|list
people|selectattr|list
s|replace('o', '0')
s|replace('o', '0', 1)
s|replace('', '.')
s|replace('o')
5|replace('5', '6')
s|replace(old='l', new='L', count=2)
s|reverse
list|reverse|list
d|reverse|list
(list|map('string'))|reverse
5|reverse
2.5|round
3.5|round
2.675|round(2)
1234|round(-2)
1250|round(-2)
1350|round(-2)
-1250|round(-2)
1234.5|round(-2)
42|round
42.55|round(1, 'ceil')
42.55|round(1, 'floor')
42|round(method='ceil')
42.5|round(method='nope')
'a'|round
missing|round
true|round
1e300|round(2)
[1, 2, 3, 4, 5]|slice(2)|list
[1, 2, 3, 4, 5]|slice(3, 'x')|list
[1]|slice(0)|list
words|sort
words|sort(true)
words|sort(case_sensitive=true)
people|sort(attribute='age')|map(attribute='name')|list
people|sort(attribute='age,name')|map(attribute='name')|list
people|sort(attribute='age', reverse=true)|map(attribute='name')|list
[1, 'a']|sort
5|sort
d|sort
s|sort|join
5|string
none|string
missing|string
list|string
'<b>x</b>  y\n z<!-- c -->&amp;&lt;'|striptags
'a < b > c'|striptags
list|sum
people|sum(attribute='age')
list|sum(start=10)
[[1], [2]]|sum(start=[])
words|sum
words|sum(start='')
[0.1, 0.2, 0.3]|sum
'hello wORLD foo-bar (baz) [qux] x_y it\'s'|title
'hello wORLD it\'s 3d'.title()
u|title
s|tojson
u|tojson
ctl|tojson
ctl|tojson(ensure_ascii=true)
u|tojson(ensure_ascii=true)
d|tojson
d|tojson(indent=2)
people|tojson(indent=4)
nested|tojson(indent=0)
nested|tojson(indent='--')
nested|tojson(indent=-1)
[]|tojson(indent=2)
{'a': [], 'b': {}}|tojson(indent=2)
d|tojson(sort_keys=true)
d|tojson(separators=(',', ':'))
d|tojson(separators=(',', ':'), indent=1)
floats|tojson
[1, true, none, big]|tojson
{1: 'a', none: 'b', true: 'c', 1.5: 'd'}|tojson
{(1, 2): 3}|tojson
{1: 2, 'a': 3}|tojson(sort_keys=true)
missing|tojson
(1, 2)|tojson
range(3)|tojson
(list|map('string'))|tojson
d.items()|tojson
html|tojson
(html|e)|tojson
'</script>'|tojson
namespace(a=1)|tojson
blank|trim
'xxaxx'|trim('x')
'xyaxy'|trim('yx')
5|trim
missing|trim
none|trim
'foo bar baz qux'|truncate(9)
'foo bar baz qux'|truncate(9, true)
'foo bar baz qux'|truncate(11)
'foo bar baz qux'|truncate(11, false, '!!', 0)
'foo bar'|truncate
'foo'|truncate(1)
'foobarbazqux'|truncate(6, leeway=0)
words|unique|list
words|unique(true)|list
people|unique(attribute='age')|map(attribute='name')|list
[[1]]|unique|list
'hello'|upper
u|upper
'ǆ'|upper
'ﬁ'|upper
'a b/ü?&=+'|urlencode
{'a b': 'c/d', 'e': 1}|urlencode
[('a', 1), ('b', 'x y')]|urlencode
5|urlencode
'hello world, foo_bar 1'|wordcount
u|wordcount
'the quick brown fox jumps over the lazy dog'|wordwrap(10)
'the quick brown fox\njumps over\n\nthe lazy dog'|wordwrap(12)
'abcdefghijklmnop qr'|wordwrap(5)
'abcdefghijklmnop qr'|wordwrap(5, false)
'well-known half-baked ideas'|wordwrap(6)
'well-known half-baked ideas'|wordwrap(6, break_on_hyphens=false)
'one two three'|wordwrap(5, wrapstring='|')
1000|filesizeformat
1|filesizeformat
1500000|filesizeformat
1500000|filesizeformat(true)
999|filesizeformat
blank.strip()
blank.lstrip()
blank.rstrip()
'xxhixx'.strip('x')
'xxhixx'.lstrip('x')
'xxhixx'.rstrip('x')
'hi'.strip(none)
'hi'.strip(1)
' a  b c '.split()
' a  b c '.split(' ')
'a,b,,c'.split(',')
'a,b,c'.split(',', 1)
'a,b,c'.split(',', maxsplit=1)
'a b c d'.split(none, 2)
' a  b  c '.split(maxsplit=1)
''.split()
''.split(',')
'abc'.split('')
'a--b--c'.split('--')
'a,b,c'.rsplit(',', 1)
' a b  c '.rsplit(none, 1)
' a b  c '.rsplit()
'a,b'.rsplit(',')
lines.splitlines()
lines.splitlines(true)
'a\x0bb\x1cc\u2028d'.splitlines()
s.startswith('Hell')
s.startswith(('x', 'H'))
s.startswith('World', 7)
s.startswith('', 12)
s.startswith('', 13)
s.startswith(1)
s.endswith('ld')
s.endswith('lo', 0, 5)
s.endswith(('a', 'd'))
s.replace('l', 'L')
s.replace('l', 'L', 1)
s.replace('', '-')
s.replace('l')
s.replace('l', 'x', count=1)
s.replace(1, 2)
u.upper()
u.lower()
u.title()
u.capitalize()
u.swapcase()
u.casefold()
'ǆabc'.capitalize()
', '.join(words)
', '.join([1])
', '.join('abc')
', '.join(d)
', '.join(5)
'x'.join(words|map('upper'))
s.find('o')
s.find('o', 5)
s.find('o', 5, 7)
s.find('zz')
u.find('好')
u.find('🙂')
u.rfind('ß')
s.find('')
s.find('', 12)
s.find('', 13)
s.index('W')
s.index('zz')
s.rfind('o')
s.rindex('o')
s.count('l')
s.count('')
u.count('ß')
s.count('l', 4)
'aaaa'.count('aa')
'12'.isdigit()
'1²'.isdigit()
'½'.isdigit()
'½'.isnumeric()
'१'.isdecimal()
'²'.isdecimal()
''.isdigit()
'abc'.isalpha()
'ab1'.isalpha()
'ab1'.isalnum()
' \t'.isspace()
'abc'.islower()
'ABC'.isupper()
'Ab Cd'.istitle()
'ab'.istitle()
'a_1'.isidentifier()
'1a'.isidentifier()
'abc'.isascii()
u.isascii()
'a\n'.isprintable()
'7'.zfill(3)
'-7'.zfill(4)
'+a'.zfill(5)
'a'.ljust(4, '.')
'a'.rjust(4, '.')
'a'.center(4, '.')
'ab'.center(5, '.')
'a'.center(4, '..')
'abc'.center(6)
'abcd'.center(7)
'a\tb'.expandtabs()
'a\tb\n\tc'.expandtabs(4)
'a.b.c'.partition('.')
'a.b.c'.rpartition('.')
'abc'.partition('.')
'abc'.rpartition('.')
'prefix-x'.removeprefix('prefix-')
'x-suffix'.removesuffix('-suffix')
'{} {}'.format(1, 'a')
'{0} {1} {0}'.format(1, 2)
'{a} {b}'.format(a=1, b=2)
'{0.name}'.format(people[0])
'{0[name]} {1[1]}'.format(people[0], list)
'{!r} {!s} {!a}'.format('é', 'é', 'é')
'{:>5}|{:<5}|{:^5}|{:*^6}'.format('ab', 'ab', 'ab', 'ab')
'{:5}|{:5}'.format('ab', 12)
'{:05d} {:+d} {: d} {:x} {:#x} {:b} {:o} {:X}'.format(42, 42, 42, 255, 255, 5, 8, 255)
'{:,} {:_} {:,.2f}'.format(1234567, 1234567, 1234567.891)
'{:.2f} {:e} {:g} {:%} {:.1%}'.format(3.14159, 31415.9, 0.0001, 0.25, 0.256)
'{:.3}|{:10.2}|{:<10.3}'.format('abcdef', 'abcdef', 'abcdef')
'{:08.3f}|{:+08.2f}|{:=+8d}'.format(3.14159, 2.5, 5)
'{:{}}|{:{w}.{p}f}'.format('a', 5, 3.14159, w=8, p=2)
'{:.3} {:.10} {:.1} {}'.format(1234.5, 0.1, 1e10, 1e16)
'{:010,}'.format(1234567)
'{:c}'.format(65)
'{{}} {}'.format(1)
'{'.format(1)
'}'.format(1)
'{} {0}'.format(1)
'{0} {}'.format(1)
'{}'.format()
'{a}'.format()
'{:d}'.format('a')
'{:s}'.format(1)
'{:.2d}'.format(1)
'{:q}'.format(1)
'{!z}'.format(1)
'{0.__class__}'.format(1)
'{:5}'.format([1])
'{:5}'.format(none)
'{:>6}'.format(true)
'{a[b]}'.format(a={'b': 1})
'{x}'.format_map({'x': 1})
s.__class__
s.__class__.mro
d.__len__
range.__name__
n.real
n.bit_length()
f.is_integer()
f.real
dict(a=1, b=2)
dict([('a', 1)], b=2)
dict({'a': 1}, a=2)
dict([1])
dict(5)
{'a': 1}.copy()
namespace(a=1).a
namespace({'a': 1}).a
namespace().x
namespace().x is defined
namespace(a=1)
cycler('a', 'b').current
cycler()
joiner('|')()
raise_exception('no ' ~ 1)
raise_exception()
strftime_now('%Y-%m-%d')
strftime_now('%d %B %Y %H:%M:%S')
strftime_now('%a %A %b %B %d %H %I %j %m %M %p %S %U %w %W %y %Y %%')
strftime_now('%-d %-m %-H %-I %e %k %l %F %T %D %R %G %V %u %C %h %f [%Z%z]')
strftime_now('%c|%x|%X|%r|%^a|%_d')
strftime_now('plain')
strftime_now(5)
loop
range(3)(1)
5()
s()
(1).foo
1.5.foo
s.upper(1)
s.upper(*[1])
s.replace(*['l', 'L'])
s.split(**{'sep': ','})
s.split(*[','], **{'maxsplit': 1})
s.split(*5)
s.split(**5)
dict(**{'a': 1, 'b': 2})
[1, 2][0] + {'a': 2}.a
{'a': {'b': [10, 20]}}.a.b[1]
(s|upper).lower()
s|upper|lower|title
s.upper()|lower
-1|abs + 2
- 1 | abs
not 1 == 2
1 if 0 else 2 if 0 else 3
'a' in 'abc' and 'b' in 'abc'
1 + 2 ~ 3 + 4
1 ~ 2 * 3
10 - 2 - 3
2 * 3 % 4
7 // 2 * 2
'%s' % 1 + 'x'
'a' ~ 'b' == 'ab'
[1, 2, 3,]
{'a': 1,}
(1, 2,)
1,
1, 2
1 is defined is true
foo.bar.baz
foo[0]
s[1, 2]
list[0, 1]
s['upper']()
d['keys']()|list
people[0]['name']
people[0].city.zip
people[5].name
people[2].city.zip
'Ann' in people|map(attribute='name')|list
'Ann' in people|map(attribute='name')
(people|map(attribute='name')|list) == ['Ann', 'bob', 'Cy']
people|map(attribute='name')|join(', ')|upper
n if n > 5 else 'small'
n is divisibleby 7 and n is odd
n is not divisibleby 7
"a" if n is odd else "b"
true is boolean
True
False
None
nan
1.0 == 1
1 is sameas 1.0
"\""
'\''
"a\nb"|length
'a'~1.5~(2,)
[none, true, 1.0]|join('|')
{'b': 2, 'a': 1}.items()|list
{'b': 2, 'a': 1}.items()|sort
{'b': 2, 'a': 1}|items|sort|list
d.items()|list|length
d|length
d.keys()|list
'a' in d.keys()
1 in d.values()
('a', 2) in d.items()
d.keys()|first
d.values()|sum
d.items()[0]
d.keys()[0]
list|list == list
list[:]
list[10:]
list[-2:]
list[2:0:-1]
nested[1][1][0]
nested|sum(start=[])
'abc'[1]
'abc'[-4]
'é'[0]
''[0]
''[0] is defined
'a\\b'
'a/b'
'\/'
'abc' > 'abd'
[] == []
[] is sameas []
'' == none
0 == false
0 == ''
'1' == 1
[1, 2] == [1, 2.0]
{1: 2} == {1.0: 2}
1 != 2 != 3
1 == 1 == 1
3 > 2 >= 2
'b' in ['a', 'b'] == true
""".strip("\n")

# Whole templates, one per list item.
TEMPLATES = [
    "plain text\n",
    "two newlines\n\n",
    "",
    "\n",
    "a\r\nb\rc\n",
    "{{ 1 }}\n",
    "{{ 1 }}\n\n",
    "{% if yes %}\nx\n{% endif %}\ny\n",
    "  {% if yes %}\n  x\n  {% endif %}\n  y",
    "a {% if yes %} b {% endif %} c",
    "a {%- if yes %} b {% endif -%} c",
    "a\n  {%- if yes -%}\n  b  \n {%- endif -%} \n c",
    "a\n  {%+ if yes %}\n  b\n  {%+ endif %}\n c",
    "a\n{% if yes +%}\n b\n{% endif +%}\n c",
    "  {{- 1 -}}  x  {{ 2 }}  \n  {{ 3 }}\n",
    "  {{+ 1 }}",
    "{# comment #}\nx{# c #}y\n  {# c #}\nz",
    "a {#- c -#} b",
    "a\n  {#+ c +#}\n b",
    "{# {% if %} {{ #}x",
    "{##}x{#-#}y",
    "{% raw %}{{ x }}{% if %}{% endraw %}",
    "{% raw %}\n  {{ x }}\n{% endraw %}\ny",
    "a {%- raw -%}  {{ x }}  {%- endraw -%} b",
    "  {% raw %} x {% endraw %}  y",
    "{% raw %}  {% endraw %}",
    "{% raw %}{% raw %}{% endraw %}",
    "{%raw%}x{%endraw%}",
    "{% raw -%}\n  x\n{%+ endraw +%}\ny",
    "{% raw %} x",
    "{{ '}}' }}{{ '%}' }}{% set x = '%}' %}{{ x }}",
    "{{ {'a': {'b': 1}} }}",
    "{{ {'a': 1}}}",
    "{ { } } {a} {%% }",
    "{",
    "x{",
    "{{",
    "{{ 1",
    "{% if",
    "{% if yes %}",
    "{# open",
    "{{ }}",
    "{{ 1 2 }}",
    "{{ a b }}",
    "{{ (1 }}",
    "{{ [1, }}",
    "{{ ) }}",
    "{{ 'open }}",
    "{{ 1 + }}",
    "{{ @ }}",
    "{{ x! }}",
    "{{ a.1b }}",
    "{{ a. }}",
    "{{ f(a=1, 2) }}",
    "{{ f(**d, *l) }}",
    "{{ f(a=1, a=2) }}",
    "{% nope %}",
    "{% %}",
    "{% 5 %}",
    "{% endif %}",
    "{% else %}",
    "{% if yes %}{% else %}{% else %}{% endif %}",
    "{% for %}{% endfor %}",
    "{% for x in list %}",
    "{% for x list %}{% endfor %}",
    "{% for loop in list %}{% endfor %}",
    "{% break %}",
    "{% set = 1 %}",
    "{% set 1 = 1 %}",
    "{% set true = 1 %}",
    "{% set a.b.c = 1 %}",
    "{% macro %}{% endmacro %}",
    "{% macro m(a=1, b) %}{% endmacro %}",
    "{% do list.append(1) %}",
    "{% set x = 1 %}{{ x }}",
    "{% set x, y = 1, 2 %}{{ x }}{{ y }}",
    "{% set x, y = [1, 2] %}{{ x }}{{ y }}",
    "{% set (x, y), z = [1, 2], 3 %}{{ x }}{{ y }}{{ z }}",
    "{% set x, y = 'ab' %}{{ x }}{{ y }}",
    "{% set x, y = [1] %}",
    "{% set x, y = [1, 2, 3] %}",
    "{% set x, y = 5 %}",
    "{% set x = 1, 2 %}{{ x }}",
    "{% set x = 1, %}{{ x }}",
    "{% set x %}a {{ 1 }} b{% endset %}[{{ x }}]",
    "{% set x | upper | replace('A', 'z') %}a {{ 1 }} b{% endset %}[{{ x }}]",
    "{% set x %}{% set y = 1 %}{% endset %}{{ y }}",
    "{% set ns = namespace(a=1, b=[]) %}{% set ns.a = 2 %}{% set ns.c = 3 %}{{ ns.a }}{{ ns.b }}{{ ns.c }}",
    "{% set ns = namespace() %}{% set ns.x %}block{% endset %}{{ ns.x }}",
    "{% set x.y = 1 %}",
    "{% set d.a = 1 %}",
    "{% for x in list %}{{ x }}{% endfor %}",
    "{% for x in list %}{{ x }},{% else %}empty{% endfor %}",
    "{% for x in [] %}{{ x }},{% else %}empty{% endfor %}",
    "{% for x in missing %}{{ x }},{% else %}empty{% endfor %}",
    "{% for x in none %}{% endfor %}",
    "{% for x in 5 %}{% endfor %}",
    "{% for c in u %}[{{ c }}]{% endfor %}",
    "{% for k in d %}{{ k }} {% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }} {% endfor %}",
    "{% for k, v in d|dictsort %}{{ k }}={{ v }} {% endfor %}",
    "{% for a, b in [[1, 2], (3, 4)] %}{{ a }}{{ b }} {% endfor %}",
    "{% for a, b in [[1]] %}{% endfor %}",
    "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for x in 1, 2, 3 %}{{ x }}{% endfor %}",
    "{% for x in list if x > 1 %}{{ x }}:{{ loop.index }}/{{ loop.length }}{{ loop.last }} {% endfor %}",
    "{% for x in list if x > 5 %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in list %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}",
    "{% for x in list %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {{ loop.previtem is defined }}{{ loop.nextitem is defined }};{% endfor %}",
    "{% for x in list %}{{ loop.cycle('odd', 'even') }} {% endfor %}",
    "{% for x in list %}{{ loop.cycle() }}{% endfor %}",
    "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }} {% endfor %}",
    "{% for x in list %}{{ loop.depth }}{{ loop.depth0 }}{{ loop }}{% endfor %}",
    "{% for x in list|map('string') %}{{ loop.length }}{{ loop.revindex }}{{ x }}{{ loop.last }} {% endfor %}",
    "{% for x in list %}{% for y in list %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}",
    "{% for x in list %}{% set outer = loop %}{% for y in [1] %}{{ outer.index }}{% endfor %}{% endfor %}",
    "{% for x in list %}{{ loop.nope }}{{ loop.nope is defined }}{% endfor %}",
    "{% for t in tree recursive %}{{ t.v }}{% if t.kids %}({{ loop(t.kids) }}){% endif %}{{ loop.depth }} {% endfor %}",
    "{% for t in tree %}{{ loop(t.kids) }}{% endfor %}",
    "{% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in range(3) %}{% for y in range(3) %}{% if y == 1 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{% endfor %}",
    "{% for x in list %}{% break %}{% else %}e{% endfor %}",
    "{% for x in list %}{{ x }}{% for y in [] %}{% else %}{% break %}{% endfor %}{% endfor %}",
    "{% for x in list %}{% continue %}{% else %}e{% endfor %}",
    "{% for x in list %}{% if x == 1 %}{% break %}{% endif %}{% else %}e{% endfor %}",
    "{% set x = 1 %}{% for i in list %}{% set x = i %}{% endfor %}{{ x }}",
    "{% set x = 1 %}{% for i in list %}{{ x }}{% set x = i %}{{ x }} {% endfor %}{{ x }}",
    "{% for i in list %}{% set z = i %}{% endfor %}{{ z }}",
    "{% for i in list %}{% if loop.first %}{% set z = i %}{% endif %}{{ z }}{% endfor %}",
    "{% if yes %}{% set z = 1 %}{% endif %}{{ z }}",
    "{% if no %}{% set z = 1 %}{% endif %}{{ z }}",
    "{% if no %}{% set s = 1 %}{% endif %}{{ s }}",
    "{% for i in list %}{{ s }}{% set s = i %}{% endfor %}{{ s }}",
    "{% set ns = namespace(n=0) %}{% for i in list %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
    "{% for i in list %}{% endfor %}{{ i }}",
    "{% for s in list %}{{ s }}{% endfor %}{{ s }}",
    "{% if no %}a{% elif n > 5 %}b{% else %}c{% endif %}",
    "{% if no %}a{% elif no %}b{% else %}c{% endif %}",
    "{% if no %}a{% elif no %}b{% endif %}",
    "{% if missing %}a{% else %}b{% endif %}",
    "{% if missing.x %}a{% endif %}",
    "{% if list %}a{% endif %}{% if [] %}b{% endif %}{% if {} %}c{% endif %}{% if 0.0 %}d{% endif %}{% if ' ' %}e{% endif %}",
    "{% if 1, %}t{% endif %}",
    "{% if yes: %}x{% endif %}",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% set a = 0 %}{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}",
    "{% with a, b = (1, 2) %}{{ a }}{{ b }}{% endwith %}",
    "{% macro m() %}x{% endmacro %}{{ m() }}{{ m() }}",
    "{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=4, a=5) }} {{ m() }}",
    "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(z=2) }}",
    "{% macro m(a) %}{{ a.x }}{% endmacro %}{{ m() }}",
    "{% macro m(a) %}{{ a is defined }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, z=3) }}",
    "{% macro m() %}{{ varargs|join(',') }}{% endmacro %}{{ m(1, 2, 3) }}",
    "{% macro m() %}{{ kwargs|dictsort }}{% endmacro %}{{ m(b=1, a=2) }}",
    "{% macro m() %}{{ m2() }}{% endmacro %}{% macro m2() %}z{% endmacro %}{{ m() }}",
    "{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}",
    "{% macro m() %}{% set y = 1 %}{% endmacro %}{{ m() }}{{ y }}",
    "{% macro fact(n) %}{% if n > 1 %}{{ n * (fact(n - 1)|int) }}{% else %}1{% endif %}{% endmacro %}{{ fact(10) }}",
    "{% for x in list %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% for x in list %}{% macro m() %}q{% endmacro %}{% endfor %}{{ m is defined }}",
    "{% macro m() %}  a\n{% endmacro %}[{{ m() }}]",
    "{% macro m() -%}  a\n{%- endmacro %}[{{ m() }}]",
    "{{ m() }}{% macro m() %}x{% endmacro %}",
    "{% macro m(a, b) %}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.nope is defined }}{{ m is callable }}",
    "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}body{% endcall %}",
    "{% macro m() %}<{{ caller(1, 2) }}>{% endmacro %}{% call(a, b=3) m() %}{{ a }}{{ b }}{% endcall %}",
    "{% macro m() %}<{{ caller() }}>{% endmacro %}{{ m() }}",
    "{% macro m() %}x{% endmacro %}{% call m() %}body{% endcall %}",
    "{% macro m() %}{% if caller %}y{% else %}n{% endif %}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}",
    "{% macro m(caller) %}{{ caller() }}{% endmacro %}",
    "{% macro m(caller=none) %}{{ caller() if caller else 'no' }}{% endmacro %}{{ m() }}{% call m() %}b{% endcall %}",
    "{% call 5 %}{% endcall %}",
    "{% set z = 1 %}{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ z }}{% set z = 2 %}{% endcall %}{{ z }}",
    "{% filter upper %}a{{ s }}b{% endfilter %}",
    "{% filter replace('a', 'b')|upper %}aXa{% endfilter %}",
    "{% filter nope %}{% endfilter %}",
    "{% filter upper %}{% set q = 1 %}{% endfilter %}{{ q }}",
    "{% generation %}x {{ n }}{% endgeneration %}",
    "{% generation %}{% set q = 1 %}{% endgeneration %}{{ q }}",
    "{% for x in list %}{% generation %}{{ x }}{{ loop.index }}{% endgeneration %}{% endfor %}",
    "{% print 1, 2 %}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}",
    "{% set j = joiner(', ') %}{% for x in list %}{{ j() }}{{ x }}{% endfor %}",
    "{% set g = list|map('string') %}{{ g|list }}{{ g|list }}",
    "{% set x = x is defined %}{{ x }}",
    "{% set s = s + '!' %}{{ s }}",
    "{% set messages = messages | default([]) %}{{ messages }}",
    "{%- set a = 1 -%}\n\n{%- set b = 2 -%}\n{{ a + b }}\n",
    "x\n    {%- for i in list %}\n    {{ i }}\n    {%- endfor %}\n y",
    "{% for i in list -%}\n  {{ i }}\n{% endfor %}",
    "{% for i in list %}\n  {{ i }}\n{%- endfor %}\n",
    "{% for i in list %}\n{{ i }}\n{% endfor %}\n",
    "line1\n{{ n }}\nline3\n",
    "a\t{% if yes %}\tb{% endif %}\n\t{% if yes %}\n",
    "a\t{% if yes %}\tb{% endif %}\n\t{% if yes %}c\n\t{% endif %}\n",
    "é {%- if yes %}ü{% endif -%} ß",
    "\u00a0{% if yes %}x{% endif %}",
    "x\u00a0{%- if yes -%}\u2003y{% endif %}",
    "{{ s }}{# a #}{# b #}\n{# c #}\nz",
    "{%set x=1%}{{x}}{%if x==1%}y{%endif%}",
    "{{x|default('a')}}{{'a'|upper}}",
    "{{ 'a' if x is defined else 'b' }}",
    "{{ x is defined and x }}",
    "{% if x is defined and x is not none %}a{% else %}b{% endif %}",
    "{% if (s is string) and not (n is string) %}ok{% endif %}",
    "{{ raise_exception('stop here') if yes }}",
    "{{ raise_exception('stop here') if no }}",
    "{% if no %}{{ raise_exception('x') }}{% endif %}fine",
    "{% if no %}{{ 1|nope }}{{ 1 is nope }}{% endif %}fine",
    "{% for x in [] %}{{ 1|nope }}{% endfor %}fine",
    "{{ s.split(', ')[-1].strip() }}",
    "{{ s.split('o')[0] + s.split('o')|last }}",
    "{% set parts = s.split(',') %}{% for p in parts %}{{ loop.index0 }}:{{ p.strip() }};{% endfor %}",
    "{% for m in people %}{% if loop.index0 == 0 or people[loop.index0 - 1].age != m.age %}{{ m.name }} {% endif %}{% endfor %}",
    "{% for m in people[1:] %}{{ m['name'] }} {% endfor %}",
    "{% for m in people|rejectattr('name', 'equalto', 'bob') %}{{ m.name }} {% endfor %}",
    "{% set last = people[-1] %}{{ last.name }}{{ (people|last).name }}",
    "{{ people | selectattr('age', '>', 26) | map(attribute='name') | join(', ') }}",
    "{{ dict(people[0], name='Z') | tojson }}",
    "{% set content = none %}{{ content or '' }}[{{ content }}]",
    "{{- '<|a|>' }}{{ '\\n' }}{{- s }}{{ '<|b|>' -}}\n   tail",
    "{% for i in range(3) %}{{ i }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% set x = {'a': 1} %}{% for k in x %}{{ k }}{{ x[k] }}{% endfor %}",
    "{{ loop is defined }}",
    "{% set a %}{% endset %}{{ a|length }}{{ a == '' }}",
    "{% set a = 'x' if no %}{{ a is defined }}",
    "{{ caller is defined }}{{ varargs is defined }}",
    "{% for x in d.items() %}{{ x[0] }}{{ x.1 }}{% endfor %}",
    "{% for i in [1, 2] %}{% with %}{% set i = 9 %}{{ i }}{% endwith %}{{ i }}{% endfor %}",
    "{% macro a(x) %}{% for i in x %}{{ loop.index }}{{ caller(i) }}{% endfor %}{% endmacro %}{% call(i) a(list) %}[{{ i }}]{% endcall %}",
    "{% set ns = namespace(found=false) %}{% for m in people %}{% if m.name == 'bob' %}{% set ns.found = true %}{% break %}{% endif %}{% endfor %}{{ ns.found }}",
    "{% set ns = namespace() %}{{ ns }}{% set ns.a = [ns.b is defined] %}{{ ns }}",
    "{% for x in list %}{{ x }}{% endfor -%}\n\n  tail",
    "{%- for x in list %}\n{{ x }}{{- ',' if not loop.last }}\n{%- endfor %}",
    "{{ 'x' }}\n{%- if yes %}\n\ny{% endif %}",
    "{{ '{{' }}{{ '{%' }}{{ '{#' }}",
    "{{ \"a'b\" }}{{ 'a\"b' }}",
    "{% set x = [] %}{% set x = x + [1] %}{% set x = x + [2] %}{{ x }}",
    "{% for x in list|sort(reverse=true) %}{{ x }}{% endfor %}",
    "{% for g in people|groupby('age') %}{{ g.grouper }}:{% for p in g.list %}{{ p.name }} {% endfor %}{% endfor %}",
    "{% for row in range(7)|batch(3, '-') %}{{ row|join }}|{% endfor %}",
    "{% for col in range(7)|slice(3) %}{{ col|join }}|{% endfor %}",
    "{{ range(3) | map('string') | join('') | int + 1 }}",
    "{{ super() }}",
    "{% include 'x' %}",
    "{% import 'x' as y %}",
    "{% from 'x' import y %}",
    "{% extends 'x' %}",
]

# What quern makes of these is in differences_test.go.
DIFFERENT = [
    "{{ [1]|map('string') }}",
    "{{ list|select }}",
    "{{ list|reverse }}",
    "{{ range }}",
    "{{ dict }}",
    "{{ cycler(1, 2) }}",
    "{{ s.upper }}",
    "{{ list|pprint }}",
    "{{ [1]|random }}",
    "{{ 'http://a.b'|urlize }}",
    "{{ {'a': 1}|xmlattr }}",
    "{{ lipsum is defined }}",
    "{% block x %}a{% endblock %}",
    "{% autoescape true %}{{ '<' }}{% endautoescape %}",
    "{{ self }}",
    "{{ 10 ** 5000 }}",
    "{{ (2 ** 15000) % 7 }}",
    "{{ (-8) ** 0.5 }}",
    "{{ '\\N{BULLET}' }}",
    "{{ s.encode() }}",
    "{{ s.translate({72: 74}) }}",
    "{{ (1.5).hex() }}",
    "{{ range(3).start }}",
    "{{ range(3).index(1) }}",
    "{{ 1000 is sameas 1000 }}",
    "{{ list is filter }}",
    "{{ list|indent }}",
    "{#",
]


def render(source):
    try:
        return {"output": env.from_string(source).render(**VARS)}
    except Exception as err:  # whatever it is, it is the expected answer
        return {"error": f"{type(err).__name__}: {err}"}


def main():
    rows = []
    text = EXPRESSIONS.replace("\\\nz", "\\\0z")  # the one expression on two lines
    for line in text.split("\n"):
        source = "{{ " + line.replace("\0", "\n") + " }}"
        rows.append({"template": source, **render(source)})
    for source in TEMPLATES:
        rows.append({"template": source, **render(source)})
    out = {"vars": VARS, "rows": rows}
    path = pathlib.Path(__file__).with_name("golden.json")
    path.write_text(json.dumps(out, ensure_ascii=False, indent=0) + "\n")
    print(len(rows), "snippets")
    rows = {}
    for source in DIFFERENT:
        r = render(source)
        rows[source] = re.sub("0x[0-9a-f]{8,}", "0x…", r.get("output", r.get("error")))
    path = path.with_name("differences.json")
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=0) + "\n")


if __name__ == "__main__":
    main()
