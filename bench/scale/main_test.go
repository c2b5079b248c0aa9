package main

import (
	"testing"

	"quern/bench/fixtures"
)

// Every probe does its work on a small input.
func TestProbes(t *testing.T) {
	dir := fixtures.Path(t)
	for _, area := range areas {
		list, err := area(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			t.Error("an area without probes")
		}
		for _, p := range list {
			work, err := p.make(16)
			if err == nil {
				err = work()
			}
			if err != nil {
				t.Errorf("%s, %s, %s: %v", p.area, p.name, p.variant, err)
			}
		}
	}
}
