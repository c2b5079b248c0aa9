package eleven

import (
	"net/http"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/server"
)

// A vendorPlan is a subscription with every field ElevenLabs' clients insist on. There
// is none here, so nothing runs out and nothing is owed.
type vendorPlan struct {
	Tier             string `json:"tier"`
	Characters       int    `json:"character_count"`
	CharacterLimit   int64  `json:"character_limit"`
	CreditExtension  string `json:"max_credit_limit_extension"`
	CanExtend        bool   `json:"can_extend_character_limit"`
	MayExtend        bool   `json:"allowed_to_extend_character_limit"`
	Slots            int    `json:"voice_slots_used"`
	ProSlots         int    `json:"professional_voice_slots_used"`
	ProSlotsShared   int    `json:"professional_voice_slots_used_in_workspace"`
	VoiceLimit       int    `json:"voice_limit"`
	Edits            int    `json:"voice_add_edit_counter"`
	ProLimit         int    `json:"professional_voice_limit"`
	CanExtendVoices  bool   `json:"can_extend_voice_limit"`
	CanClone         bool   `json:"can_use_instant_voice_cloning"`
	CanCloneProperly bool   `json:"can_use_professional_voice_cloning"`
	Overage          price  `json:"current_overage"`
	Status           string `json:"status"`
}

type price struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

var plan = vendorPlan{
	Tier: "self-hosted", CharacterLimit: 1 << 40, CreditExtension: "unlimited",
	Overage: price{"0", "usd"}, Status: "active",
}

// vendorUser answers GET /v1/user, by which front ends test a key.
func (a api) vendorUser(c *server.Call) error {
	return a.WriteJSON(c, 200, struct {
		ID          string     `json:"user_id"`
		Workspace   string     `json:"workspace_id"`
		Plan        vendorPlan `json:"subscription"`
		New         bool       `json:"is_new_user"`
		Key         *string    `json:"xi_api_key"`
		DelayedPay  bool       `json:"can_use_delayed_payment_methods"`
		Onboarded   bool       `json:"is_onboarding_completed"`
		Checklisted bool       `json:"is_onboarding_checklist_completed"`
		Created     int64      `json:"created_at"`
		Seat        string     `json:"seat_type"`
	}{"local", "local", plan, false, nil, false, true, true, a.Started.Unix(), "workspace_member"})
}

// vendorSubscription answers GET /v1/user/subscription.
func (a api) vendorSubscription(c *server.Call) error {
	return a.WriteJSON(c, 200, struct {
		vendorPlan
		Invoices    []struct{} `json:"open_invoices"`
		HasInvoices bool       `json:"has_open_invoices"`
	}{plan, []struct{}{}, false})
}

// A vendorModel is a model as ElevenLabs' clients expect it.
type vendorModel struct {
	ModelID    string           `json:"model_id"`
	Name       string           `json:"name"`
	Speech     bool             `json:"can_do_text_to_speech"`
	Conversion bool             `json:"can_do_voice_conversion"`
	Tuned      bool             `json:"can_be_finetuned"`
	Style      bool             `json:"can_use_style"`
	Boost      bool             `json:"can_use_speaker_boost"`
	Characters int              `json:"maximum_text_length_per_request"`
	Languages  []vendorLanguage `json:"languages"`
}

type vendorLanguage struct {
	ID   string `json:"language_id"`
	Name string `json:"name"`
}

func (a api) newVendorModel(m engine.ModelInfo) vendorModel {
	return vendorModel{ModelID: m.ID, Name: m.ID, Speech: true, Characters: a.Options.SpeechChars, Languages: []vendorLanguage{{"en", "English"}}}
}

func (a api) listModels(c *server.Call) error {
	out := []vendorModel{}
	for _, m := range a.Options.Engine.Models() {
		if m.Kind == engine.KindSpeech {
			out = append(out, a.newVendorModel(m))
		}
	}
	return a.WriteJSON(c, 200, out)
}

// IsClient reports whether a request comes from a client of ElevenLabs.
func IsClient(r *http.Request) bool {
	if r.Header.Get("Authorization") != "" {
		return false
	}
	return r.Header.Get("xi-api-key") != "" ||
		strings.Contains(strings.ToLower(r.UserAgent()), "elevenlabs") ||
		strings.Contains(strings.ToLower(r.Header.Get("X-Fern-SDK-Name")), "elevenlabs")
}
