import { ENDPOINTS, type Endpoint, type EndpointName } from '@bonded/contract'
import type { ArgumentRegister } from './register.ts'

/** A schema as far as it lists members. */
interface Members {
  readonly properties?: Readonly<Record<string, unknown>>
  readonly oneOf?: readonly Members[]
}
const membersOf = (schema: object | undefined): readonly string[] => {
  const { properties = {}, oneOf = [] } = (schema ?? {}) as Members
  return [...new Set([...Object.keys(properties), ...oneOf.flatMap(membersOf)])]
}

/**
 * What a caller gives to an endpoint: `{path}`, `?query`, `header:`, `body.member`, and its
 * credential, `caller`, which selects the tenant, the phone and the role.
 */
const argumentsOf = ({ params, query, headers, body, callers }: Endpoint): readonly string[] => [
  ...membersOf(params).map((name) => `{${name}}`),
  ...membersOf(query).map((name) => `?${name}`),
  ...membersOf(headers).map((name) => `${name}:`),
  ...membersOf(body?.schema).map((name) => `body.${name}`),
  ...(callers.every((caller) => caller === 'anonymous') ? [] : ['caller']),
]

const API = 'packages/server/tests/api'
const HTTP = 'packages/server/tests/http'

/** The arguments of several endpoints, by the names of both. */
const of = (endpoints: readonly EndpointName[], ...members: readonly string[]) =>
  endpoints.flatMap((name) => members.map((member) => `${name} ${member}`))

/** The endpoints that a backend or a page calls about a session that its path names. */
const SESSION_OF_TENANT = [
  'getSession',
  'deleteSession',
  'cancelSession',
  'proveBrowser',
  'openBrowserFrame',
  'completeSession',
  'readTimeline',
  'readReceipt',
  'reportContainment',
] as const

export const HTTP_ARGUMENTS: ArgumentRegister = {
  defined: Object.entries<Endpoint>(ENDPOINTS).flatMap(([name, endpoint]) =>
    argumentsOf(endpoint).map((argument) => `${name} ${argument}`),
  ),
  tests: [
    {
      file: `${API}/session-selection.test.ts`,
      test: '${endpoint.method} ${endpoint.path} concerns the session that it names, and no other',
      holds: [
        ...of(
          [...SESSION_OF_TENANT, 'readInvitation', 'claimSession', 'declineSession'],
          '{session_id}',
        ),
        ...of(['fetchEvidence', 'attest'], 'body.session_id'),
      ],
    },
    {
      file: `${HTTP}/key-scope.test.ts`,
      test: 'reads a session as unknown at every endpoint when ${what}',
      holds: of([...SESSION_OF_TENANT, 'attest'], 'caller'),
    },
    {
      file: `${HTTP}/key-scope.test.ts`,
      test: 'reports which of tenant, workflow and action a publishable key does not cover',
      holds: of(['checkPublishableKey'], '?tenant_id', '?workflow', '?action', 'caller'),
    },
    {
      file: `${HTTP}/credential-matrix.test.ts`,
      test: '${endpoint.method} ${endpoint.path} responds to every credential and every Origin as protocol 3 requires',
      holds: [
        ...of(['claimSession', 'declineSession'], 'body.device_id', 'caller'),
        ...of(['getDevice', 'rotateDeviceToken'], '{device_id}', 'caller'),
        ...of(
          [
            'fetchEvidence',
            'removeDevice',
            'updateWebhookEndpoint',
            'deleteWebhookEndpoint',
            'rotateWebhookSecret',
            'testWebhookEndpoint',
            'recoverWebhookEndpoint',
          ],
          'caller',
        ),
      ],
    },
    {
      file: `${API}/quorums.test.ts`,
      test: 'a create names the reference at fault, and stores nothing',
      holds: of(
        ['createQuorum'],
        'body.workflow',
        'body.action',
        'body.subject_refs',
        'body.needed',
        'body.maker_ref',
      ),
    },
    {
      file: `${API}/quorums.test.ts`,
      test: 'a quorum is of the tenant and the scope whose credential created it',
      holds: [...of(['createQuorum', 'getQuorum'], 'caller'), 'getQuorum {quorum_id}'],
    },
    {
      file: `${API}/challenge.test.ts`,
      test: 'never shows the phone a nonce newer than the one it presented',
      holds: ['getSession ?nonce'],
    },
    {
      file: `${API}/read-invitation.test.ts`,
      test: 'accepts the nonces that a phone may claim with, and no other',
      holds: ['readInvitation x-bond-nonce:'],
    },
    {
      file: `${HTTP}/credential-matrix.test.ts`,
      test: 'responds to a missing, wrong or foreign watch token like an unknown session',
      holds: ['getSession x-bond-watch:'],
    },
    {
      file: `${API}/cancel-session.test.ts`,
      test: 'rejects a cancel without the watch token or with that of another session',
      holds: ['cancelSession x-bond-watch:'],
    },
    {
      file: `${API}/prove-browser.test.ts`,
      test: 'rejects a page of another origin, a wrong watch token, and a proof before the approval',
      holds: ['proveBrowser x-bond-watch:'],
    },
    {
      file: `${API}/prove-framed-browser.test.ts`,
      test: 'opens to no page: neither to the tenant’s own, nor to another tenant’s',
      holds: of(['openBrowserFrame'], 'x-bond-watch:', 'body.parent_origin'),
    },
    {
      file: `${API}/record-containment.test.ts`,
      test: 'reads a session as not found for a report without its watch token',
      holds: ['reportContainment x-bond-watch:'],
    },
    {
      file: `${API}/create-session.test.ts`,
      test: 'complete checks first the secret, then the context, then the state',
      holds: of(['completeSession'], 'x-bond-completion-secret:', 'x-bond-context-digest:'),
    },
    {
      file: `${API}/prove-browser.test.ts`,
      test: 'the phone approves, then the browser proves itself, and only its secret reads the verification',
      holds: ['getSession x-bond-browser-secret:'],
    },
    {
      file: `${API}/receipts.test.ts`,
      test: 'a workflow that requires the browser gives its receipt only for the secret of that browser',
      holds: ['readReceipt x-bond-browser-secret:'],
    },
    {
      file: `${HTTP}/poll.test.ts`,
      test: 'responds to a waiting poll at the next change of its session',
      holds: ['getSession ?after'],
    },
    {
      file: `${HTTP}/poll.test.ts`,
      test: 'waits as long as a poll asks, and for 25 s at most',
      holds: ['getSession ?wait_ms'],
    },
    {
      file: `${API}/create-session.test.ts`,
      test: 'reports an unknown workflow as invalid and one that is not enabled as forbidden',
      holds: of(['createSession'], 'body.workflow', 'body.action'),
    },
    {
      file: `${API}/create-session.test.ts`,
      test: 'rejects a publishable key that is unknown or of another tenant as forbidden',
      holds: ['createSession body.publishableKey'],
    },
    {
      file: `${API}/attest-rules.test.ts`,
      test: 'rejects another subject’s phone at every step of a session for a named subject',
      holds: ['createSession body.subject_ref'],
    },
    {
      file: `${HTTP}/create-limits.test.ts`,
      test: 'creates 60 sessions a minute for one end user address, and leaves the remaining creates to other users',
      holds: ['createSession body.end_user_address'],
    },
    {
      file: `${HTTP}/key-scope.test.ts`,
      test: 'a session is of the tenant whose credential creates it, and of no other',
      holds: ['createSession caller'],
    },
    {
      file: `${API}/attest.test.ts`,
      test: 'rejects a body whose device or subject is not that of the device token',
      holds: of(['fetchEvidence', 'attest'], 'body.device_id', 'body.subject_id'),
    },
    {
      file: `${API}/subject-keys.test.ts`,
      test: 'adds a ${added} key to a subject by an assertion of its ${format} key',
      holds: ['registerDevice caller', 'removeDevice {device_id}'],
    },
    {
      file: `${API}/subject-keys.test.ts`,
      test: 'rejects an approval of another subject’s key, and one sent with another device’s token',
      holds: ['listKeys caller'],
    },
    {
      file: `${API}/browser-key.test.ts`,
      test: 'a phone removes its browser key and stays, and a proof in progress fails',
      holds: ['removeDevice body.purpose'],
    },
    {
      file: `${API}/inbox-attacks.test.ts`,
      test: 'a new phone of an attacker sees nothing of another user',
      holds: of(['countInbox', 'openInbox'], 'caller'),
    },
    {
      file: `${API}/inbox-attacks.test.ts`,
      test: 'a list has pages, in which each tenant has a share',
      holds: ['openInbox body.cursor'],
    },
    {
      file: `${API}/inbox-limits.test.ts`,
      test: 'a phone ends the pause of the tenant that it names, and neither another one nor another user’s',
      holds: of(['resumeInbox'], 'body.tenant_id', 'caller'),
    },
    {
      file: `${API}/wake-ups.test.ts`,
      test: 'a phone that may not serve a request is not woken for it',
      holds: ['setPush caller'],
    },
    {
      file: `${HTTP}/subjects.test.ts`,
      test: 'a call about a user concerns that one, and no other user of the tenant',
      holds: of(['listSubjectDevices', 'blockSubject', 'unblockSubject'], '{subject_ref}'),
    },
    {
      file: `${HTTP}/subjects.test.ts`,
      test: 'a reference of another tenant, of another form, and an unknown one read the same',
      holds: of(['listSubjectDevices', 'blockSubject', 'unblockSubject'], 'caller'),
    },
    {
      file: `${HTTP}/rejections.test.ts`,
      test: 'yesterday’s rejection is found by its reference, its session, its user, its reason and its time',
      holds: of(
        ['listRejections'],
        '?request_id',
        '?session_id',
        '?subject_ref',
        '?reason',
        '?since',
        '?until',
      ),
    },
    {
      file: `${HTTP}/rejections.test.ts`,
      test: 'a page names the next one',
      holds: of(['listRejections'], '?before', '?limit'),
    },
    {
      file: `${HTTP}/rejections.test.ts`,
      test: 'a tenant finds no rejection of another, whatever it names',
      holds: ['listRejections caller'],
    },
    {
      file: `${HTTP}/webhook-selection.test.ts`,
      test: 'a call about an endpoint leaves the others of the tenant as they are, and lists no foreign one',
      holds: [
        ...of(['listWebhookEndpoints', 'createWebhookEndpoint', 'openWebhookPortal'], 'caller'),
        ...of(['createWebhookEndpoint', 'updateWebhookEndpoint'], 'body.events'),
        ...of(
          [
            'updateWebhookEndpoint',
            'deleteWebhookEndpoint',
            'rotateWebhookSecret',
            'testWebhookEndpoint',
          ],
          '{endpoint_id}',
        ),
      ],
    },
    {
      file: `${HTTP}/webhook-selection.test.ts`,
      test: 'a recovery sends what its endpoint did not get since then, and leaves older events and other endpoints',
      holds: [
        'updateWebhookEndpoint body.enabled',
        ...of(['recoverWebhookEndpoint'], '{endpoint_id}', 'body.since'),
      ],
    },
    {
      file: `${HTTP}/webhook-selection.test.ts`,
      test: 'a retry sends its event only, to the endpoint that it names or to each that has it',
      holds: of(['retryWebhookEvent'], '{event_id}', 'body.endpoint_id'),
    },
    {
      file: `${HTTP}/webhook-selection.test.ts`,
      test: 'an event is read with its own payload and its own deliveries',
      holds: ['readWebhookEvent {event_id}'],
    },
    {
      file: `${HTTP}/webhook-api.test.ts`,
      test: 'the log keeps 80 characters of a response, and more or none where a backend asks',
      holds: of(['createWebhookEndpoint', 'updateWebhookEndpoint'], 'body.logged_characters'),
    },
    {
      file: `${HTTP}/webhook-api.test.ts`,
      test: 'lists deliveries by pages and filters, without a gap and without those of other tenants',
      holds: of(
        ['listWebhookDeliveries'],
        '?state',
        '?type',
        '?endpoint_id',
        '?before',
        '?limit',
        'caller',
      ),
    },
    {
      file: `${HTTP}/webhook-api.test.ts`,
      test: 'a retry sends the deliveries of its own tenant only',
      holds: of(['readWebhookEvent', 'retryWebhookEvent'], 'caller'),
    },
  ],
  others: {
    ...because('It only proves who calls: with a wrong value, nothing is returned or changed.', [
      'body.nonce',
      'body.parent_origin',
      'body.commitment',
      'body.assertion',
      'body.issued_at',
      'body.app_attest',
      'body.verified_evidence',
      'body.challenge',
      'body.approval',
    ]),
    ...because('It is stored, shown, or evaluated.', [
      'x-bond-outcome:',
      'createSession body.context',
      'createQuorum body.context',
      'createSession body.phone_number',
      'declineSession body.reason',
      'declineSession body.note',
      'body.signals',
      'body.verdict',
      'body.breaches',
      'body.url',
      'body.scheme',
      'setPush body.endpoint',
    ]),
    ...because('It is a key that a phone registers, or its kind.', [
      'body.format',
      'body.key_id',
      'body.attestation_object',
      'body.certificate_chain',
      'body.registration',
      'body.public_key',
      'body.browser_key',
    ]),
    'body.shows': 'It says what the phone can show, and the service rejects what it cannot.',
    ...because('It identifies a repetition of the same call.', [
      'createSession idempotency-key:',
      'createQuorum idempotency-key:',
    ]),
  },
}

function because(reason: string, keys: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(keys.map((key) => [key, reason]))
}
