import { CONNECTION_LIMITS_SYNTAX, DEFAULT_CONNECTION_LIMITS } from './domain/connection-limits.ts'
import { DEVICE_TOKEN_TTL_DAYS } from './domain/lifetimes.ts'
import { LIMITS_SYNTAX } from './domain/limits.ts'

/**
 * Every setting: its name in the environment, its member in the file, what it does (`about`), its
 * default (`fallback`) and the values that it accepts (`expects`).
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
    about: 'Database file',
    fallback: 'sqlite:<data dir>/bonded.db',
    expects: 'sqlite:<file>',
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
    fallback: 'app_scheme; in bonded dev universal_link',
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
    name: 'BONDED_DATA_DIR',
    key: 'data_dir',
    about: 'Folder for the database, keys and the process id',
    fallback: '.bonded',
    expects: 'a folder',
    secret: false,
  },
  {
    name: 'BONDED_CARRIERS',
    key: 'carriers',
    about: 'Carriers to query about phone numbers',
    fallback: 'no carrier is queried',
    expects: 'a YAML file of carriers',
    secret: false,
  },
  {
    name: 'BONDED_CSCA_DIR',
    key: 'csca_dir',
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
    expects: 'an IP address of this machine; 0.0.0.0 only in a network that others cannot reach',
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
    name: 'BONDED_DRAIN_SECONDS',
    key: 'drain_seconds',
    about:
      'How long the service accepts requests after SIGTERM while it reports that it is not ready',
    fallback: '5 in production, otherwise 0',
    expects: 'a number of seconds, 0 to 10',
    secret: false,
  },
  {
    name: 'BONDED_PHONES',
    key: 'phones',
    about: 'Phone apps whose keys may register, and the roots to trust',
    fallback: 'browsers only',
    expects: 'a YAML or JSON file, described in docs/reference/configuration.md',
    secret: false,
  },
  {
    name: 'BONDED_TEST_ROOTS',
    key: 'test_roots',
    about: 'Test apps and test roots; sandbox only',
    fallback: '<data dir>/test-roots.json, if it exists, in a sandbox',
    expects: 'a YAML or JSON file, described in docs/reference/configuration.md; sandbox only',
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
