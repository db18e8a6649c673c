import {
  CONNECTION_LIMITS_SYNTAX,
  DEFAULT_CONNECTION_LIMITS,
} from '@bonded/core/domain/connection-limits'
import { DEVICE_TOKEN_TTL_DAYS, REJECTION_RETENTION_DAYS } from '@bonded/core/domain/lifetimes'
import { LIMITS_SYNTAX } from '@bonded/core/domain/limits'
import { RETENTION_BOUNDS, RETENTION_KINDS } from '@bonded/core/domain/retention'
import { LOG_RETENTION_DAYS } from '@bonded/core/domain/receipt-log'
import { RECEIPT_RETENTION_DAYS } from '@bonded/core/domain/receipts'

interface Definition {
  /** What it does. */
  readonly about: string
  /** Its default. */
  readonly fallback: string
  /** The values that it accepts. */
  readonly expects: string
  /** Whether no command line and no log may have it. */
  readonly secret?: true
  /** Whether the value is the path of a file or of a folder. */
  readonly path?: 'file' | 'folder'
}

/** Every setting, by its name in the environment. */
const DEFINITIONS = {
  BONDED_PUBLIC_ORIGIN: {
    about: 'Origin at which browsers and phones reach the service',
    fallback: 'http://localhost:<port>',
    expects: 'an origin: https://host, or http://localhost with a port',
  },
  BONDED_RP_ID: {
    about: 'Relying party id of new passkeys, which cannot be moved to another one later',
    fallback: 'the host of the public origin',
    expects: 'the host of the public origin, or a domain above it, but not a public suffix',
  },
  BONDED_RP_ID_FORMER: {
    about: 'Former relying party ids, whose passkeys the service still accepts',
    fallback: 'none',
    expects: 'domains, separated by commas',
  },
  BONDED_RELATED_ORIGINS: {
    about:
      'Whether all tenants are one organization, whose pages may use the passkeys of the service',
    fallback: 'off',
    expects: 'on or off',
  },
  BONDED_PORT: {
    about: 'Port to listen on',
    fallback: '8787',
    expects: 'a port number, 0 to 65535',
  },
  BONDED_HOST: {
    about: 'Address to listen on',
    fallback: '127.0.0.1',
    expects: 'an IP address or host name of this machine; localhost is 127.0.0.1',
  },
  BONDED_DATABASE_URL: {
    about: 'Database: a file of SQLite, or a PostgreSQL database that several nodes share',
    fallback: 'sqlite:<data dir>/bonded.db',
    expects:
      'sqlite:<file>, or postgres://user:password@host:port/database, where several hosts are separated by commas, with sslmode=disable or verify-full and sslrootcert=<file> as parameters, or as PGSSLMODE and PGSSLROOTCERT',
  },
  BONDED_DATABASE_POOL_SIZE: {
    about: 'Connections of a node to PostgreSQL',
    fallback: '10',
    expects: 'a number, 2 to 500',
  },
  BONDED_DATABASE_STATEMENT_TIMEOUT_MS: {
    about: 'How long PostgreSQL may work on a statement',
    fallback: '5,000 ms',
    expects: 'milliseconds, 100 to 60000',
  },
  BONDED_DATABASE_LOCK_TIMEOUT_MS: {
    about: 'How long a call may wait for locks of PostgreSQL, in all of its attempts',
    fallback: '2,000 ms',
    expects: 'milliseconds, 100 to 60000',
  },
  BONDED_DATABASE_PREPARED: {
    about: 'Whether PostgreSQL keeps prepared statements; off for poolers that cannot',
    fallback: 'on',
    expects: 'on or off',
  },
  BONDED_ROOT_KEYS: {
    about: 'Root keys, the active one first',
    fallback: 'generated once in the data folder, in a sandbox',
    expects: 'id:<base64url of 32 bytes>, several separated by commas',
    secret: true,
  },
  BONDED_ROOT_KEYS_COMMAND: {
    path: 'file',
    about:
      'Program that prints the value of BONDED_ROOT_KEYS, for keys that are in a secret store. Each process of the service runs it once, without arguments',
    fallback: 'none',
    expects: 'an executable file, without BONDED_ROOT_KEYS and BONDED_ROOT_KEYS_FILE',
  },
  BONDED_RECEIPT_KEYS: {
    path: 'file',
    about:
      'Ed25519 keys of receipts: the one that signs first, then retired ones, which the service still publishes',
    fallback: 'generated once in the data folder, in a sandbox; no receipts in production',
    expects: 'a file of PEM keys or a JSON Web Key Set, which only its owner and group can read',
  },
  BONDED_RECEIPT_COMMAND: {
    path: 'file',
    about:
      'Program that signs receipts with the first key of BONDED_RECEIPT_KEYS, for a key that is in a key service',
    fallback: 'the file has the private key',
    expects: 'an executable file, with BONDED_RECEIPT_KEYS',
  },
  BONDED_RECEIPT_RETENTION_DAYS: {
    about: 'How long a receipt can be fetched after it was made',
    fallback: String(RECEIPT_RETENTION_DAYS),
    expects: 'a number of days, 1 to 36500',
  },
  BONDED_RECEIPT_LOG_RETENTION_DAYS: {
    about: 'How long the log of receipts has the hash of a receipt',
    fallback: String(LOG_RETENTION_DAYS),
    expects: 'a number of days, from BONDED_RECEIPT_RETENTION_DAYS to 36500',
  },
  BONDED_RECEIPT_CHECKPOINT: {
    path: 'file',
    about:
      'File in which this node keeps the latest checkpoint of the log of receipts. It must survive a restore of the database and a restart of the node, and each node needs its own',
    fallback: 'receipt-log.checkpoint in the data folder',
    expects: 'a file in an existing folder that the service can write',
  },
  BONDED_RECEIPT_WITNESSES: {
    about:
      'Witnesses that cosign the log of receipts. The service reaches their hosts also at private addresses, and without TLS if the URL is an http one',
    fallback: 'none',
    expects:
      'at most 15, separated by commas: the verifier key of a cosignature/v1, a space, and the URL before /add-checkpoint',
  },
  BONDED_APP_SCHEME: {
    about: 'URL scheme of the phone app in QR codes',
    fallback: 'pulse',
    expects: 'a URL scheme: lower-case letters, digits, + - .',
  },
  BONDED_QR_CONTENT: {
    about: 'Link in QR codes: the app’s, or one that any camera opens',
    fallback:
      'universal_link; app_scheme if BONDED_PHONES or BONDED_APP_SCHEME names an app, but not in bonded dev',
    expects: 'app_scheme or universal_link',
  },
  BONDED_DEVICE_TOKEN_TTL_DAYS: {
    about: 'Lifetime of a device token that its phone does not renew',
    fallback: String(DEVICE_TOKEN_TTL_DAYS),
    expects: 'a number of days, 1 to 3650',
  },
  BONDED_REJECTION_RETENTION_DAYS: {
    about: 'How long the reason of a rejected request can be searched',
    fallback: String(REJECTION_RETENTION_DAYS),
    expects: 'a number of days, 1 to 3650',
  },
  BONDED_RETENTION_BOUNDS: {
    about: 'Shortest and longest retention in days that a tenant can have, by kind',
    fallback: RETENTION_KINDS.map((kind) => {
      const { min, max } = RETENTION_BOUNDS[kind]
      return `${kind}=${min}-${max}`
    }).join(','),
    expects:
      'kind=shortest-longest, several separated by commas; 1 to 36500 days, receipts at most BONDED_RECEIPT_LOG_RETENTION_DAYS',
  },
  BONDED_DATA_DIR: {
    path: 'folder',
    about: 'Folder for the database, keys and the process id',
    fallback: '.bonded',
    expects: 'a folder',
  },
  BONDED_CARRIERS: {
    path: 'file',
    about: 'Carriers to query about phone numbers',
    fallback: 'no carrier is queried',
    expects: 'a YAML file of carriers',
  },
  BONDED_CSCA_DIR: {
    path: 'folder',
    about: 'Country certificates that passports are verified against',
    fallback: '<data dir>/csca, if it exists',
    expects:
      'a folder of passport master lists (.ml) and of country certificates (.cer, .crt, .der, .pem)',
  },
  BONDED_METRICS_PORT: {
    about: 'Port for Prometheus metrics',
    fallback: 'no metrics',
    expects: 'a port number, 1 to 65535',
  },
  BONDED_METRICS_HOST: {
    about: 'Address that metrics are served on, without authentication',
    fallback: '127.0.0.1',
    expects: 'an IP address of this machine; 0.0.0.0 or :: only in a network without others',
  },
  BONDED_TRACES_ENDPOINT: {
    about: 'OpenTelemetry collector to send traces to, over OTLP/HTTP',
    fallback: 'no traces',
    expects: 'an http or https URL, for example http://127.0.0.1:4318/v1/traces',
  },
  BONDED_TRACES_HEADERS: {
    about: 'Headers for the collector, usually a credential',
    fallback: 'none',
    expects: 'name=value, several separated by commas',
    secret: true,
  },
  BONDED_TRACES_RATIO: {
    about: 'Share of the sessions that are traced',
    fallback: '1',
    expects: 'a number from 0 to 1',
  },
  BONDED_RATE_LIMITS: {
    about: 'Rate limits that replace the defaults',
    fallback: 'on',
    expects: `on, off (sandbox only), or a list of limits: ${LIMITS_SYNTAX}`,
  },
  BONDED_BODY_BUDGET_MIB: {
    about: 'Memory that request bodies in flight may hold together, in MiB',
    fallback: '64',
    expects: 'a whole number from 1 to 4096',
  },
  BONDED_TRUST_PROXY: {
    about: 'Proxies whose X-Forwarded-For is trusted',
    fallback: '0',
    expects:
      'the number of proxies in front of the service, 0 to 9, or their addresses and ranges, separated by commas',
  },
  BONDED_CONNECTION_LIMITS: {
    about: 'Limits of open connections',
    fallback: Object.entries(DEFAULT_CONNECTION_LIMITS)
      .map(([name, number]) => `${name}=${number}`)
      .join(','),
    expects: CONNECTION_LIMITS_SYNTAX,
  },
  BONDED_BACKEND_ADDRESSES: {
    about: 'Backends whose connections use the reserve from the start',
    fallback: 'none',
    expects: 'addresses and ranges, separated by commas',
  },
  BONDED_WEBHOOK_HOSTS: {
    about:
      'Hosts that webhooks may reach although their address is not public or their port is not 443; also without TLS',
    fallback: 'none',
    expects: 'host:port, several separated by commas; an IPv6 address in brackets',
  },
  BONDED_PUSH_HOSTS: {
    about: 'Push services that may wake phones, beside those of Chrome, Edge, Firefox, and Safari',
    fallback: 'none',
    expects:
      'host names, several separated by commas; `*.` before a name permits each name below it',
  },
  BONDED_DRAIN_SECONDS: {
    about:
      'How long the service accepts requests after SIGTERM while it reports that it is not ready. In the second half it closes its channels',
    fallback: '5 in production, otherwise 0',
    expects: 'a number of seconds, 0 to 10',
  },
  BONDED_PHONES: {
    path: 'file',
    about: 'Phone apps whose keys may register, and the roots to trust',
    fallback: 'browsers only',
    expects: 'a YAML or JSON file, described in docs/reference/configuration.md',
  },
  BONDED_TEST_ROOTS: {
    path: 'file',
    about: 'Test apps and test roots; sandbox only',
    fallback: '<data dir>/test-roots.json, if it exists, in a sandbox',
    expects: 'a YAML or JSON file, described in docs/reference/configuration.md; sandbox only',
  },
  BONDED_OPERATOR: {
    about: 'Operator of a recorded command, where neither a login nor sudo names one',
    fallback: 'none; required there in production',
    expects: 'a name of 1 to 64 visible characters',
  },
  BONDED_ENVIRONMENT: {
    about: 'Environment of the service',
    fallback: 'sandbox',
    expects: 'sandbox or production',
  },
} as const satisfies Readonly<Record<`BONDED_${string}`, Definition>>

export type SettingName = keyof typeof DEFINITIONS

/** Every setting, with its member in the file. */
export const SETTINGS = Object.entries<Definition>(DEFINITIONS).map(([name, definition]) => ({
  name: name as SettingName,
  key: name.replace('BONDED_', '').toLowerCase(),
  secret: false,
  ...definition,
}))
