package isa

import "testing"

func TestSet(t *testing.T) {
	was := InForce()
	for l := Generic; l <= Host(); l++ {
		undo := Set(l)
		if got := InForce(); got != l {
			t.Errorf("after Set(%s) the level is %s", l, got)
		}
		undo()
	}
	if got := InForce(); got != was {
		t.Errorf("after undoing, the level is %s, want %s", got, was)
	}
	defer func() {
		if recover() == nil {
			t.Errorf("Set above the host's level did not panic")
		}
	}()
	Set(Host() + 1)
}

func TestEnv(t *testing.T) {
	was := InForce()
	defer current.Store(int32(was))
	for _, tt := range []struct {
		env  string
		want Level
		bad  bool
	}{
		{"", Host(), false},
		{"generic", Generic, false},
		{"GENERIC", Generic, false},
		{"amx", Host(), Host() < AMX},
		{"z80", Host(), true},
	} {
		t.Setenv("QUERN_CPU", tt.env)
		err := fromEnv()
		if (err != nil) != tt.bad || InForce() != tt.want {
			t.Errorf("QUERN_CPU=%q: level %s, error %v; want %s, error %v", tt.env, InForce(), err, tt.want, tt.bad)
		}
	}
}
