package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Example is quern.example.yaml.
func Example() string {
	e := &example{}
	e.comment("", "quern.yaml: what `quern serve` reads. Every key is optional; the values here are the defaults. "+
		"File names are relative to this file. "+Precedence+" `quern help settings` lists them all, and "+
		"`quern serve --print-config` shows what holds in the end. "+spelling)
	section, rows := "", slices.DeleteFunc(slices.Clone(table()), func(r row) bool { return r.key == "" })
	for i, r := range rows {
		if r.section != section {
			section = r.section
			fmt.Fprintf(e, "\n# ---- %s ----\n", section)
		}
		e.row(r, i+1 < len(rows) && strings.HasPrefix(rows[i+1].key, r.key+"[]."))
	}
	return e.String()
}

type example struct {
	strings.Builder
	parent string // key of the struct or entry that is written
}

func (e *example) comment(indent, text string) {
	for _, l := range fold(text, 90-len(indent)) {
		fmt.Fprintf(e, "%s# %s\n", indent, l)
	}
}

// row writes a key and its value, with its help after it or, where that is too long, above.
// Keys in entries of a list are commented out; more says that they come next.
func (e *example) row(r row, more bool) {
	path := strings.Split(r.key, ".")
	name, parent := path[len(path)-1], strings.Join(path[:len(path)-1], ".")
	indent := strings.Repeat("  ", len(path)-1)
	entry := strings.Contains(r.key, "[].")
	if entry {
		indent = "#  " + indent
	}
	switch {
	case parent == e.parent || parent == "" || strings.HasPrefix(e.parent, parent+"."):
	case entry: // the first of it
		indent = indent[:len(indent)-2] + "- "
	default:
		fmt.Fprintf(e, "%s:\n", parent)
	}
	e.parent = parent

	value := ` ""`
	switch kind := r.kind(); {
	case entry && r.example != "":
		value = " " + r.example
	case r.typ() == reflect.TypeFor[Model]() || kind == reflect.Map:
		value = " {}"
	case kind == reflect.Struct:
		e.parent, value, more = r.key, "", true
	case kind == reflect.Slice && r.def == nil:
		value = " []"
	case kind == reflect.Slice:
		value, more = "", true
		for _, v := range r.def.([]string) {
			value += "\n" + indent + "  - " + v
		}
	case r.def != nil:
		value = " " + r.standard("serve")
	case entry: // one of several ways to say the same
		name, value = "# "+name, " …"
	}
	if r.example != "" && !entry {
		value, more = value+"\n#"+indent+"  "+r.example, true
	}

	comment := r.words()
	if r.def == nil && r.unset != "" {
		comment += "; default " + r.unset
	}
	if r.in.max != 0 {
		comment += "; " + r.in.String()
	}
	line := indent + name + ":" + value
	const column, most = 30, 100
	pad := strings.Repeat(" ", max(column-utf8.RuneCountInString(line), 2))
	if !more && utf8.RuneCountInString(line+pad+comment)+2 <= most {
		line += pad + "# " + comment
	} else {
		e.comment(indent, comment)
	}
	e.WriteString(line + "\n")
}

// Tables are every setting in Markdown, section by section.
func Tables() string {
	text := Precedence + "\n" + spelling + "\n\n"
	for _, section := range Sections {
		text += "### " + title(section) + "\n\n" + markdown(func(r row) bool { return r.section == section })
	}
	return text
}

// Brief is what flags and variables of quern serve there are, in Markdown.
func Brief() string {
	return Precedence + "\n\n" + markdown(func(r row) bool {
		return r.of("serve") && (r.flag != "" || strings.HasPrefix(r.env, "QUERN_"))
	})
}

// markdown is a table of the rows to keep.
func markdown(keep func(r row) bool) string {
	escape := strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;")
	text := "| setting | value | default | |\n|---|---|---|---|\n"
	for _, r := range table() {
		if keep(r) {
			text += fmt.Sprintf("| `%s` | %s | %s | %s |\n", strings.Join(r.names(), "`, `"), r.values(), r.standard("serve"), escape.Replace(r.words()))
		}
	}
	return text + "\n"
}
