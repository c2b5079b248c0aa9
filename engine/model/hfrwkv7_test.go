package model_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/model"
)

// What RWKV-7's files may say that quern does not compute, or that contradicts itself.
func TestRWKV7Refused(t *testing.T) {
	at := fixtures.Path(t, "families", "rwkv7", "hf")
	text, err := os.ReadFile(filepath.Join(at, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		from, to, want string
		err            error
	}{
		{`"head_dim": 64`, `"head_dim": 24`, "head_dim is 24 for a hidden_size of 64", model.ErrFormat},
		{`"head_dim": 64`, `"head_dim": 64, "num_heads": 2`, "num_heads of 2", model.ErrUnsupported},
		{`"head_dim": 64`, `"head_dim": 64, "value_dim": [64, 128]`, "value_dim of 128", model.ErrUnsupported},
		{`"head_dim": 64`, `"head_dim": 64, "attn": {"layers": [1]}`, "attn of map[layers:[1]]", model.ErrUnsupported},
		{`"norm_first": true`, `"norm_first": false`, "norm_first of false", model.ErrUnsupported},
		{`sqrelu`, `silu`, "hidden_act of silu", model.ErrUnsupported},
		{`"v_low_rank_dim": 8`, `"v_low_rank_dim": 16`, "time_mix_v1.weight has shape [8 64], want [16 64]", model.ErrFormat},
		{`"decay_low_rank_dim": 8`, `"decay_low_rank_dim": null`, "time_mix_w1.weight has shape [8 64], want [32 64]", model.ErrFormat},
		{`"norm_eps": 1e-05`, `"norm_eps": -1`, "is -1, want more than 0", model.ErrFormat},
	} {
		config := strings.Replace(string(text), tt.from, tt.to, 1)
		if config == string(text) {
			t.Fatalf("%s is not there", tt.from)
		}
		set := openHF(t, at, "")
		set.Meta.Set("hf.config", config)
		if _, err := model.Open(set); !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %v about %q", tt.to, err, tt.err, tt.want)
		}
	}
}
