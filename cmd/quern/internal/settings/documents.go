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
	section, rows := "", slices.DeleteFunc(table(), func(r row) bool { return r.key == "" })
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
	parent string // key of the struct that is written
}

func (e *example) comment(indent, text string) {
	for _, l := range fold(text, 90-len(indent)) {
		fmt.Fprintf(e, "%s# %s\n", indent, l)
	}
}

// line writes a key and its value, with what it is behind it or, where that is too long,
// above. Keys in entries of a list are commented out.
func (e *example) line(mark, indent, text, comment string) {
	const column, most = 30, 100
	line := mark + indent + text
	pad := strings.Repeat(" ", max(column-utf8.RuneCountInString(line), 2))
	if utf8.RuneCountInString(line+pad+comment)+2 <= most {
		fmt.Fprintf(e, "%s%s# %s\n", line, pad, comment)
		return
	}
	if mark != "" {
		for _, l := range fold(comment, 80) {
			fmt.Fprintf(e, "%s%s# %s\n", mark, indent, l)
		}
	} else {
		e.comment(indent, comment)
	}
	e.WriteString(line + "\n")
}

func (e *example) row(r row, entries bool) {
	parent, name := "", r.key
	if i := strings.LastIndex(r.key, "."); i >= 0 {
		parent, name = r.key[:i], r.key[i+1:]
	}
	comment := r.words()
	if r.def == nil && r.unset != "" {
		comment += "; default " + r.unset
	}
	if r.in.max != 0 {
		comment += "; " + r.in.String()
	}
	if at := strings.Index(r.key, "[]."); at >= 0 {
		mark, indent := "#", strings.Repeat("  ", 2+strings.Count(r.key[at+3:], "."))
		value := r.example
		if value == "" && r.def != nil {
			value = r.standard("serve")
		}
		switch {
		case r.kind() == reflect.Struct:
			fmt.Fprintf(e, "%s%s%s:   # %s\n", mark, indent, name, comment)
		case value == "": // one of several ways to say the same
			e.line(mark+indent, "", "# "+name+": …", comment)
		case e.parent != r.key[:at]:
			e.parent = r.key[:at]
			e.line(mark, indent[2:]+"- ", name+": "+value, comment)
		default:
			e.line(mark, indent, name+": "+value, comment)
		}
		return
	}
	indent := ""
	if parent != "" {
		indent = "  "
		if e.parent != parent {
			fmt.Fprintf(e, "%s:\n", parent)
		}
	}
	e.parent = parent
	switch kind := r.kind(); {
	case kind == reflect.Struct && !isModel(r): // a heading
		e.comment("", comment)
		fmt.Fprintf(e, "%s:\n", name)
		e.parent = r.key
	case kind == reflect.Slice && r.def != nil:
		e.comment(indent, comment)
		fmt.Fprintf(e, "%s%s:\n", indent, name)
		for _, v := range r.def.([]string) {
			fmt.Fprintf(e, "%s  - %s\n", indent, v)
		}
	case kind == reflect.Slice || kind == reflect.Map || kind == reflect.Struct:
		empty := " {}"
		if kind == reflect.Slice {
			empty = " []"
		}
		if r.example == "" && !entries {
			e.line("", indent, name+":"+empty, comment)
			return
		}
		e.comment(indent, comment)
		fmt.Fprintf(e, "%s%s:%s\n", indent, name, empty)
		if r.example != "" {
			fmt.Fprintf(e, "#%s  %s\n", indent, r.example)
		}
	default:
		value := r.standard("serve")
		if r.def == nil {
			value = `""`
		}
		e.line("", indent, name+": "+value, comment)
	}
}

func isModel(r row) bool { return r.typ() == reflect.TypeFor[Model]() }

// Tables are every setting in Markdown, section by section.
func Tables() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", Precedence, spelling)
	for _, section := range Sections[1:] {
		fmt.Fprintf(&b, "### %s\n\n| setting | value | default | |\n|---|---|---|---|\n", section)
		for _, r := range table() {
			if r.section == section || section == Server && r.section == General {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.code(r.names()), r.values(), r.standard("serve"), r.cell())
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Brief is what flags and variables of quern serve there are, in Markdown.
func Brief() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", Precedence)
	b.WriteString("| flag | variable | in the file | default | |\n|---|---|---|---|---|\n")
	for _, r := range table() {
		if r.flag != "" && r.of("serve") || r.env == "QUERN_API_KEY" {
			code := func(mark, s string) string {
				if s == "" {
					return ""
				}
				return "`" + mark + s + "`"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code("--", r.flag), code("", r.env), code("", r.key), r.standard("serve"), r.cell())
		}
	}
	return b.String() + "\n"
}

func (r *row) code(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// cell is the help in a table's cell.
func (r *row) cell() string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;").Replace(r.words())
}
