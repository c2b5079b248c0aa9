package hub

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors of picking a model out of a repository.
var (
	ErrNoModel   = errors.New("no model quern can use")
	ErrAmbiguous = errors.New("several models")
)

// pick chooses the model of files that r means. chosen says that it was the
// choice of pick and not of r.
func pick(r Ref, files []File) (v *variant, chosen bool, err error) {
	all := variants(files)
	switch {
	case r.File != "":
		v, err = pickFile(r, files, all)
	case r.Quant != "":
		v, err = pickQuant(r, all)
	default:
		v, chosen, err = pickAny(r, all)
	}
	if err != nil {
		return nil, false, err
	}
	if v.kind.unused != "" && r.File == "" {
		return nil, false, fmt.Errorf("%w: %s %s", ErrNoModel, r.Repo(), v.kind.unused)
	}
	if !v.complete() {
		return nil, false, fmt.Errorf("%w: %s has %d of the %d parts of %s", ErrNoModel, r.Repo(), len(v.files), v.parts, v.rest)
	}
	return v, chosen, nil
}

func pickFile(r Ref, files []File, all []*variant) (*variant, error) {
	for _, v := range all {
		for _, f := range v.files {
			if f.Path == r.File {
				return v.narrow(r.File, files), nil
			}
		}
	}
	for _, f := range files {
		if f.Path == r.File {
			// A file no kind knows is pulled as it is.
			return &variant{kind: &kind{name: "file"}, rest: f.Path, files: []File{f}}, nil
		}
	}
	var names []string
	for _, v := range all {
		for _, f := range v.files {
			names = append(names, f.Path)
		}
	}
	return nil, fmt.Errorf("%w: %s has no file %q%s", ErrNoModel, r.Repo(), r.File, listed("; there is ", names))
}

func pickQuant(r Ref, all []*variant) (*variant, error) {
	for _, want := range []string{r.Quant, "UD-" + r.Quant} {
		var fit []*variant
		for _, v := range all {
			if strings.EqualFold(v.label, want) {
				fit = append(fit, v)
			}
		}
		if v, err := oneOf(r, fit); v != nil || err != nil {
			return v, err
		}
	}
	return nil, fmt.Errorf("%w: %s has no %s%s", ErrNoModel, r.Repo(), r.Quant, listed("; there is ", labels(all)))
}

func pickAny(r Ref, all []*variant) (v *variant, chosen bool, err error) {
	if len(all) == 0 {
		return nil, false, fmt.Errorf("%w: %s has no GGUF, SafeTensors, ONNX, Kokoro or Whisper files", ErrNoModel, r.Repo())
	}
	// The first kind counts, of whole models where there are some.
	whole := slices.DeleteFunc(slices.Clone(all), func(v *variant) bool { return !v.complete() })
	if len(whole) == 0 {
		whole = all
	}
	first := whole[0].kind
	fit := slices.DeleteFunc(whole, func(v *variant) bool { return v.kind != first })
	if first.several && slices.ContainsFunc(fit, func(v *variant) bool { return v.rest != fit[0].rest }) {
		_, err := oneOf(r, fit)
		return nil, false, err
	}
	for _, want := range first.preferred() {
		same := slices.DeleteFunc(slices.Clone(fit), func(v *variant) bool { return v.label != want })
		if v, err := oneOf(r, same); v != nil || err != nil {
			return v, len(fit) > 1, err
		}
	}
	v, err = oneOf(r, fit)
	return v, false, err
}

// oneOf returns the only variant of fit, nil when there is none. Of several in
// one kind only the user can choose.
func oneOf(r Ref, fit []*variant) (*variant, error) {
	if len(fit) == 0 {
		return nil, nil
	}
	var names []string
	for _, v := range fit {
		if v.kind == fit[0].kind {
			names = append(names, v.files[0].Path)
		}
	}
	if len(names) > 1 {
		return nil, fmt.Errorf("%w: %s; name one as %s/FILE: %s", ErrAmbiguous, r.Repo(), r.Repo(), listed("", names))
	}
	return fit[0], nil
}

// labels lists the quantisations of all, each once.
func labels(all []*variant) []string {
	var out []string
	for _, v := range all {
		if v.label != "" && !slices.Contains(out, v.label) {
			out = append(out, v.label)
		}
	}
	return out
}

// listed joins the first names of a list behind what introduces them.
func listed(intro string, names []string) string {
	const most = 20
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return intro + strings.Join(names, ", ") + more
}
