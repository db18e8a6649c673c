import { against, CORE, INTEGRATOR, SERVER, STORE } from './against.ts'
import type { Mutant } from './mutant.ts'

const PORTAL = `${SERVER}/tests/http/pages/webhook-portal.test.ts`
const DESTINATIONS = `${SERVER}/tests/adapters/webhooks/destination.test.ts`
const CLAIMS = `${SERVER}/tests/webhook-claims.test.ts`

/** Mutants that send a webhook to the wrong place or twice, or accept one of another sender. */
export const WEBHOOKS: readonly Mutant[] = [
  ...against('forged', [
    [
      'the signature of a webhook leaves out the time',
      `${SERVER}/src/adapters/webhooks/signature.ts`,
      '`${id}.${timestamp}.${body}`',
      '`${id}.${body}`',
      `${SERVER}/tests/adapters/webhooks/signature.test.ts`,
    ],
    [
      'the public key of an endpoint verifies signatures of the other version',
      `${INTEGRATOR}/src/webhook/signature.ts`,
      'version === wanted ?',
      "version?.startsWith('v1') ?",
      `${INTEGRATOR}/tests/webhook.test.ts`,
    ],
    [
      'the public key of an endpoint is used as the key of a MAC',
      `${INTEGRATOR}/src/webhook/signature.ts`,
      'return secret.startsWith(PUBLIC_PREFIX)',
      'return secret.startsWith(PUBLIC_VERSION)',
      `${INTEGRATOR}/tests/webhook.test.ts`,
    ],
  ]),
  ...against('forged', [
    [
      'the token of a portal link is not compared',
      `${SERVER}/src/adapters/keys/keyring.ts`,
      'if (!isSigned) return undefined',
      "if (!isSigned && purpose !== 'webhook-portal') return undefined",
      PORTAL,
    ],
  ]),
  ...against('replayed', [
    [
      'a portal link does not expire',
      `${CORE}/src/operations/authenticate.ts`,
      'link === undefined || !(now < link.expiresAt)',
      'link === undefined || !(link.expiresAt > 0)',
      PORTAL,
    ],
    [
      'a portal link outlives its credential',
      `${CORE}/src/operations/authenticate.ts`,
      'credential === undefined || isRevoked(credential, now)',
      'credential === undefined',
      PORTAL,
    ],
  ]),
  ...against('leaked', [
    [
      'the portal shows the query of a URL',
      `${SERVER}/src/http/response/present-webhook.ts`,
      "search === '' ? '' : '?…'",
      'search',
      PORTAL,
    ],
    [
      'every origin frames the portal',
      `${SERVER}/src/http/pages/framed-page.ts`,
      '; frame-ancestors ${ancestors}`',
      '; frame-ancestors ${ancestors} *`',
      PORTAL,
    ],
    [
      'a webhook goes to the network of the operator',
      `${SERVER}/src/adapters/webhooks/public-address.ts`,
      "return !specialIpv4.check(address, 'ipv4')",
      "return address !== '0.0.0.0'",
      DESTINATIONS,
    ],
    [
      'a webhook goes to any IPv6 network',
      `${SERVER}/src/adapters/webhooks/public-address.ts`,
      "globalIpv6.check(address, 'ipv6') && !specialIpv6.check",
      '!specialIpv6.check',
      DESTINATIONS,
    ],
    [
      'only the first address of a name is checked',
      `${SERVER}/src/adapters/webhooks/destination.ts`,
      'addresses.every(isPublicAddress)',
      'addresses.slice(0, 1).every(isPublicAddress)',
      DESTINATIONS,
    ],
    [
      'the connection resolves the name again',
      `${SERVER}/src/adapters/webhooks/checked-post.ts`,
      '    host: given.address,',
      '    host: url.hostname,',
      DESTINATIONS,
    ],
    [
      'an address is checked only when the endpoint is created',
      `${SERVER}/src/adapters/webhooks/destination.ts`,
      'return isAllowed || addresses.every(isPublicAddress)',
      'return isAllowed || addresses.length > 0',
      DESTINATIONS,
    ],
    [
      'a request that may have arrived is sent to the next address too',
      `${SERVER}/src/adapters/webhooks/checked-post.ts`,
      'if (isConnected || signal.aborted) throw failure',
      'if (signal.aborted) throw failure',
      DESTINATIONS,
    ],
    [
      'the operator allows all ports of a host',
      `${SERVER}/src/adapters/webhooks/destination.ts`,
      'hosts.includes(`${url.hostname}:${port}`)',
      'hosts.some((each) => each.startsWith(`${url.hostname}:`))',
      DESTINATIONS,
    ],
  ]),
  ...against('doubled', [
    [
      'a claimed delivery is claimed again',
      `${STORE}/src/tables/webhook-table.ts`,
      "'update webhook_delivery set due_at = $2 where ordinal = $1'",
      "'update webhook_delivery set due_at = 0 * $2 where ordinal = $1'",
      CLAIMS,
    ],
  ]),
  ...against('raced', [
    [
      'the result of an ended claim replaces that of another node',
      `${STORE}/src/tables/webhook-table.ts`,
      'where ordinal = $1 and due_at = $2`',
      'where ordinal = $1 and $2 = $2`',
      CLAIMS,
    ],
    [
      'an answer of an old URL disables the endpoint with its new one',
      `${STORE}/src/tables/webhook-table.ts`,
      'where id = $1 and url = $2`',
      'where id = $1 and $2 = $2`',
      CLAIMS,
    ],
    [
      'a batch reads its endpoint before the operator disables it',
      `${STORE}/src/tables/webhook-table.ts`,
      'set leased_until = $4 where id = $1 and disabled_at is null',
      'set leased_until = $4 where id = $1',
      CLAIMS,
    ],
    [
      'two nodes send the deliveries of one endpoint',
      `${STORE}/src/tables/webhook-table.ts`,
      'and (leased_until <= $2 or leased_until = $3) returning *`',
      'and $3 = $3 returning *`',
      CLAIMS,
    ],
  ]),
]
