package settings

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// typ is the type of the field that the row's key names, nil without a key.
func (r *row) typ() reflect.Type {
	if r.key == "" {
		return nil
	}
	t := reflect.TypeFor[Settings]()
	for name := range strings.SplitSeq(r.key, ".") {
		name, entry := strings.CutSuffix(name, "[]")
		i, ok := fields(t)[name]
		if !ok {
			panic(fmt.Sprintf("quern: the table has the key %s, and the settings have not", r.key))
		}
		t = t.Field(i).Type
		switch {
		case t == reflect.TypeFor[auth]():
			t = reflect.TypeFor[[]authKey]()
		case t.Kind() == reflect.Pointer:
			t = t.Elem()
		}
		if entry {
			t = t.Elem()
		}
	}
	return t
}

func (r *row) kind() reflect.Kind {
	if t := r.typ(); t != nil {
		return t.Kind()
	}
	return reflect.Invalid
}

// valueName is where a help only names the flag's value.
var valueName = regexp.MustCompile(", an? `[a-z]+`")

// words is the help without what is meant for flags.
func (r *row) words() string {
	text := strings.ReplaceAll(valueName.ReplaceAllString(r.help, ""), "`", "")
	if r.one != nil {
		text += ": " + either(r.one)
	}
	return text
}

// either joins words as one reads them: a, b or c.
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// standard is what holds when nobody sets r, "" when there is nothing to say.
func (r *row) standard(command string) string {
	def := r.def
	if r.quiet != nil && command != "serve" {
		def = r.quiet
	}
	switch v := reflect.ValueOf(def); {
	case def == nil:
		return r.unset
	case v.Kind() == reflect.Slice:
		return strings.Join(def.([]string), ", ")
	default:
		return fmt.Sprint(v.Convert(r.typ()))
	}
}

// usage is the help of r's flag.
func (r *row) usage(command string) string {
	text := r.help
	if r.one != nil {
		text += ": " + either(r.one)
	}
	if r.many || r.kind() == reflect.Slice {
		text += "; repeatable"
	}
	if def := r.standard(command); def != "" && r.kind() != reflect.Bool {
		text += " (default " + def + ")"
	}
	return text
}

// values says what r may be.
func (r *row) values() string {
	var text string
	switch t := r.typ(); {
	case t == nil:
		return ""
	case t == reflect.TypeFor[Duration]():
		text = "time"
	case t == reflect.TypeFor[Size]():
		text = "size"
	case r.one != nil:
		return "word"
	case r.file && t.Kind() == reflect.String:
		return "file"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice:
		return "list"
	case t.Kind() == reflect.Int:
		text = "whole number"
	case t.Kind() == reflect.Float32:
		text = "number"
	default:
		return "keys and values"
	}
	if r.unit != "" {
		text = r.unit
	}
	if r.in != (limit{}) && !r.in.never {
		text += ", " + r.in.String()
	}
	return text
}

// Environment is what the help of a command says of variables.
func Environment(command string) string {
	var b strings.Builder
	for _, r := range table() {
		if r.env == "" || !r.of(command) {
			continue
		}
		text := "as --" + r.flag
		if r.flag == "" {
			text = r.words()
		}
		if r.key != "" && r.flag == "" {
			text += "; as " + r.key + " of the file"
		}
		for _, v := range r.also {
			text += "; also " + v
		}
		lines := fold(text, 76)
		fmt.Fprintf(&b, "  %-16s  %s\n", r.env, lines[0])
		for _, l := range lines[1:] {
			fmt.Fprintf(&b, "  %-16s  %s\n", "", l)
		}
	}
	return b.String()
}

// fold breaks text into lines of at most width columns.
func fold(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// names are the ways to say r.
func (r *row) names() []string {
	var out []string
	if r.key != "" {
		out = append(out, r.key)
	}
	if r.flag != "" {
		out = append(out, "--"+r.flag)
	}
	if r.short != "" {
		out = append(out, "-"+r.short)
	}
	if r.env != "" {
		out = append(append(out, r.env), r.also...)
	}
	return out
}

// Help writes every setting for a person at a terminal.
func Help(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, `Every setting: its key in the configuration file, its flag and its variable.

%s
A key of models[] may stand in model_defaults too, where its flag sets it.
Times are written as 60s, 15m or 1h30m, sizes as 16MiB or 2GiB.
`, Precedence)
	for _, section := range Sections {
		title := section
		if section == General {
			title = "The file"
		}
		fmt.Fprintf(&b, "\n%s:\n", title)
		for _, r := range table() {
			if r.section != section {
				continue
			}
			text := r.words()
			if v := r.values(); v != "" && v != "text" && v != "file" && v != "word" {
				text += " [" + v + "]"
			}
			if def := r.standard("serve"); def != "" {
				text += " (default " + def + ")"
			}
			fmt.Fprintf(&b, "  %s\n", strings.Join(r.names(), "  "))
			for _, l := range fold(text, 92) {
				fmt.Fprintf(&b, "      %s\n", l)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Example is quern.example.yaml.
func Example() string {
	e := &example{}
	e.comment("", "quern.yaml: what `quern serve` reads. Every key is optional; the values here are the defaults. "+
		"File names are relative to this file. "+Precedence+" `quern help settings` lists them all, and "+
		"`quern serve --print-config` shows what holds in the end. Times are written as 60s, 15m or 1h30m, sizes as 16MiB or 2GiB.")
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
