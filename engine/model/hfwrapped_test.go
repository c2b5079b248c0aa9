package model_test

import (
	"fmt"
	"strings"
	"testing"

	"quern/engine/model"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// A text model within one that sees or hears is run as if it stood alone: whatever the
// wrapper is called, where it keeps the text's configuration and what its tensors' names
// begin with.
func TestWrapped(t *testing.T) {
	plain := openHF(t, "testdata/made/deepseek-v2-lite/hf", "")
	g := readGolden(t, "testdata/made/deepseek-v2-lite/golden.json")
	for _, tt := range []struct {
		kind, config, before, head string
		sense                      string
	}{
		{"mistral3", "text_config", "model.language_model.", "lm_head", "model.vision_tower.patch_conv.weight"},
		{"mistral3", "text_config", "language_model.model.", "language_model.lm_head", "multi_modal_projector.linear_1.weight"},
		{"kimi_vl", "text_config", "language_model.model.", "language_model.lm_head", "vision_tower.encoder.blocks.0.wqkv.weight"},
		{"kimi_k25", "text_config", "language_model.model.", "language_model.lm_head", "mm_projector.proj.0.weight"},
		{"lfm2_vl", "text_config", "model.language_model.", "lm_head", "model.multi_modal_projector.linear_1.weight"},
		{"internvl", "text_config", "model.language_model.", "lm_head", "model.vision_tower.encoder.layer.0.norm1.weight"},
		{"internvl_chat", "llm_config", "language_model.model.", "language_model.lm_head", "mlp1.1.weight"},
		{"NemotronH_Nano_VL_V2", "llm_config", "language_model.backbone.", "language_model.lm_head", "vision_model.radio_model.summary_idxs"},
		{"llava", "text_config", "language_model.model.", "language_model.lm_head", "image_newline"},
		{"smolvlm", "text_config", "model.text_model.", "lm_head", "model.connector.modality_projection.proj.weight"},
		{"idefics3", "text_config", "model.text_model.", "lm_head", "model.vision_model.embeddings.patch_embedding.weight"},
		{"voxtral", "text_config", "language_model.model.", "language_model.lm_head", "audio_tower.conv1.weight"},
		{"qwen2_5_omni", "text_config", "thinker.model.", "thinker.lm_head", "talker.model.layers.0.self_attn.q_proj.weight"},
		{"cohere2_vision", "text_config", "model.language_model.", "lm_head", "model.vision_tower.vision_model.head.probe"},
	} {
		t.Run(tt.kind+" "+tt.before, func(t *testing.T) {
			set := &weights.Set{Source: weights.SafeTensors}
			config := fmt.Sprintf(`%q:%s`, tt.config, plain.Meta.String("hf.config"))
			if strings.Contains(tt.before, "thinker") {
				config = `"thinker_config":{` + config + "}"
			}
			set.Meta.Set("hf.config", fmt.Sprintf(`{"model_type":%q,%s}`, tt.kind, config))
			names := strings.NewReplacer("lm_head", tt.head, "model.", tt.before)
			for w := range plain.All() {
				if err := set.Add(&weights.Tensor{Name: names.Replace(w.Name), Type: w.Type, Shape: w.Shape, Data: w.Data}); err != nil {
					t.Fatal(err)
				}
			}
			if err := set.Add(&weights.Tensor{Name: tt.sense, Type: quant.F32, Shape: []int{1}, Data: make([]byte, 4)}); err != nil {
				t.Fatal(err)
			}
			if senses, drafts := model.Skipped(set); senses != 1 || drafts != 0 {
				t.Errorf("%d tensors of senses and %d that draft are skipped, want 1 and none", senses, drafts)
			}
			compareRows(t, newRunner(t, set, quant.F32), g.Prompt, g.logits(t), 1e-5)
		})
	}
}

// Skipped counts what is not read of every kind of file.
func TestSkipped(t *testing.T) {
	for _, tt := range []struct {
		set            *weights.Set
		senses, drafts int
	}{
		{openHF(t, "testdata/made/mistral4/hf", ""), 2, 0},
		{openHF(t, "testdata/made/qwen35moe/hf", ""), 1, 19},
		{openHF(t, "testdata/made/glm-4.7-flash/hf", ""), 0, 30},
		{openHF(t, "testdata/made/ernie4_5-moe/hf", ""), 0, 3},
		{open(t, "testdata/made/glm-4.7-flash/model.gguf"), 0, 22},
	} {
		if senses, drafts := model.Skipped(tt.set); senses != tt.senses || drafts != tt.drafts {
			t.Errorf("%s: %d and %d, want %d and %d", tt.set.Meta.String("general.architecture"), senses, drafts, tt.senses, tt.drafts)
		}
	}
	gguf := open(t, "testdata/made/glm4/model.gguf")
	for _, name := range []string{"v.blk.0.attn_q.weight", "a.conv1d.1.weight", "mm.0.weight", "blk.1.nextn.eh_proj.weight"} {
		if err := gguf.Add(&weights.Tensor{Name: name, Type: quant.F32, Shape: []int{1}, Data: make([]byte, 4)}); err != nil {
			t.Fatal(err)
		}
	}
	gguf.Meta.Set("glm4.nextn_predict_layers", int64(1)) // of two layers
	if senses, drafts := model.Skipped(gguf); senses != 3 || drafts != 11 {
		t.Errorf("GGUF: %d and %d, want 3 and 11", senses, drafts)
	}
}
