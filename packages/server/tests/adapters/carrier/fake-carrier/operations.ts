import { Compile } from 'typebox/schema'

/** A JSON schema, in the form of OpenAPI 3.0 without descriptions and examples. */
type Schema = Readonly<Record<string, unknown>>

export interface Operation {
  /** Each of them is sufficient. */
  readonly scopes: readonly string[]
  readonly request: Schema
  /** The schemas by status. A response of another status is a violation. */
  readonly responses: Readonly<Record<number, Schema>>
}

const PHONE_NUMBER: Schema = { type: 'string', pattern: String.raw`^\+[1-9][0-9]{4,14}$` }
const DATE_TIME: Schema = { type: 'string', format: 'date-time' }
const IP_V4: Schema = { type: 'string', format: 'ipv4' }
const DEVICE: Schema = {
  ...object({
    phoneNumber: PHONE_NUMBER,
    networkAccessIdentifier: { type: 'string' },
    ipv4Address: {
      ...object({
        publicAddress: IP_V4,
        privateAddress: IP_V4,
        publicPort: { type: 'integer', minimum: 0, maximum: 65_535 },
      }),
      anyOf: [
        { required: ['publicAddress', 'privateAddress'] },
        { required: ['publicAddress', 'publicPort'] },
      ],
    },
    ipv6Address: { type: 'string', format: 'ipv6' },
  }),
  minProperties: 1,
}
const REJECTIONS = {
  400: rejection(400, 'INVALID_ARGUMENT'),
  401: rejection(401, 'UNAUTHENTICATED'),
  403: rejection(403, 'PERMISSION_DENIED'),
}
const MORE_REJECTIONS = {
  404: rejection(404, 'NOT_FOUND', 'IDENTIFIER_NOT_FOUND'),
  422: rejection(422, 'SERVICE_NOT_APPLICABLE', 'MISSING_IDENTIFIER', 'UNNECESSARY_IDENTIFIER'),
  429: rejection(429, 'QUOTA_EXCEEDED', 'TOO_MANY_REQUESTS'),
}

export const CORRELATOR: Schema = {
  type: 'string',
  pattern: String.raw`^[a-zA-Z0-9-_:;.\/<>{}]{0,256}$`,
}

/**
 * The operations of CAMARA that the service calls, by path. `published.test.ts` compares them with
 * the published files.
 */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  '/number-verification/v2/verify': {
    scopes: ['number-verification:verify'],
    request: {
      ...object({
        phoneNumber: PHONE_NUMBER,
        hashedPhoneNumber: { type: 'string', pattern: '^[a-fA-F0-9]{64}$' },
      }),
      minProperties: 1,
      maxProperties: 1,
    },
    responses: {
      ...REJECTIONS,
      200: object({ devicePhoneNumberVerified: { type: 'boolean' } }, 'devicePhoneNumberVerified'),
      403: rejection(
        403,
        'PERMISSION_DENIED',
        'NUMBER_VERIFICATION.USER_NOT_AUTHENTICATED_BY_MOBILE_NETWORK',
      ),
    },
  },
  '/sim-swap/v2/check': {
    scopes: ['sim-swap:check', 'sim-swap'],
    request: object({
      phoneNumber: PHONE_NUMBER,
      maxAge: { type: 'integer', format: 'int32', minimum: 1, maximum: 2_400, default: 240 },
    }),
    responses: {
      ...REJECTIONS,
      ...MORE_REJECTIONS,
      200: object({ swapped: { type: 'boolean' } }, 'swapped'),
      400: rejection(400, 'INVALID_ARGUMENT', 'OUT_OF_RANGE'),
    },
  },
  '/sim-swap/v2/retrieve-date': {
    scopes: ['sim-swap:retrieve-date', 'sim-swap'],
    request: object({ phoneNumber: PHONE_NUMBER }),
    responses: {
      ...REJECTIONS,
      ...MORE_REJECTIONS,
      200: object(
        {
          latestSimChange: { anyOf: [DATE_TIME, { type: 'null' }] },
          monitoredPeriod: { type: 'integer' },
        },
        'latestSimChange',
      ),
      400: rejection(400, 'INVALID_ARGUMENT', 'OUT_OF_RANGE'),
    },
  },
  '/device-reachability-status/v1/retrieve': {
    scopes: ['device-reachability-status:read'],
    request: object({ device: DEVICE }),
    responses: {
      ...REJECTIONS,
      ...MORE_REJECTIONS,
      200: object(
        {
          device: { allOf: [DEVICE, { maxProperties: 1 }] },
          lastStatusTime: DATE_TIME,
          reachable: { type: 'boolean' },
          connectivity: { type: 'array', items: { type: 'string', enum: ['DATA', 'SMS'] } },
        },
        'lastStatusTime',
        'reachable',
      ),
      422: rejection(
        422,
        'SERVICE_NOT_APPLICABLE',
        'MISSING_IDENTIFIER',
        'UNSUPPORTED_IDENTIFIER',
        'UNNECESSARY_IDENTIFIER',
      ),
      503: rejection(503, 'UNAVAILABLE'),
    },
  },
}

const validators = new Map<Schema, (value: unknown) => boolean>()

export function isValid(schema: Schema, value: unknown): boolean {
  let check = validators.get(schema)
  if (check === undefined) {
    const validator = Compile(schema as never)
    check = (one) => validator.Check(one)
    validators.set(schema, check)
  }
  return check(value)
}

function object(properties: Schema, ...required: readonly string[]): Schema {
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}

function rejection(status: number, ...codes: readonly string[]): Schema {
  return {
    allOf: [
      object(
        { status: { type: 'integer' }, code: { type: 'string' }, message: { type: 'string' } },
        'status',
        'code',
        'message',
      ),
      object({ status: { enum: [status] }, code: { enum: codes } }),
    ],
  }
}
