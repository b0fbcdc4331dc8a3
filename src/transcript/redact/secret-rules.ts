/*
 * How secrets of known services look, as data. Derived from the rules of gitleaks (config/gitleaks.toml, commit b58d3f10),
 * which is Copyright (c) 2019 Zachary Rice and used under the MIT License:
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
 * documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
 * rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
 * persons to whom the Software is furnished to do so, subject to the following conditions: The above copyright notice and
 * this permission notice shall be included in all copies or substantial portions of the Software. THE SOFTWARE IS PROVIDED
 * "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
 * MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT
 * HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING
 * FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 *
 * Changed: translated from RE2, every repetition has a bound, a match need not end at a quote or a space, and rules that
 * redact.ts covers or that mark what is no secret are left out. The rules of the second list are our own.
 */

export interface SecretRule {
  readonly id: string;
  /** In lower case. A text without one of them has no such secret; a match begins with it. */
  readonly keywords: readonly string[];
  readonly pattern: string;
  /** In bits per character; a value below that is a placeholder or a word. */
  readonly entropy?: number;
}

const { raw: r } = String;

const GITLEAKS_RULES: readonly SecretRule[] = [
  {
    id: '1password-secret-key',
    keywords: ['a3-'],
    pattern: r`A3-[A-Z0-9]{6}-(?:(?:[A-Z0-9]{11})|(?:[A-Z0-9]{6}-[A-Z0-9]{5}))-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}`,
    entropy: 3.8,
  },
  {
    id: '1password-service-account-token',
    keywords: ['ops_'],
    pattern: r`ops_eyJ[a-zA-Z0-9+/]{250,2000}={0,3}`,
    entropy: 4,
  },
  { id: 'adobe-client-secret', keywords: ['p8e-'], pattern: r`p8e-(?i:[a-z0-9]{32})`, entropy: 2 },
  {
    id: 'age-secret-key',
    keywords: ['age-secret-key-1'],
    pattern: r`AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}`,
  },
  { id: 'alibaba-access-key-id', keywords: ['ltai'], pattern: r`LTAI(?i:[a-z0-9]{20})`, entropy: 2 },
  { id: 'artifactory-api-key', keywords: ['akcp'], pattern: r`AKCp[A-Za-z0-9]{69}`, entropy: 4.5 },
  { id: 'artifactory-reference-token', keywords: ['cmvmd'], pattern: r`cmVmd[A-Za-z0-9]{59}`, entropy: 4.5 },
  {
    id: 'authress-service-client-access-key',
    keywords: ['sc_', 'ext_', 'scauth_', 'authress_'],
    pattern: r`(?:sc|ext|scauth|authress)_(?i:[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.(?-i:acc)[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{30,120})`,
    entropy: 2,
  },
  {
    id: 'aws-access-token',
    keywords: ['akia', 'asia', 'abia', 'acca', 'a3t'],
    pattern: r`(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}`,
    entropy: 3,
  },
  {
    id: 'aws-amazon-bedrock-api-key-long-lived',
    keywords: ['absk'],
    pattern: r`ABSK[A-Za-z0-9+/]{109,269}={0,2}`,
    entropy: 3,
  },
  { id: 'clickhouse-cloud-api-secret-key', keywords: ['4b1d'], pattern: r`4b1d[A-Za-z0-9]{38}`, entropy: 3 },
  { id: 'clojars-api-token', keywords: ['clojars_'], pattern: r`(?i:CLOJARS_[a-z0-9]{60})`, entropy: 2 },
  {
    id: 'cloudflare-origin-ca-key',
    keywords: ['v1.0-'],
    pattern: r`v1\.0-[a-f0-9]{24}-[a-f0-9]{146}`,
    entropy: 2,
  },
  { id: 'databricks-api-token', keywords: ['dapi'], pattern: r`dapi[a-f0-9]{32}(?:-\d)?`, entropy: 3 },
  { id: 'digitalocean-access-token', keywords: ['doo_v1_'], pattern: r`doo_v1_[a-f0-9]{64}`, entropy: 3 },
  { id: 'digitalocean-pat', keywords: ['dop_v1_'], pattern: r`dop_v1_[a-f0-9]{64}`, entropy: 3 },
  { id: 'digitalocean-refresh-token', keywords: ['dor_v1_'], pattern: r`(?i:dor_v1_[a-f0-9]{64})` },
  { id: 'doppler-api-token', keywords: ['dp.pt.'], pattern: r`dp\.pt\.(?i:[a-z0-9]{43})`, entropy: 2 },
  {
    id: 'duffel-api-token',
    keywords: ['duffel_'],
    pattern: r`duffel_(?:test|live)_(?i:[a-z0-9_\-=]{43})`,
    entropy: 2,
  },
  {
    id: 'dynatrace-api-token',
    keywords: ['dt0c01.'],
    pattern: r`dt0c01\.(?i:[a-z0-9]{24}\.[a-z0-9]{64})`,
    entropy: 4,
  },
  { id: 'easypost-api-token', keywords: ['ezak'], pattern: r`EZAK(?i:[a-z0-9]{54})`, entropy: 2 },
  { id: 'easypost-test-api-token', keywords: ['eztk'], pattern: r`EZTK(?i:[a-z0-9]{54})`, entropy: 2 },
  {
    id: 'facebook-page-access-token',
    keywords: ['eaam', 'eaac'],
    pattern: r`EAA[MC](?i:[a-z0-9]{100,2000})`,
    entropy: 4,
  },
  {
    id: 'flutterwave-encryption-key',
    keywords: ['flwseck_test'],
    pattern: r`FLWSECK_TEST-(?i:[a-h0-9]{12})`,
    entropy: 2,
  },
  {
    id: 'flutterwave-secret-key',
    keywords: ['flwseck_test'],
    pattern: r`FLWSECK_TEST-(?i:[a-h0-9]{32}-X)`,
    entropy: 2,
  },
  {
    id: 'flyio-access-token',
    keywords: ['fo1_', 'fm1', 'fm2_'],
    pattern: r`(?:fo1_[\w-]{43}|fm1[ar]_[a-zA-Z0-9+/]{100,2000}={0,3}|fm2_[a-zA-Z0-9+/]{100,2000}={0,3})`,
    entropy: 4,
  },
  { id: 'frameio-api-token', keywords: ['fio-u-'], pattern: r`fio-u-(?i:[a-z0-9\-_=]{64})` },
  { id: 'gcp-api-key', keywords: ['aiza'], pattern: r`AIza[\w-]{35}`, entropy: 4 },
  { id: 'github-app-token', keywords: ['ghu_', 'ghs_'], pattern: r`(?:ghu|ghs)_[0-9a-zA-Z]{36}`, entropy: 3 },
  { id: 'github-fine-grained-pat', keywords: ['github_pat_'], pattern: r`github_pat_\w{82}`, entropy: 3 },
  { id: 'github-oauth', keywords: ['gho_'], pattern: r`gho_[0-9a-zA-Z]{36}`, entropy: 3 },
  { id: 'github-pat', keywords: ['ghp_'], pattern: r`ghp_[0-9a-zA-Z]{36}`, entropy: 3 },
  { id: 'github-refresh-token', keywords: ['ghr_'], pattern: r`ghr_[0-9a-zA-Z]{36}`, entropy: 3 },
  {
    id: 'gitlab-cicd-job-token',
    keywords: ['glcbt-'],
    pattern: r`glcbt-[0-9a-zA-Z]{1,5}_[0-9a-zA-Z_-]{20}`,
    entropy: 3,
  },
  { id: 'gitlab-deploy-token', keywords: ['gldt-'], pattern: r`gldt-[0-9a-zA-Z_\-]{20}`, entropy: 3 },
  {
    id: 'gitlab-feature-flag-client-token',
    keywords: ['glffct-'],
    pattern: r`glffct-[0-9a-zA-Z_\-]{20}`,
    entropy: 3,
  },
  { id: 'gitlab-feed-token', keywords: ['glft-'], pattern: r`glft-[0-9a-zA-Z_\-]{20}`, entropy: 3 },
  {
    id: 'gitlab-incoming-mail-token',
    keywords: ['glimt-'],
    pattern: r`glimt-[0-9a-zA-Z_\-]{25}`,
    entropy: 3,
  },
  {
    id: 'gitlab-kubernetes-agent-token',
    keywords: ['glagent-'],
    pattern: r`glagent-[0-9a-zA-Z_\-]{50}`,
    entropy: 3,
  },
  { id: 'gitlab-oauth-app-secret', keywords: ['gloas-'], pattern: r`gloas-[0-9a-zA-Z_\-]{64}`, entropy: 3 },
  { id: 'gitlab-pat', keywords: ['glpat-'], pattern: r`glpat-[\w-]{20}`, entropy: 3 },
  { id: 'gitlab-ptt', keywords: ['glptt-'], pattern: r`glptt-[0-9a-f]{40}`, entropy: 3 },
  { id: 'gitlab-rrt', keywords: ['gr1348941'], pattern: r`GR1348941[\w-]{20}`, entropy: 3 },
  {
    id: 'gitlab-runner-authentication-token',
    keywords: ['glrt-'],
    pattern: r`glrt-[0-9a-zA-Z_\-]{20}`,
    entropy: 3,
  },
  { id: 'gitlab-scim-token', keywords: ['glsoat-'], pattern: r`glsoat-[0-9a-zA-Z_\-]{20}`, entropy: 3 },
  {
    id: 'grafana-cloud-api-token',
    keywords: ['glc_'],
    pattern: r`(?i:glc_[A-Za-z0-9+/]{32,400}={0,3})`,
    entropy: 3,
  },
  {
    id: 'grafana-service-account-token',
    keywords: ['glsa_'],
    pattern: r`(?i:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8})`,
    entropy: 3,
  },
  {
    id: 'harness-api-key',
    keywords: ['pat.', 'sat.'],
    pattern: r`(?:pat|sat)\.[a-zA-Z0-9_-]{22}\.[a-zA-Z0-9]{24}\.[a-zA-Z0-9]{20}`,
  },
  { id: 'heroku-api-key-v2', keywords: ['hrku-aa'], pattern: r`HRKU-AA[0-9a-zA-Z_-]{58}`, entropy: 4 },
  { id: 'huggingface-access-token', keywords: ['hf_'], pattern: r`hf_(?i:[a-z]{34})`, entropy: 2 },
  {
    id: 'huggingface-organization-api-token',
    keywords: ['api_org_'],
    pattern: r`api_org_(?i:[a-z]{34})`,
    entropy: 2,
  },
  { id: 'infracost-api-token', keywords: ['ico-'], pattern: r`ico-[a-zA-Z0-9]{32}`, entropy: 3 },
  {
    id: 'intra42-client-secret',
    keywords: ['s-s4t2'],
    pattern: r`s-s4t2(?:ud|af)-(?i:[abcdef0123456789]{64})`,
    entropy: 3,
  },
  { id: 'linear-api-key', keywords: ['lin_api_'], pattern: r`lin_api_(?i:[a-z0-9]{40})`, entropy: 2 },
  {
    id: 'notion-api-token',
    keywords: ['ntn_'],
    pattern: r`ntn_[0-9]{11}[A-Za-z0-9]{32}[A-Za-z0-9]{3}`,
    entropy: 4,
  },
  { id: 'npm-access-token', keywords: ['npm_'], pattern: r`(?i:npm_[a-z0-9]{36})`, entropy: 2 },
  { id: 'octopus-deploy-api-key', keywords: ['api-'], pattern: r`API-[A-Z0-9]{26}`, entropy: 3 },
  { id: 'perplexity-api-key', keywords: ['pplx-'], pattern: r`pplx-[a-zA-Z0-9]{48}`, entropy: 4 },
  {
    id: 'planetscale-api-token',
    keywords: ['pscale_tkn_'],
    pattern: r`pscale_tkn_(?i:[\w=\.-]{32,64})`,
    entropy: 3,
  },
  {
    id: 'planetscale-oauth-token',
    keywords: ['pscale_oauth_'],
    pattern: r`pscale_oauth_[\w=\.-]{32,64}`,
    entropy: 3,
  },
  {
    id: 'planetscale-password',
    keywords: ['pscale_pw_'],
    pattern: r`(?i:pscale_pw_[\w=\.-]{32,64})`,
    entropy: 3,
  },
  {
    id: 'postman-api-token',
    keywords: ['pmak-'],
    pattern: r`PMAK-(?i:[a-f0-9]{24}\-[a-f0-9]{34})`,
    entropy: 3,
  },
  { id: 'prefect-api-token', keywords: ['pnu_'], pattern: r`pnu_[a-zA-Z0-9]{36}`, entropy: 2 },
  { id: 'pulumi-api-token', keywords: ['pul-'], pattern: r`pul-[a-f0-9]{40}`, entropy: 2 },
  {
    id: 'pypi-upload-token',
    keywords: ['pypi-ageichlwas5vcmc'],
    pattern: r`pypi-AgEIcHlwaS5vcmc[\w-]{50,1000}`,
    entropy: 3,
  },
  { id: 'readme-api-token', keywords: ['rdme_'], pattern: r`rdme_[a-z0-9]{70}`, entropy: 2 },
  { id: 'rubygems-api-token', keywords: ['rubygems_'], pattern: r`rubygems_[a-f0-9]{48}`, entropy: 2 },
  { id: 'scalingo-api-token', keywords: ['tk-us-'], pattern: r`tk-us-[\w-]{48}`, entropy: 2 },
  { id: 'sendgrid-api-token', keywords: ['sg.'], pattern: r`SG\.(?i:[a-z0-9=_\-\.]{66})`, entropy: 2 },
  {
    id: 'sendinblue-api-token',
    keywords: ['xkeysib-'],
    pattern: r`xkeysib-[a-f0-9]{64}\-(?i:[a-z0-9]{16})`,
    entropy: 2,
  },
  { id: 'sentry-user-token', keywords: ['sntryu_'], pattern: r`sntryu_[a-f0-9]{64}`, entropy: 3.5 },
  {
    id: 'settlemint-application-access-token',
    keywords: ['sm_aat'],
    pattern: r`sm_aat_[a-zA-Z0-9]{16}`,
    entropy: 3,
  },
  {
    id: 'settlemint-personal-access-token',
    keywords: ['sm_pat'],
    pattern: r`sm_pat_[a-zA-Z0-9]{16}`,
    entropy: 3,
  },
  {
    id: 'settlemint-service-access-token',
    keywords: ['sm_sat'],
    pattern: r`sm_sat_[a-zA-Z0-9]{16}`,
    entropy: 3,
  },
  {
    id: 'shippo-api-token',
    keywords: ['shippo_'],
    pattern: r`shippo_(?:live|test)_[a-fA-F0-9]{40}`,
    entropy: 2,
  },
  { id: 'shopify-access-token', keywords: ['shpat_'], pattern: r`shpat_[a-fA-F0-9]{32}`, entropy: 2 },
  { id: 'shopify-custom-access-token', keywords: ['shpca_'], pattern: r`shpca_[a-fA-F0-9]{32}`, entropy: 2 },
  {
    id: 'shopify-private-app-access-token',
    keywords: ['shppa_'],
    pattern: r`shppa_[a-fA-F0-9]{32}`,
    entropy: 2,
  },
  { id: 'shopify-shared-secret', keywords: ['shpss_'], pattern: r`shpss_[a-fA-F0-9]{32}`, entropy: 2 },
  {
    id: 'slack-app-token',
    keywords: ['xapp'],
    pattern: r`(?i:xapp-\d-[A-Z0-9]{1,64}-\d{1,64}-[a-z0-9]{1,64})`,
    entropy: 2,
  },
  {
    id: 'slack-bot-token',
    keywords: ['xoxb'],
    pattern: r`xoxb-[0-9]{10,13}-[0-9]{10,13}[a-zA-Z0-9-]{0,64}`,
    entropy: 3,
  },
  {
    id: 'slack-config-access-token',
    keywords: ['xoxe'],
    pattern: r`(?i:xoxe.xox[bp]-\d-[A-Z0-9]{163,166})`,
    entropy: 2,
  },
  {
    id: 'slack-config-refresh-token',
    keywords: ['xoxe-'],
    pattern: r`(?i:xoxe-\d-[A-Z0-9]{146})`,
    entropy: 2,
  },
  {
    id: 'slack-legacy-token',
    keywords: ['xoxo', 'xoxs'],
    pattern: r`xox[os]-\d{1,64}-\d{1,64}-\d{1,64}-[a-fA-F\d]{1,64}`,
    entropy: 2,
  },
  {
    id: 'slack-legacy-workspace-token',
    keywords: ['xoxa', 'xoxr'],
    pattern: r`xox[ar]-(?:\d-)?[0-9a-zA-Z]{8,48}`,
    entropy: 2,
  },
  {
    id: 'slack-user-token',
    keywords: ['xoxp-', 'xoxe-'],
    pattern: r`xox[pe](?:-[0-9]{10,13}){3}-[a-zA-Z0-9-]{28,34}`,
    entropy: 2,
  },
  {
    id: 'square-access-token',
    keywords: ['sq0atp-', 'eaaa'],
    pattern: r`(?:EAAA|sq0atp-)[\w-]{22,60}`,
    entropy: 2,
  },
  { id: 'twilio-api-key', keywords: ['sk'], pattern: r`SK[0-9a-fA-F]{32}`, entropy: 3 },
  { id: 'vault-batch-token', keywords: ['hvb.'], pattern: r`hvb\.[\w-]{138,300}`, entropy: 4 },
];

const OWN_RULES: readonly SecretRule[] = [
  {
    id: 'azure-storage-key',
    keywords: ['accountkey=', 'sharedaccesskey='],
    pattern: r`(?i:accountkey|sharedaccesskey)=[A-Za-z0-9+/]{40,100}={0,2}`,
  },
  { id: 'databricks-oauth-secret', keywords: ['dose'], pattern: r`dose[a-f0-9]{32}`, entropy: 3 },
  {
    id: 'discord-webhook',
    keywords: ['discord.com/api/webhooks/', 'discordapp.com/api/webhooks/'],
    pattern: r`(?i:discord(?:app)?\.com/api/webhooks)/\d{15,22}/[\w-]{50,100}`,
  },
  {
    id: 'docker-token',
    keywords: ['dckr_pat_', 'dckr_oat_'],
    pattern: r`dckr_[po]at_[\w-]{20,100}`,
    entropy: 3,
  },
  { id: 'docker-swarm-token', keywords: ['swmtkn-1-'], pattern: r`SWMTKN-1-[a-z0-9]{40,60}-[a-z0-9]{20,30}` },
  { id: 'elevenlabs-stripe-like-key', keywords: ['sk_'], pattern: r`sk_[A-Za-z0-9]{32,80}`, entropy: 3 },
  {
    id: 'fly-token',
    keywords: ['fm2_', 'flyv1 '],
    pattern: r`(?:FlyV1 )?fm2_[A-Za-z0-9+/]{30,2000}={0,3}`,
    entropy: 3.5,
  },
  { id: 'gitlab-other-token', keywords: ['glpat-'], pattern: r`glpat-[\w-]{16,300}`, entropy: 2.5 },
  { id: 'google-oauth-access-token', keywords: ['ya29.'], pattern: r`ya29\.[\w-]{20,400}`, entropy: 3 },
  { id: 'google-client-secret', keywords: ['gocspx-'], pattern: r`GOCSPX-[\w-]{20,40}`, entropy: 3 },
  { id: 'google-refresh-token', keywords: ['1//0'], pattern: r`1//0[\w-]{40,200}`, entropy: 3.5 },
  {
    id: 'hubspot-private-app-token',
    keywords: ['pat-na1-', 'pat-eu1-'],
    pattern: r`pat-(?:na|eu)1-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`,
  },
  { id: 'huggingface-token', keywords: ['hf_'], pattern: r`hf_[A-Za-z0-9]{20,80}`, entropy: 3 },
  {
    id: 'langfuse-langsmith-key',
    keywords: ['lsv2_', 'sk-lf-', 'pk-lf-'],
    pattern: r`(?:lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}|[sp]k-lf-[0-9a-f-]{36})`,
  },
  { id: 'linear-oauth-token', keywords: ['lin_oauth_'], pattern: r`lin_oauth_[a-f0-9]{40,80}`, entropy: 2 },
  { id: 'mailgun-key', keywords: ['key-'], pattern: r`key-[a-f0-9]{32}`, entropy: 3 },
  { id: 'netlify-token', keywords: ['nfp_'], pattern: r`nfp_[A-Za-z0-9]{36,60}`, entropy: 3 },
  { id: 'notion-secret', keywords: ['secret_'], pattern: r`secret_[A-Za-z0-9]{43}`, entropy: 3.5 },
  { id: 'nvidia-key', keywords: ['nvapi-'], pattern: r`nvapi-[\w-]{40,100}`, entropy: 3 },
  { id: 'pinecone-key', keywords: ['pcsk_'], pattern: r`pcsk_[\w-]{40,100}`, entropy: 3 },
  { id: 'posthog-key', keywords: ['phx_'], pattern: r`phx_[A-Za-z0-9]{40,60}`, entropy: 3 },
  { id: 'pypi-token', keywords: ['pypi-age'], pattern: r`pypi-AgE[\w-]{30,1000}`, entropy: 3 },
  { id: 'replicate-token', keywords: ['r8_'], pattern: r`r8_[A-Za-z0-9]{36,40}`, entropy: 3 },
  { id: 'resend-key', keywords: ['re_'], pattern: r`re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,30}`, entropy: 3.5 },
  {
    id: 'sentry-org-token',
    keywords: ['sntrys_'],
    pattern: r`sntrys_[A-Za-z0-9+/=_-]{40,600}`,
    entropy: 3.5,
  },
  {
    id: 'slack-webhook',
    keywords: ['hooks.slack.com/'],
    pattern: r`hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,100}`,
  },
  { id: 'square-secret', keywords: ['sq0csp-'], pattern: r`sq0csp-[\w-]{40,60}`, entropy: 3 },
  { id: 'stripe-webhook-secret', keywords: ['whsec_'], pattern: r`whsec_[A-Za-z0-9+/]{24,64}`, entropy: 3 },
  {
    id: 'supabase-token',
    keywords: ['sbp_', 'sb_secret_'],
    pattern: r`(?:sbp_[a-f0-9]{40}|sb_secret_[\w-]{20,60})`,
    entropy: 3,
  },
  {
    id: 'tailscale-key',
    keywords: ['tskey-'],
    pattern: r`tskey-[a-z]{3,10}-[A-Za-z0-9]{6,20}-[A-Za-z0-9]{20,60}`,
    entropy: 3,
  },
  { id: 'tavily-key', keywords: ['tvly-'], pattern: r`tvly-[A-Za-z0-9-]{20,60}`, entropy: 3 },
  {
    id: 'teams-webhook',
    keywords: ['webhook.office.com/'],
    pattern: r`webhook\.office\.com/webhookb2/[\w@-]{60,100}/IncomingWebhook/[a-z0-9]{32}/[\w-]{36}`,
  },
  {
    id: 'telegram-bot-url',
    keywords: ['api.telegram.org/bot'],
    pattern: r`api\.telegram\.org/bot\d{5,16}:[\w-]{30,40}`,
  },
  { id: 'vault-token', keywords: ['hvs.', 'hvb.', 'hvr.'], pattern: r`hv[sbr]\.[\w-]{20,300}`, entropy: 3 },
  {
    id: 'vercel-token',
    keywords: ['vcp_', 'vck_', 'vci_'],
    pattern: r`vc[pki]_[A-Za-z0-9]{24,80}`,
    entropy: 3,
  },
  {
    id: 'age-plugin-key',
    keywords: ['age-plugin-'],
    pattern: r`AGE-PLUGIN-[A-Z0-9]{2,20}-1[A-Z0-9]{20,200}`,
  },
  {
    id: 'atlassian-token',
    keywords: ['atatt3', 'atctt3'],
    pattern: r`AT[AC]TT3[A-Za-z0-9_=-]{60,400}`,
    entropy: 3,
  },
  { id: 'bitcoin-extended-key', keywords: ['xprv'], pattern: r`xprv[A-HJ-NP-Za-km-z1-9]{100,115}` },
  { id: 'bcrypt-hash', keywords: ['$2a$', '$2b$', '$2y$'], pattern: r`\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}` },
  {
    id: 'crypt-hash',
    keywords: ['$5$', '$6$', '$y$'],
    pattern: r`\$[56y]\$[./A-Za-z0-9$=]{4,40}\$[./A-Za-z0-9]{40,90}`,
  },
];

export const SECRET_RULES: readonly SecretRule[] = [...GITLEAKS_RULES, ...OWN_RULES];

/** A random value after one of these names and an equals sign or colon is a secret; also from gitleaks. */
export const SECRET_SERVICES: readonly string[] = (
  'adafruit airtable algolia alibaba asana beamer bitbucket bittrex meraki cloudflare codecov cohere ' +
  'coinbase confluent contentful datadog discord droneci dropbox etsy facebook fastly finicity finnhub ' +
  'flickr freshbooks gitter gocardless heroku hubspot intercom jfrog artifactory bintray xray kraken ' +
  'kucoin launchdarkly linear linkedin linked_in linked-in lob looker mailchimp mailgun mapbox ' +
  'mattermost messagebird message-bird message_bird netlify new-relic newrelic new_relic nytimes ' +
  'new-york-times newyorktimes okta plaid privateai private_ai private-ai rapidapi sendbird sentry snyk ' +
  'sonar squarespace sumo telegr travis twitch twitter typeform yandex zendesk'
).split(' ');
