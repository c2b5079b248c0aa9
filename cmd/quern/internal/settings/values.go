package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// A Duration is written as 60s, 15m or 1h30m; 0 needs no unit. Never is -1.
type Duration time.Duration

const Never Duration = -1

func (d *Duration) parse(s string) error {
	switch s {
	case "0":
		*d = 0
		return nil
	case "-1", "never":
		*d = Never
		return nil
	}
	v, err := time.ParseDuration(s)
	switch {
	case err != nil && strings.Trim(s, "0123456789.") == "" && s != "":
		return fmt.Errorf("%s has no unit; write %ss for seconds", s, s)
	case err != nil:
		return fmt.Errorf("%q is not a duration such as 60s, 15m or 1h30m", s)
	case v < 0:
		return fmt.Errorf("%s is negative", s)
	}
	*d = Duration(v)
	return nil
}

// std is d as the packages below take it: negative means never.
func (d Duration) std() time.Duration { return time.Duration(d) }

// orOff is d as httpapi takes timeouts, where 0 means the default.
func (d Duration) orOff() time.Duration {
	if d == 0 {
		return -1
	}
	return time.Duration(d)
}

func (d Duration) String() string {
	switch {
	case d == Never:
		return "never"
	case d == 0:
		return "0"
	}
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }

// A Size is a number of bytes, written as 16MiB, 2GB or 1024.
type Size int64

func (b *Size) parse(s string) error {
	n, err := humanize.ParseBytes(s)
	if err != nil || n > 1<<62 {
		return fmt.Errorf("%q is not a size such as 16MiB or 2GiB", s)
	}
	*b = Size(n)
	return nil
}

// String is exact: parse gives the same number back.
func (b Size) String() string {
	units := []string{"", "KiB", "MiB", "GiB", "TiB", "PiB"}
	n, i := int64(b), 0
	for n != 0 && n%1024 == 0 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	return strconv.FormatInt(n, 10) + units[i]
}

func (b Size) MarshalYAML() (any, error) { return b.String(), nil }
