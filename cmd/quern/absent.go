package main

import (
	"fmt"
	"strings"

	"quern/cmd/quern/internal/settings"
)

// tellAbsent names the configured models that are not on this machine: the first
// request for one waits until it is fetched.
func (a *app) tellAbsent(s *settings.Loaded) {
	var names []string
	for _, m := range s.Models {
		if m.Fetch != nil {
			names = append(names, plain(m.Name))
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(a.out, "Not on this machine yet, fetched when first asked for: %s\n", strings.Join(names, ", "))
	}
}
