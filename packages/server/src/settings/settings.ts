import {
  CONNECTION_LIMITS_SYNTAX,
  DEFAULT_CONNECTION_LIMITS,
} from '@bonded/core/domain/connection-limits'
import { DEVICE_TOKEN_TTL_DAYS, REJECTION_RETENTION_DAYS } from '@bonded/core/domain/lifetimes'
import { LIMITS_SYNTAX } from '@bonded/core/domain/limits'
import { RETENTION_BOUNDS, RETENTION_KINDS } from '@bonded/core/domain/retention'
import { LOG_RETENTION_DAYS } from '@bonded/core/domain/receipt-log'
import { RECEIPT_RETENTION_DAYS } from '@bonded/core/domain/receipts'

/**
 * Every setting: its name in the environment, its member in the file, what it does (`about`), its
 * default (`fallback`) and the values that it accepts (`expects`). `path` says whether the value is
 * the path of a file or of a folder.
 */
export const SETTINGS = [
  {
    name: 'BONDED_PUBLIC_ORIGIN',
    key: 'public_origin',
    about: 'Origin at which browsers and phones reach the service',
    fallback: 'http://localhost:<port>',
    expects: 'an origin: https://host, or http://localhost with a port',
    secret: false,
  },
  {
    name: 'BONDED_RP_ID',
    key: 'rp_id',
    about: 'Relying party id of new passkeys, which cannot be moved to another one later',
    fallback: 'the host of the public origin',
    expects: 'the host of the public origin, or a domain above it, but not a public suffix',
    secret: false,
  },
  {
    name: 'BONDED_RP_ID_FORMER',
    key: 'rp_id_former',
    about: 'Former relying party ids, whose passkeys the service still accepts',
    fallback: 'none',
    expects: 'domains, separated by commas',
    secret: false,
  },
  {
    name: 'BONDED_RELATED_ORIGINS',
    key: 'related_origins',
    about:
      'Whether all tenants are one organization, whose pages may use the passkeys of the service',
    fallback: 'off',
    expects: 'on or off',
    secret: false,
  },
  {
    name: 'BONDED_PORT',
    key: 'port',
    about: 'Port to listen on',
    fallback: '8787',
    expects: 'a port number, 0 to 65535',
    secret: false,
  },
  {
    name: 'BONDED_HOST',
    key: 'host',
    about: 'Address to listen on',
    fallback: '127.0.0.1',
    expects: 'an IP address or host name of this machine; localhost is 127.0.0.1',
    secret: false,
  },
  {
    name: 'BONDED_DATABASE_URL',
    key: 'database_url',
    about: 'Database: a file of SQLite, or a PostgreSQL database that several nodes share',
    fallback: 'sqlite:<data dir>/bonded.db',
    expects:
      'sqlite:<file>, or postgres://user:password@host:port/database, where several hosts are separated by commas, with sslmode=disable or verify-full and sslrootcert=<file> as parameters, or as PGSSLMODE and PGSSLROOTCERT',
    secret: false,
  },
  {
    name: 'BONDED_DATABASE_POOL_SIZE',
    key: 'database_pool_size',
    about: 'Connections of a node to PostgreSQL',
    fallback: '10',
    expects: 'a number, 2 to 500',
    secret: false,
  },
  {
    name: 'BONDED_DATABASE_STATEMENT_TIMEOUT_MS',
    key: 'database_statement_timeout_ms',
    about: 'How long PostgreSQL may work on a statement',
    fallback: '5,000 ms',
    expects: 'milliseconds, 100 to 60000',
    secret: false,
  },
  {
    name: 'BONDED_DATABASE_LOCK_TIMEOUT_MS',
    key: 'database_lock_timeout_ms',
    about: 'How long a call may wait for locks of PostgreSQL, in all of its attempts',
    fallback: '2,000 ms',
    expects: 'milliseconds, 100 to 60000',
    secret: false,
  },
  {
    name: 'BONDED_DATABASE_PREPARED',
    key: 'database_prepared',
    about: 'Whether PostgreSQL keeps prepared statements; off for poolers that cannot',
    fallback: 'on',
    expects: 'on or off',
    secret: false,
  },
  {
    name: 'BONDED_ROOT_KEYS',
    key: 'root_keys',
    about: 'Root keys, the active one first',
    fallback: 'generated once in the data folder, in a sandbox',
    expects: 'id:<base64url of 32 bytes>, several separated by commas',
    secret: true,
  },
  {
    name: 'BONDED_ROOT_KEYS_COMMAND',
    key: 'root_keys_command',
    path: 'file',
    about:
      'Program that prints the value of BONDED_ROOT_KEYS, for keys that are in a secret store. Each process of the service runs it once, without arguments',
    fallback: 'none',
    expects: 'an executable file, without BONDED_ROOT_KEYS and BONDED_ROOT_KEYS_FILE',
    secret: false,
  },
  {
    name: 'BONDED_RECEIPT_KEYS',
    key: 'receipt_keys',
    path: 'file',
    about:
      'Ed25519 keys of receipts: the one that signs first, then retired ones, which the service still publishes',
    fallback: 'generated once in the data folder, in a sandbox; no receipts in production',
    expects: 'a file of PEM keys or a JSON Web Key Set, which only its owner and group can read',
    secret: false,
  },
  {
    name: 'BONDED_RECEIPT_COMMAND',
    key: 'receipt_command',
    path: 'file',
    about:
      'Program that signs receipts with the first key of BONDED_RECEIPT_KEYS, for a key that is in a key service',
    fallback: 'the file has the private key',
    expects: 'an executable file, with BONDED_RECEIPT_KEYS',
    secret: false,
  },
  {
    name: 'BONDED_RECEIPT_RETENTION_DAYS',
    key: 'receipt_retention_days',
    about: 'How long a receipt can be fetched after it was made',
    fallback: String(RECEIPT_RETENTION_DAYS),
    expects: 'a number of days, 1 to 36500',
    secret: false,
  },
  {
    name: 'BONDED_RECEIPT_LOG_RETENTION_DAYS',
    key: 'receipt_log_retention_days',
    about: 'How long the log of receipts has the hash of a receipt',
    fallback: String(LOG_RETENTION_DAYS),
    expects: 'a number of days, from BONDED_RECEIPT_RETENTION_DAYS to 36500',
    secret: false,
  },
  {
    name: 'BONDED_RECEIPT_CHECKPOINT',
    key: 'receipt_checkpoint',
    path: 'file',
    about:
      'File in which this node keeps the latest checkpoint of the log of receipts. It must survive a restore of the database and a restart of the node, and each node needs its own',
    fallback: 'receipt-log.checkpoint in the data folder',
    expects: 'a file in an existing folder that the service can write',
    secret: false,
  },
  {
    name: 'BONDED_RECEIPT_WITNESSES',
    key: 'receipt_witnesses',
    about:
      'Witnesses that cosign the log of receipts. The service reaches their hosts also at private addresses, and without TLS if the URL is an http one',
    fallback: 'none',
    expects:
      'at most 15, separated by commas: the verifier key of a cosignature/v1, a space, and the URL before /add-checkpoint',
    secret: false,
  },
  {
    name: 'BONDED_APP_SCHEME',
    key: 'app_scheme',
    about: 'URL scheme of the phone app in QR codes',
    fallback: 'pulse',
    expects: 'a URL scheme: lower-case letters, digits, + - .',
    secret: false,
  },
  {
    name: 'BONDED_QR_CONTENT',
    key: 'qr_content',
    about: 'Link in QR codes: the app’s, or one that any camera opens',
    fallback:
      'universal_link; app_scheme if BONDED_PHONES or BONDED_APP_SCHEME names an app, but not in bonded dev',
    expects: 'app_scheme or universal_link',
    secret: false,
  },
  {
    name: 'BONDED_DEVICE_TOKEN_TTL_DAYS',
    key: 'device_token_ttl_days',
    about: 'Lifetime of a device token that its phone does not renew',
    fallback: String(DEVICE_TOKEN_TTL_DAYS),
    expects: 'a number of days, 1 to 3650',
    secret: false,
  },
  {
    name: 'BONDED_REJECTION_RETENTION_DAYS',
    key: 'rejection_retention_days',
    about: 'How long the reason of a rejected request can be searched',
    fallback: String(REJECTION_RETENTION_DAYS),
    expects: 'a number of days, 1 to 3650',
    secret: false,
  },
  {
    name: 'BONDED_RETENTION_BOUNDS',
    key: 'retention_bounds',
    about: 'Shortest and longest retention in days that a tenant can have, by kind',
    fallback: RETENTION_KINDS.map((kind) => {
      const { min, max } = RETENTION_BOUNDS[kind]
      return `${kind}=${min}-${max}`
    }).join(','),
    expects:
      'kind=shortest-longest, several separated by commas; 1 to 36500 days, receipts at most BONDED_RECEIPT_LOG_RETENTION_DAYS',
    secret: false,
  },
  {
    name: 'BONDED_DATA_DIR',
    key: 'data_dir',
    path: 'folder',
    about: 'Folder for the database, keys and the process id',
    fallback: '.bonded',
    expects: 'a folder',
    secret: false,
  },
  {
    name: 'BONDED_CARRIERS',
    key: 'carriers',
    path: 'file',
    about: 'Carriers to query about phone numbers',
    fallback: 'no carrier is queried',
    expects: 'a YAML file of carriers',
    secret: false,
  },
  {
    name: 'BONDED_CSCA_DIR',
    key: 'csca_dir',
    path: 'folder',
    about: 'Country certificates that passports are verified against',
    fallback: '<data dir>/csca, if it exists',
    expects:
      'a folder of passport master lists (.ml) and of country certificates (.cer, .crt, .der, .pem)',
    secret: false,
  },
  {
    name: 'BONDED_METRICS_PORT',
    key: 'metrics_port',
    about: 'Port for Prometheus metrics',
    fallback: 'no metrics',
    expects: 'a port number, 1 to 65535',
    secret: false,
  },
  {
    name: 'BONDED_METRICS_HOST',
    key: 'metrics_host',
    about: 'Address that metrics are served on, without authentication',
    fallback: '127.0.0.1',
    expects: 'an IP address of this machine; 0.0.0.0 or :: only in a network without others',
    secret: false,
  },
  {
    name: 'BONDED_TRACES_ENDPOINT',
    key: 'traces_endpoint',
    about: 'OpenTelemetry collector to send traces to, over OTLP/HTTP',
    fallback: 'no traces',
    expects: 'an http or https URL, for example http://127.0.0.1:4318/v1/traces',
    secret: false,
  },
  {
    name: 'BONDED_TRACES_HEADERS',
    key: 'traces_headers',
    about: 'Headers for the collector, usually a credential',
    fallback: 'none',
    expects: 'name=value, several separated by commas',
    secret: true,
  },
  {
    name: 'BONDED_TRACES_RATIO',
    key: 'traces_ratio',
    about: 'Share of the sessions that are traced',
    fallback: '1',
    expects: 'a number from 0 to 1',
    secret: false,
  },
  {
    name: 'BONDED_RATE_LIMITS',
    key: 'rate_limits',
    about: 'Rate limits that replace the defaults',
    fallback: 'on',
    expects: `on, off (sandbox only), or a list of limits: ${LIMITS_SYNTAX}`,
    secret: false,
  },
  {
    name: 'BONDED_BODY_BUDGET_MIB',
    key: 'body_budget_mib',
    about: 'Memory that request bodies in flight may hold together, in MiB',
    fallback: '64',
    expects: 'a whole number from 1 to 4096',
    secret: false,
  },
  {
    name: 'BONDED_TRUST_PROXY',
    key: 'trust_proxy',
    about: 'Proxies whose X-Forwarded-For is trusted',
    fallback: '0',
    expects:
      'the number of proxies in front of the service, 0 to 9, or their addresses and ranges, separated by commas',
    secret: false,
  },
  {
    name: 'BONDED_CONNECTION_LIMITS',
    key: 'connection_limits',
    about: 'Limits of open connections',
    fallback: Object.entries(DEFAULT_CONNECTION_LIMITS)
      .map(([name, number]) => `${name}=${number}`)
      .join(','),
    expects: CONNECTION_LIMITS_SYNTAX,
    secret: false,
  },
  {
    name: 'BONDED_BACKEND_ADDRESSES',
    key: 'backend_addresses',
    about: 'Backends whose connections use the reserve from the start',
    fallback: 'none',
    expects: 'addresses and ranges, separated by commas',
    secret: false,
  },
  {
    name: 'BONDED_WEBHOOK_HOSTS',
    key: 'webhook_hosts',
    about:
      'Hosts that webhooks may reach although their address is not public or their port is not 443; also without TLS',
    fallback: 'none',
    expects: 'host:port, several separated by commas; an IPv6 address in brackets',
    secret: false,
  },
  {
    name: 'BONDED_PUSH_HOSTS',
    key: 'push_hosts',
    about: 'Push services that may wake phones, beside those of Chrome, Edge, Firefox, and Safari',
    fallback: 'none',
    expects:
      'host names, several separated by commas; `*.` before a name permits each name below it',
    secret: false,
  },
  {
    name: 'BONDED_DRAIN_SECONDS',
    key: 'drain_seconds',
    about:
      'How long the service accepts requests after SIGTERM while it reports that it is not ready. In the second half it closes its channels',
    fallback: '5 in production, otherwise 0',
    expects: 'a number of seconds, 0 to 10',
    secret: false,
  },
  {
    name: 'BONDED_PHONES',
    key: 'phones',
    path: 'file',
    about: 'Phone apps whose keys may register, and the roots to trust',
    fallback: 'browsers only',
    expects: 'a YAML or JSON file, described in docs/reference/configuration.md',
    secret: false,
  },
  {
    name: 'BONDED_TEST_ROOTS',
    key: 'test_roots',
    path: 'file',
    about: 'Test apps and test roots; sandbox only',
    fallback: '<data dir>/test-roots.json, if it exists, in a sandbox',
    expects: 'a YAML or JSON file, described in docs/reference/configuration.md; sandbox only',
    secret: false,
  },
  {
    name: 'BONDED_OPERATOR',
    key: 'operator',
    about: 'Operator of a recorded command, where neither a login nor sudo names one',
    fallback: 'none; required there in production',
    expects: 'a name of 1 to 64 visible characters',
    secret: false,
  },
  {
    name: 'BONDED_ENVIRONMENT',
    key: 'environment',
    about: 'Environment of the service',
    fallback: 'sandbox',
    expects: 'sandbox or production',
    secret: false,
  },
] as const

export type SettingName = (typeof SETTINGS)[number]['name']
