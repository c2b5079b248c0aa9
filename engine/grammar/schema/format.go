package schema

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// formats are the strings of the formats of JSON Schema, as patterns (RFC 3339, 3986,
// 3987, 4122, 5321, 5891 without its tables, 6570, 6901; semver.org).
var formats = map[string]func() *node{
	"date":      format(`^` + date + `$`),
	"time":      format(`^` + clock + `$`),
	"date-time": format(`^` + date + `[Tt]` + clock + `$`),
	"duration":  format(`^` + duration + `$`),

	"hostname":  sync.OnceValue(hostname),
	"email":     sync.OnceValue(func() *node { return email(false) }),
	"idn-email": sync.OnceValue(func() *node { return email(true) }),
	"ipv4":      format(`^` + ipv4 + `$`),
	"ipv6":      format(`^` + ipv6 + `$`),

	"uri":           format(`^` + uri(``) + `$`),
	"uri-reference": format(`^(?:` + uri(``) + `|` + relative(``) + `)$`),
	"iri":           format(`^` + uri(beyondASCII) + `$`),
	"iri-reference": format(`^(?:` + uri(beyondASCII) + `|` + relative(beyondASCII) + `)$`),
	"uri-template":  format(`^(?:[!#$&(-;=?-\[\]_a-z~` + beyondASCII + `]|` + percent + `|\{[+#./;?&=,!@|]?` + variable + `(?:,` + variable + `)*\})*$`),

	"semver":                format(`^` + version + `$`),
	"uuid":                  format(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`),
	"json-pointer":          format(`^` + pointer + `$`),
	"relative-json-pointer": format(`^(?:0|[1-9][0-9]*)(?:#|` + pointer + `)$`),
}

// irregular are formats that no regular expression describes.
var irregular = map[string]bool{"regex": true, "idn-hostname": true}

func knownFormats() string {
	return strings.Join(slices.Sorted(maps.Keys(formats)), ", ")
}

// format reads a pattern of ours when it is first asked for.
func format(source string) func() *node {
	return sync.OnceValue(func() *node {
		n, err := parsePattern(source)
		if err != nil {
			panic(err)
		}
		return n
	})
}

const (
	leap = `(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)`
	date = `(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|` + leap + `-02-29)`

	// A leap second is at the end of a day of UTC.
	clock = `(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])|23:59:60(?:\.[0-9]+)?(?:[Zz]|[+-]00:00))`

	durationTime = `T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)`
	duration     = `P(?:(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)(?:` + durationTime + `)?|` + durationTime + `|[0-9]+W)`

	octet = `(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
	ipv4  = `(?:` + octet + `\.){3}` + octet
	h16   = `[0-9a-fA-F]{1,4}`
	ls32  = `(?:` + h16 + `:` + h16 + `|` + ipv4 + `)`
	ipv6  = `(?:(?:` + h16 + `:){6}` + ls32 +
		`|::(?:` + h16 + `:){5}` + ls32 +
		`|(?:` + h16 + `)?::(?:` + h16 + `:){4}` + ls32 +
		`|(?:(?:` + h16 + `:){0,1}` + h16 + `)?::(?:` + h16 + `:){3}` + ls32 +
		`|(?:(?:` + h16 + `:){0,2}` + h16 + `)?::(?:` + h16 + `:){2}` + ls32 +
		`|(?:(?:` + h16 + `:){0,3}` + h16 + `)?::` + h16 + `:` + ls32 +
		`|(?:(?:` + h16 + `:){0,4}` + h16 + `)?::` + ls32 +
		`|(?:(?:` + h16 + `:){0,5}` + h16 + `)?::` + h16 +
		`|(?:(?:` + h16 + `:){0,6}` + h16 + `)?::)`

	numeric = `(?:0|[1-9][0-9]*)`
	version = numeric + `\.` + numeric + `\.` + numeric + `(?:-` + release + `(?:\.` + release + `)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?`
	release = `(?:` + numeric + `|[0-9]*[A-Za-z-][0-9A-Za-z-]*)`

	percent  = `%[0-9a-fA-F]{2}`
	pointer  = `(?:/(?:[^/~]|~[01])*)*`
	varName  = `(?:[A-Za-z0-9_]|` + percent + `)(?:\.?(?:[A-Za-z0-9_]|` + percent + `))*`
	variable = varName + `(?:\*|:[1-9][0-9]{0,3})?`

	beyondASCII = `\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\u{10000}-\u{1fffd}\u{20000}-\u{efffd}`
)

// uri and relative are references of RFC 3986, with more characters that need no
// escape (RFC 3987).
func uri(more string) string {
	return `[A-Za-z][A-Za-z0-9+.-]*:(?:` + authority(more) + `(?:/` + segment(more) + `)*|/(?:` + segment1(more) + `(?:/` + segment(more) + `)*)?|` +
		segment1(more) + `(?:/` + segment(more) + `)*|)` + queryAndFragment(more)
}

func relative(more string) string {
	noColon := `(?:[A-Za-z0-9._~!$&'()*+,;=@` + more + `-]|` + percent + `)+`
	return `(?:` + authority(more) + `(?:/` + segment(more) + `)*|/(?:` + segment1(more) + `(?:/` + segment(more) + `)*)?|` +
		noColon + `(?:/` + segment(more) + `)*|)` + queryAndFragment(more)
}

func pchar(more string) string {
	return `(?:[A-Za-z0-9._~!$&'()*+,;=:@` + more + `-]|` + percent + `)`
}

func segment(more string) string  { return pchar(more) + `*` }
func segment1(more string) string { return pchar(more) + `+` }

func authority(more string) string {
	unreserved := `[A-Za-z0-9._~!$&'()*+,;=` + more + `-]`
	return `//(?:(?:` + unreserved + `|:|` + percent + `)*@)?` +
		`(?:\[(?:` + ipv6 + `|[vV][0-9a-fA-F]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\]|(?:` + unreserved + `|` + percent + `)*)(?::[0-9]*)?`
}

func queryAndFragment(more string) string {
	private := ``
	if more != `` {
		private = `\ue000-\uf8ff\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}`
	}
	return `(?:\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?` + more + private + `-]|` + percent + `)*)?(?:#(?:[A-Za-z0-9._~!$&'()*+,;=:@/?` + more + `-]|` + percent + `)*)?`
}

// hostname: labels of letters, digits and inner hyphens, at most 63 each and 253
// together. Each rule is an expression of its own, since one for all has thousands of
// states. What xn-- stands for is not looked at.
func hostname() *node {
	return and(
		format(`^`+labels+`$`)(),
		format(`^`+counted(``)+`$`)(),
		format(`^[A-Za-z0-9.-]{1,253}$`)())
}

const (
	inner  = `[A-Za-z0-9](?:-*[A-Za-z0-9])*`
	labels = inner + `(?:\.` + inner + `)*`
)

func counted(more string) string {
	label := `[A-Za-z0-9` + more + `-]{1,63}`
	return label + `(?:\.` + label + `)*`
}

// email: an address of RFC 5321, or of RFC 6531 where international.
func email(international bool) *node {
	more, any := ``, `!-?A-~` // all but @
	if international {
		more, any = `\u0080-\u{10ffff}`, `!-?A-~\u0080-\u{10ffff}`
	}
	atom := "[A-Za-z0-9!#$%&'*+/=?^_`{|}~" + more + "-]+"
	plain := `[ !#-\[\]-~` + more + `]`
	local := `(?:` + atom + `(?:\.` + atom + `)*|"(?:` + plain + `{0,62}|(?:` + plain + `|\\[ -~]){0,31})")`
	literal := `\[(?:` + ipv4 + `|IPv6:` + ipv6 + `)\]`
	letter := `[A-Za-z0-9` + more + `]`
	label := letter + `(?:-*` + letter + `)*`
	return and(
		format(`^`+local+`@(?:`+label+`(?:\.`+label+`)*|`+literal+`)$`)(),
		format(`^`+local+`@(?:`+counted(more)+`|`+literal+`)$`)(),
		format(`^(?:[`+strings.Replace(any, `!`, `!#`, 1)+`]{1,64}@|")[ @`+any+`]{1,400}$`)())
}
