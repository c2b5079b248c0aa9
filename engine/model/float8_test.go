package model_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"quern/engine/model"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// e4m3Value is a number of eight bits from the type's definition: a sign, four
// bits of exponent, three of mantissa.
func e4m3Value(b byte) float64 {
	e, m := int(b>>3&15), float64(b&7)
	v := math.Pow(2, -6) * m / 8
	if e > 0 {
		v = math.Pow(2, float64(e-7)) * (1 + m/8)
	}
	if b > 127 {
		v = -v
	}
	return v
}

// numbers is a tensor of F32.
func numbers(name string, x []float32, shape ...int) *weights.Tensor {
	t := &weights.Tensor{Name: name, Type: quant.F32, Shape: shape, Data: make([]byte, 4*len(x))}
	quant.F32.Layout().Encode(t.Data, x)
	return t
}

const tinyLlama = `"model_type":"llama","hidden_size":4,"num_hidden_layers":1,"num_attention_heads":1,"max_position_embeddings":8,"rms_norm_eps":1e-5,"intermediate_size":300,"vocab_size":4`

// TestFloat8 holds weights of eight bits, with scales of every kind, against
// their definition.
func TestFloat8(t *testing.T) {
	const rows, cols = 300, 4
	const name = "model.layers.0.mlp.up_proj.weight"
	all := func(q string) string { return `{` + tinyLlama + `,"quantization_config":` + q + `}` }
	ramp := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i+1) / 4 // exact, and so are its products
		}
		return x
	}
	for _, tt := range []struct {
		name, config string
		dtype        string
		scales       func(set *weights.Set) error
		want         func(row, col int) float64
	}{
		{"fp8 blocks", all(`{"quant_method":"fp8","weight_block_size":[128,128],"activation_scheme":"dynamic"}`), "F8_E4M3",
			func(s *weights.Set) error { return s.Add(numbers(name+"_scale_inv", ramp(3), 3, 1)) },
			func(r, _ int) float64 { return float64(r/128+1) / 4 }},
		{"fp8 smaller blocks", all(`{"quant_method":"fp8","weight_block_size":[100,2]}`), "F8_E4M3",
			func(s *weights.Set) error { return s.Add(numbers(name+"_scale_inv", ramp(6), 3, 2)) },
			func(r, c int) float64 { return float64(r/100*2+c/2+1) / 4 }},
		{"fp8 one scale", all(`{"quant_method":"fp8","activation_scheme":"static"}`), "F8_E4M3",
			func(s *weights.Set) error {
				return errors.Join(s.Add(numbers(name+"_scale", []float32{0.5})), s.Add(numbers(strings.TrimSuffix(name, "weight")+"input_scale", []float32{9})))
			},
			func(int, int) float64 { return 0.5 }},
		{"compressed-tensors by channel", all(`{"quant_method":"compressed-tensors","format":"float-quantized","config_groups":{"group_0":{"weights":{"type":"float","num_bits":8,"strategy":"channel"}}}}`), "F8_E4M3",
			func(s *weights.Set) error { return s.Add(numbers(name+"_scale", ramp(rows), rows, 1)) },
			func(r, _ int) float64 { return float64(r+1) / 4 }},
		{"fbgemm", all(`{"quant_method":"fbgemm_fp8"}`), "F8_E4M3",
			func(s *weights.Set) error { return s.Add(numbers(name+"_scale", ramp(rows), rows)) },
			func(r, _ int) float64 { return float64(r+1) / 4 }},
		{"powers of two", all(`{"quant_method":"fp8","weight_block_size":[128,128]}`), "F8_E4M3",
			func(s *weights.Set) error {
				s.AddRaw(&weights.Raw{Name: name + "_scale_inv", DType: "F8_E8M0", Shape: []int{3, 1}, Data: []byte{127, 128, 120}})
				return nil
			},
			func(r, _ int) float64 { return []float64{1, 2, 1.0 / 128}[r/128] }},
		{"E5M2 without scales", `{` + tinyLlama + `}`, "F8_E5M2", func(*weights.Set) error { return nil }, func(int, int) float64 { return 1 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := &weights.Set{Source: weights.SafeTensors}
			set.Meta.Set("hf.config", tt.config)
			raw := &weights.Raw{Name: name, DType: tt.dtype, Shape: []int{rows, cols}, Data: make([]byte, rows*cols)}
			for i := range raw.Data {
				raw.Data[i] = byte(i*37 + i/256)
				if raw.Data[i]&127 >= 124 { // NaN of one type, infinities and NaN of the other
					raw.Data[i] = 1
				}
			}
			set.AddRaw(raw)
			if err := tt.scales(set); err != nil {
				t.Fatal(err)
			}
			got, err := model.Translate(set)
			if err != nil {
				t.Fatal(err)
			}
			w, ok := got.Tensor("blk.0.ffn_up.weight")
			if !ok || got.Len() != 1 || w.Data != nil || w.Size() != 2*rows*cols {
				t.Fatalf("%d tensors, %+v; want one without data before Fill", got.Len(), w)
			}
			if err := set.Fill(); err != nil {
				t.Fatal(err)
			}
			for i, x := range decode(w) {
				v := e4m3Value(raw.Data[i])
				if tt.dtype == "F8_E5M2" { // the upper half of an F16
					v = float64(quant.F16ToF32(uint16(raw.Data[i]) << 8))
				}
				if want := quant.BF16ToF32(quant.F32ToBF16(float32(v * tt.want(i/cols, i%cols)))); x != want {
					t.Fatalf("number %d is %g, want %g", i, x, want)
				}
			}
		})
	}
}

// TestQuantisedElsewhere refuses what is no plain number, by name, and scales
// that do not fit.
func TestQuantisedElsewhere(t *testing.T) {
	const name = "model.layers.0.mlp.up_proj.weight"
	for _, tt := range []struct {
		name, config string
		scale        *weights.Tensor
		is           error
		want         string
	}{
		{"gptq", `{"quant_method":"gptq","bits":4}`, nil, model.ErrUnsupported, `"gptq"`},
		{"awq", `{"quant_method":"awq"}`, nil, model.ErrUnsupported, `"awq"`},
		{"bitsandbytes", `{"quant_method":"bitsandbytes","load_in_4bit":true}`, nil, model.ErrUnsupported, `"bitsandbytes"`},
		{"four bits", `{"quant_method":"compressed-tensors","format":"nvfp4-pack-quantized","config_groups":{"g":{"weights":{"type":"float","num_bits":4}}}}`, nil, model.ErrUnsupported, `"compressed-tensors nvfp4-pack-quantized"`},
		{"modelopt", `{"quant_method":"modelopt","quant_algo":"NVFP4"}`, nil, model.ErrUnsupported, `"modelopt NVFP4"`},
		{"no scale", `{"quant_method":"fp8"}`, nil, model.ErrFormat, "has no " + name + "_scale"},
		{"too few blocks", `{"quant_method":"fp8"}`, numbers(name+"_scale_inv", make([]float32, 2), 2, 1), model.ErrFormat, "scales"},
		{"not finite", `{"quant_method":"fp8"}`, numbers(name+"_scale_inv", []float32{float32(math.Inf(1))}), model.ErrFormat, "+Inf"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := &weights.Set{Source: weights.SafeTensors}
			set.Meta.Set("hf.config", `{`+tinyLlama+`,"quantization_config":`+tt.config+`}`)
			set.AddRaw(&weights.Raw{Name: name, DType: "F8_E4M3", Shape: []int{300, 4}, Data: make([]byte, 1200)})
			if tt.scale != nil {
				if err := set.Add(tt.scale); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := model.Translate(set); !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Translate: %v; want %v and %q", err, tt.is, tt.want)
			}
		})
	}
}

// TestGoldenGPTOSS turns the GGUF files of gpt-oss into what Hugging Face
// publishes, experts of four bits or sixteen with gate and up alternating, and
// expects the outputs computed from the definition.
func TestGoldenGPTOSS(t *testing.T) {
	for name, limit := range map[string]float64{"gpt-oss": 1e-5, "gpt-oss-MXFP4": 0.15} { // activations of 8 bits
		t.Run(name, func(t *testing.T) {
			g := readGolden(t, "testdata/"+name+".golden.json")
			compareLogits(t, asGPTOSS(t, open(t, "testdata/"+name+".gguf")), g, limit)
		})
	}
}

func asGPTOSS(t *testing.T, from *weights.Set) *weights.Set {
	set := &weights.Set{Source: weights.SafeTensors}
	number := func(key string) any {
		v, ok := from.Meta.Lookup("gpt-oss." + key)
		if !ok {
			t.Fatalf("no %s", key)
		}
		return v
	}
	set.Meta.Set("hf.config", fmt.Sprintf(`{"model_type":"gpt_oss","hidden_size":%v,"intermediate_size":%v,"num_hidden_layers":%v,"num_attention_heads":%v,"num_key_value_heads":%v,
		"head_dim":%v,"num_local_experts":%v,"num_experts_per_tok":%v,"sliding_window":%v,"max_position_embeddings":%v,"rms_norm_eps":%v,"rope_theta":%v,"swiglu_limit":7.0,
		"layer_types":["sliding_attention","full_attention"],"quantization_config":{"quant_method":"mxfp4"},
		"rope_scaling":{"rope_type":"yarn","factor":%v,"beta_fast":%v,"beta_slow":%v,"original_max_position_embeddings":%v,"truncate":true}}`,
		number("embedding_length"), number("feed_forward_length"), number("block_count"), number("attention.head_count"), number("attention.head_count_kv"),
		number("attention.key_length"), number("expert_count"), number("expert_used_count"), number("attention.sliding_window"), number("context_length"),
		number("attention.layer_norm_rms_epsilon"), number("rope.freq_base"),
		number("rope.scaling.factor"), 32, 1, number("rope.scaling.original_context_length")))
	names := strings.NewReplacer("blk.", "model.layers.", "attn_norm", "input_layernorm", "post_attention_norm", "post_attention_layernorm",
		"attn_sinks.weight", "self_attn.sinks", "attn_output", "self_attn.o_proj", "attn_q", "self_attn.q_proj", "attn_k", "self_attn.k_proj", "attn_v", "self_attn.v_proj",
		"ffn_gate_inp", "mlp.router", "token_embd", "model.embed_tokens", "output_norm", "model.norm", "output.", "lm_head.")
	add := func(name string, w *weights.Tensor, shape []int, data []byte) {
		name, weight := strings.CutSuffix(name, ".weight")
		if bias, ok := strings.CutSuffix(name, ".bias"); ok {
			name = bias + "_bias"
		}
		switch {
		case weight && w.Type == quant.MXFP4:
			blocks := &weights.Raw{Name: name + "_blocks", DType: "U8", Shape: []int{shape[0], shape[1], shape[2] / 32, 16}}
			scales := &weights.Raw{Name: name + "_scales", DType: "U8", Shape: blocks.Shape[:3]}
			for ; len(data) > 0; data = data[17:] {
				scales.Data = append(scales.Data, data[0])
				for i := 0; i < 32; i += 2 { // two neighbours a byte
					nibble := func(i int) byte { return data[1+i%16] >> (i / 16 * 4) & 15 }
					blocks.Data = append(blocks.Data, nibble(i)|nibble(i+1)<<4)
				}
			}
			set.AddRaw(scales)
			set.AddRaw(blocks)
			return
		case weight: // (experts, in, out)
			e, out, in, size := shape[0], shape[1], shape[2], len(data)/(shape[0]*shape[1]*shape[2])
			turned := make([]byte, 0, len(data))
			for x := range e {
				for i := range in {
					for o := range out {
						at := ((x*out+o)*in + i) * size
						turned = append(turned, data[at:at+size]...)
					}
				}
			}
			data, shape = turned, []int{e, in, out}
		}
		if err := set.Add(&weights.Tensor{Name: name, Type: w.Type, Shape: shape, Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	for w := range from.All() {
		switch {
		case strings.Contains(w.Name, "ffn_up_exps"):
		case strings.Contains(w.Name, "ffn_down_exps"):
			add(names.Replace(strings.Replace(w.Name, "ffn_down_exps", "mlp.experts.down_proj", 1)), w, w.Shape, w.Data)
		case strings.Contains(w.Name, "ffn_gate_exps"):
			up, ok := from.Tensor(strings.Replace(w.Name, "gate_exps", "up_exps", 1))
			if !ok {
				t.Fatalf("no twin of %s", w.Name)
			}
			shape := append([]int{w.Shape[0], 2 * w.Shape[1]}, w.Shape[2:]...)
			row := len(w.Data) / (w.Shape[0] * w.Shape[1])
			var both []byte
			for at := 0; at < len(w.Data); at += row {
				both = append(append(both, w.Data[at:at+row]...), up.Data[at:at+row]...)
			}
			add(names.Replace(strings.Replace(w.Name, "ffn_gate_exps", "mlp.experts.gate_up_proj", 1)), w, shape, both)
		default:
			if err := set.Add(&weights.Tensor{Name: names.Replace(w.Name), Type: w.Type, Shape: w.Shape, Data: w.Data}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return set
}

// TestYarnExact: gpt-oss does not round the bounds of its interpolation, which
// GGUF has no key for.
func TestYarnExact(t *testing.T) {
	freqs := func(truncate bool) []byte {
		set := asGPTOSS(t, open(t, "testdata/gpt-oss.gguf"))
		text := set.Meta.String("hf.config")
		set.Meta.Set("hf.config", strings.Replace(text, `"truncate":true`, fmt.Sprintf(`"truncate":%v`, truncate), 1))
		r := newRunner(t, set, quant.F32)
		var out []byte
		for _, row := range r.feed([]int32{1, 2, 3, 4, 5, 6, 7, 8}, 7) {
			for _, x := range row {
				out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
			}
		}
		return out
	}
	if string(freqs(true)) == string(freqs(false)) {
		t.Error("rounded and exact bounds give the same logits")
	}
}
