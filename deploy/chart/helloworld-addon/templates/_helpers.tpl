{{/* The controller's image. */}}
{{- define "helloworld.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "helloworld.selector" -}}
app.kubernetes.io/name: helloworld-controller
{{- end -}}

{{- define "helloworld.labels" -}}
app.kubernetes.io/name: helloworld-controller
app.kubernetes.io/part-of: helloworld-addon
{{- end -}}

{{- define "helloworld.distributionSelector" -}}
app.kubernetes.io/name: helloworld-replicaset-controller
{{- end -}}

{{- define "helloworld.distributionLabels" -}}
app.kubernetes.io/name: helloworld-replicaset-controller
app.kubernetes.io/part-of: helloworld-addon
{{- end -}}
