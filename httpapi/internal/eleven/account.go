package eleven

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/server"
)

// plan is a subscription with every field that ElevenLabs' clients need. There are no
// subscriptions here: it has no limit and no charges.
const plan = `"tier":"self-hosted","character_count":0,"character_limit":1099511627776,` +
	`"max_credit_limit_extension":"unlimited","can_extend_character_limit":false,"allowed_to_extend_character_limit":false,` +
	`"voice_slots_used":0,"professional_voice_slots_used":0,"professional_voice_slots_used_in_workspace":0,` +
	`"voice_limit":0,"voice_add_edit_counter":0,"professional_voice_limit":0,"can_extend_voice_limit":false,` +
	`"can_use_instant_voice_cloning":false,"can_use_professional_voice_cloning":false,` +
	`"current_overage":{"amount":"0","currency":"usd"},"status":"active"`

// vendorUser answers GET /v1/user, by which front ends test a key.
func (a api) vendorUser(c *server.Call) error {
	return a.Write(c, 200, "application/json", fmt.Appendf(nil, `{"user_id":"local","workspace_id":"local","subscription":{%s},`+
		`"is_new_user":false,"xi_api_key":null,"can_use_delayed_payment_methods":false,"is_onboarding_completed":true,`+
		`"is_onboarding_checklist_completed":true,"created_at":%d,"seat_type":"workspace_member"}`+"\n", plan, a.Started.Unix()))
}

// vendorSubscription answers GET /v1/user/subscription.
func (a api) vendorSubscription(c *server.Call) error {
	return a.Write(c, 200, "application/json", fmt.Appendf(nil, `{%s,"open_invoices":[],"has_open_invoices":false}`+"\n", plan))
}

// A vendorModel is a model in ElevenLabs' form.
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
	var languages []vendorLanguage
	for _, v := range a.Options.Engine.Voices() {
		id, _, _ := strings.Cut(v.Language, "-")
		if _, ok := engine.LanguageOf(v.Language); ok && v.Model == m.ID && !slices.ContainsFunc(languages, func(l vendorLanguage) bool { return l.ID == id }) {
			languages = append(languages, vendorLanguage{id, engine.SpokenName(id)})
		}
	}
	return vendorModel{ModelID: m.ID, Name: m.ID, Speech: true, Characters: a.Options.SpeechChars, Languages: languages}
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
