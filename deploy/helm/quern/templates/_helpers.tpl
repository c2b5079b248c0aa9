{{/* What the objects are called. */}}
{{- define "quern.name" -}}
{{- if contains "quern" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-quern" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* What selects the pods; it never changes. */}}
{{- define "quern.selector" -}}
app.kubernetes.io/name: quern
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "quern.labels" -}}
{{ include "quern.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* quern.yaml: what follows from the values, under config. */}}
{{- define "quern.config" -}}
{{- $c := dict "listen" "0.0.0.0:8080" "log" (dict "format" "json") "model_dirs" (list "/models")
    "operations" (dict "listen" "0.0.0.0:9090") "jobs" (dict "store" .Values.jobs.store)
    "shutdown_delay" (printf "%ds" (int .Values.shutdown.delay)) "shutdown_grace" (printf "%ds" (int .Values.shutdown.grace)) }}
{{- if .Values.auth.none }}
{{- $_ := set $c "auth" "none" }}
{{- else }}
{{- $keys := list }}
{{- range .Values.auth.keys }}
{{- $keys = append $keys (merge (dict "key_file" (printf "/etc/quern/keys/%s" .name)) .) }}
{{- end }}
{{- $_ := set $c "auth" $keys }}
{{- end }}
{{- if .Values.tls.secret }}
{{- $_ := set $c "tls" (dict "cert" "/etc/quern/tls/tls.crt" "key" "/etc/quern/tls/tls.key") }}
{{- if .Values.tls.clients }}
{{- $_ := set $c.tls "client_ca" "/etc/quern/tls/ca.crt" }}
{{- end }}
{{- end }}
{{- if .Values.models }}
{{- $_ := set $c "models" .Values.models }}
{{- end }}
{{- if .Values.gateway.enabled }}
{{- /* The picker's scrape carries no key. */}}
{{- $_ := set $c "metrics" (dict "public" true) }}
{{- end }}
{{- toYaml (mergeOverwrite $c (deepCopy .Values.config)) }}
{{- end }}
