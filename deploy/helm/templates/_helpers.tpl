{{- define "bookgen.name" -}}
{{ .Release.Name }}
{{- end }}

{{- /* The labels by which selectors find the pods of a role. Call it with (dict "root" $ "role" "web"). */ -}}
{{- define "bookgen.selector" -}}
app.kubernetes.io/name: bookgen
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "bookgen.labels" -}}
{{ include "bookgen.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- /* A container of a role. Call it with (dict "root" $ "role" "web" "drain" 25 "resources" …). */ -}}
{{- define "bookgen.pod" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
automountServiceAccountToken: false
enableServiceLinks: false # a Service called bookgen would set BOOKGEN_PORT and names that are no settings
terminationGracePeriodSeconds: {{ add .drain 20 }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "bookgen.selector" . | nindent 8 }}
containers:
  - name: bookgen
    image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
    ports:
      - name: http
        containerPort: 8000
    envFrom:
      - secretRef:
          name: {{ .root.Values.secretName }}
    env:
      - name: BOOKGEN_ROLE
        value: {{ .role }}
      - name: BOOKGEN_PORT
        value: "8000"
      - name: BOOKGEN_PUBLIC_URL
        value: {{ .root.Values.publicUrl }}
      - name: BOOKGEN_TRUSTED_PROXIES
        value: {{ .root.Values.trustedProxies }}
      - name: BOOKGEN_DRAIN_SECONDS
        value: {{ .drain | quote }}
      {{- if .root.Values.postgres.enabled }}
      - name: BOOKGEN_DATABASE_URL
        valueFrom:
          secretKeyRef:
            name: {{ include "bookgen.name" .root }}-postgres-app
            key: uri
      {{- end }}
      {{- range $name, $value := .root.Values.settings }}
      - name: {{ $name }}
        value: {{ $value | quote }}
      {{- end }}
    startupProbe: # migrations of a large database take their time
      httpGet: {path: /healthz, port: http}
      periodSeconds: 5
      failureThreshold: 120
    livenessProbe:
      httpGet: {path: /healthz, port: http}
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    readinessProbe:
      httpGet: {path: /readyz, port: http}
      periodSeconds: 5
      timeoutSeconds: 5
    resources:
      {{- toYaml .resources | nindent 6 }}
    volumeMounts:
      - {name: data, mountPath: /var/lib/bookgen}
      - {name: tmp, mountPath: /tmp}
volumes:
  - {name: data, emptyDir: {}}
  - {name: tmp, emptyDir: {}}
{{- end }}
