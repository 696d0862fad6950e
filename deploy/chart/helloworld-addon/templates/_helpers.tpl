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

{{/* The Secret with the certificate of the controller of ConfigMapReplicaSets. */}}
{{- define "helloworld.distributionCertSecret" -}}
{{ .Values.distribution.serving.certSecret | default .Values.serving.certSecret }}
{{- end -}}

{{/* The Service and the ServiceMonitor of a controller: name, certSecret, annotations of the Service, honorLabels. */}}
{{- define "helloworld.monitored" }}
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}-metrics
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ .name }}
    app.kubernetes.io/part-of: helloworld-addon
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  clusterIP: None
  selector:
    app.kubernetes.io/name: {{ .name }}
  ports:
  - name: https
    port: 8443
    targetPort: https
    protocol: TCP
---
# Prometheus' ServiceAccount needs the verb get on the nonResourceURL /metrics.
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/part-of: helloworld-addon
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
  endpoints:
  - port: https
    {{- if .honorLabels }}
    honorLabels: true
    {{- end }}
    path: /metrics
    scheme: https
    bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
    tlsConfig:
      serverName: {{ .name }}-metrics.{{ .root.Release.Namespace }}.svc
      ca:
        {{- with .root.Values.serviceMonitor.caConfigMap }}
        {{- if .name }}
        configMap:
          name: {{ .name | quote }}
          key: {{ .key | quote }}
        {{- else }}
        secret:
          name: {{ $.certSecret | quote }}
          key: ca.crt
        {{- end }}
        {{- end }}
{{- end }}
