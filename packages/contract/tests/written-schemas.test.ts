import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  PRESETS,
  ReceiptClaims,
  RECEIPT_TYPE,
  Titles,
  Workflow,
  WrittenWorkflow,
} from '@bonded/contract'

/** A schema as JSON, without the texts that only describe it. */
type Member = Readonly<Record<string, unknown>>
interface ObjectSchema {
  readonly required: readonly string[]
  readonly additionalProperties: boolean
  readonly properties: Readonly<Record<string, Member>>
}
const schemaOf = (schema: object) => schema as unknown as ObjectSchema

/** The members of a workflow that are a word, a number or a list (`docs/guides` and protocol 3). */
const WORKFLOW: Readonly<Record<string, Member>> = {
  name: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
  actions: {
    type: 'array',
    items: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
    minItems: 1,
    maxItems: 64,
  },
  delivery: { type: 'string', enum: ['page', 'inbox'] },
  passport: { type: 'string', enum: ['none', 'optional', 'required'] },
  require: {
    type: 'array',
    items: {
      type: 'string',
      enum: ['local_auth', 'carrier', 'sensor_continuity', 'band:medium', 'band:high', 'browser'],
    },
    maxItems: 8,
  },
  subject: { type: 'string', enum: ['optional', 'required'] },
  requester: { type: 'string', enum: ['optional', 'required'] },
  webauthn: { type: 'string', enum: ['attested', 'seasoned', 'known', 'any'] },
  unattested: { type: 'string', enum: ['review', 'known', 'accept'] },
  formats: {
    type: 'array',
    items: { type: 'string', enum: ['apple-app-attest', 'android-key', 'webauthn', 'software'] },
    minItems: 1,
    maxItems: 4,
  },
  suspect_devices: { type: 'string', enum: ['refuse', 'allow'] },
  // A year, a day, two minutes, and a quarter of an hour.
  min_key_age_seconds: { type: 'integer', minimum: 0, maximum: 31_536_000 },
  session_ttl_seconds: { type: 'integer', minimum: 60, maximum: 86_400 },
  challenge_ttl_seconds: { type: 'integer', minimum: 5, maximum: 120 },
  bonded_ttl_seconds: { type: 'integer', minimum: 1, maximum: 900 },
  quorum: {
    type: 'object',
    required: ['needed'],
    properties: { needed: { type: 'integer', minimum: 2, maximum: 5 } },
    additionalProperties: false,
  },
}
const TITLES = {
  type: 'object',
  minProperties: 1,
  maxProperties: 64,
  propertyNames: { pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}$' },
  additionalProperties: { type: 'string', minLength: 1, maxLength: 64, format: 'display-text' },
}

test('a workflow has each member within its bounds, and needs a name and its actions only', () => {
  for (const [schema, others] of [
    [Workflow, {}],
    [WrittenWorkflow, { preset: { type: 'string', enum: ['agent'] } }],
  ] as const) {
    const { properties, required, additionalProperties } = schemaOf(schema)
    assert.deepEqual([required, additionalProperties], [['name', 'actions'], false])
    assert.deepEqual(JSON.parse(JSON.stringify(properties)), {
      ...WORKFLOW,
      ...others,
      title: TITLES,
      action_titles: { type: 'object', maxProperties: 64, additionalProperties: TITLES },
    })
  }
  assert.deepEqual(JSON.parse(JSON.stringify(Titles)), TITLES)
})

test('the preset of agents asks a known user in the inbox, by name, with local authentication', () => {
  assert.deepEqual(PRESETS, {
    agent: {
      delivery: 'inbox',
      subject: 'required',
      requester: 'required',
      webauthn: 'seasoned',
      require: ['local_auth'],
    },
  })
})

test('a receipt has every claim of protocol 13, and only the pseudonym of the phone is optional', () => {
  const { properties, required, additionalProperties } = schemaOf(ReceiptClaims)
  const claims = `iss aud iat jti environment state session_id workflow action context tenant_name
    workflow_title action_title requesting_origin subject_ref device_ref verification
    device_format created_at bonded_at completed_at outcome log_origin log_delay_seconds
    phone`.split(/\s+/)
  assert.deepEqual(Object.keys(properties).toSorted(), claims.toSorted())
  assert.deepEqual(
    claims.filter((name) => !required.includes(name)),
    ['device_ref'],
  )
  assert.equal(additionalProperties, false)
  const types = Object.entries(properties).map(([name, { type, enum: words, pattern }]) =>
    [name, ...[type].flat(), ...((words ?? []) as string[]), ...(pattern ? [pattern] : [])].join(
      ' ',
    ),
  )
  for (const claim of [
    'iss string',
    'aud string ^ten_[0-9A-Za-z]{22}$',
    'iat integer',
    'environment string sandbox production',
    'state string bonded completed',
    'session_id string ^sess_[0-9A-Za-z]{22}$',
    'workflow string ^[A-Za-z0-9._-]{1,64}$',
    'action string ^[A-Za-z0-9._-]{1,64}$',
    'context object null',
    'workflow_title object null',
    'action_title object null',
    'requesting_origin string null',
    'subject_ref string null',
    'device_format string apple-app-attest android-key webauthn software',
    'log_delay_seconds integer',
  ])
    assert.ok(types.includes(claim), claim)
  const isNullable = ({ type }: Member) => [type].flat().includes('null')
  const nullables = Object.keys(properties).filter((name) => isNullable(properties[name] ?? {}))
  assert.deepEqual(
    nullables.toSorted(),
    `action_title completed_at context outcome requesting_origin subject_ref
      workflow_title`.split(/\s+/),
  )
  const phone = properties['phone'] as unknown as ObjectSchema
  assert.deepEqual(phone.required, [
    'format',
    'public_key',
    'payload',
    'authenticator_data',
    'signature',
  ])
  const lengths = Object.entries(phone.properties).flatMap(([name, { minLength, maxLength }]) =>
    minLength === undefined ? [] : [[name, minLength, maxLength]],
  )
  assert.deepEqual(lengths, [
    ['authenticator_data', 50, 2_048],
    ['signature', 11, 200],
    ['client_data_json', 1, 4_096],
  ])
  assert.equal(RECEIPT_TYPE, 'bonded-receipt+jwt')
})
