package settings

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"
)

// valueName is where a help only names the flag's value.
var valueName = regexp.MustCompile(", an? `[a-z]+`")

// words is the help without the marks for flags.
func (r *row) words() string {
	text := strings.ReplaceAll(valueName.ReplaceAllString(r.help, ""), "`", "")
	if r.one != nil {
		text += ": " + either(r.one)
	}
	if r.live {
		text += "; read again on SIGHUP"
	}
	return text
}

// either joins words as one reads them: a, b or c.
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// standard is the default of r as text, "" for none.
func (r *row) standard(command string) string {
	def := r.defaultOf(command)
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
	if def := r.standard(command); def != "" && def != "false" {
		text += " (default " + def + ")"
	}
	return text
}

// values are the values r may have, as text.
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

// Environment is the part about variables in the help of a command.
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
		lines := fold(text, 76-max(len(r.env)-16, 0)) // long names move the first line
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

// names are r's flag, variables and key.
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

// title is a section's heading where no command's own flags stand under it.
func title(section string) string {
	if section == General {
		return "Where the file is"
	}
	return section
}

// Help writes every setting for a person at a terminal.
func Help(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, `Every setting: its key in the configuration file, its flag with the commands that have it,
and its variable. A key of models[] may stand in model_defaults too; its flag holds for every
model, whatever its entry says.

%s
%s
`, Precedence, spelling)
	for _, section := range Sections {
		fmt.Fprintf(&b, "\n%s:\n", title(section))
		for _, r := range table() {
			if r.section != section {
				continue
			}
			text := r.words()
			var facts []string
			if v := r.values(); v != "" && v != "text" && v != "file" && v != "word" {
				facts = append(facts, v)
			}
			if r.commands != "" {
				facts = append(facts, "of "+strings.ReplaceAll(r.commands, " ", ", "))
			}
			if len(facts) > 0 {
				text += " [" + strings.Join(facts, "; ") + "]"
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
