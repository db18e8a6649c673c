import { against, CIBA } from './against.ts'

const TESTS = `${CIBA}/tests/ciba.test.ts`
const ROWS = `${CIBA}/src/sqlite-rows.ts`
const BEARER = `${CIBA}/src/keycloak-bearer.ts`
const CHANNEL = `${CIBA}/src/keycloak.ts`
const CHANNEL_TESTS = `${CIBA}/tests/keycloak-hostile.test.ts`
const ROW_TESTS = `${CIBA}/tests/sqlite-rows.test.ts`

/** The OpenID provider: a token for another user, another key or other details, or a second one. */
export const CIBA_MUTANTS = [
  ...against('forged', [
    [
      'a token is bound to no key of the client',
      `${CIBA}/src/provider.ts`,
      'dpop_bound_access_tokens: true',
      'dpop_bound_access_tokens: false',
      TESTS,
      'a poll without a proof',
    ],
    [
      'a client asks a user of another client',
      `${CIBA}/src/provider.ts`,
      'clients.find(({ client_id }) => client_id === ctx.oidc.client?.clientId)',
      'clients.find(({ subjects }) => ctx.oidc.client && subjects.includes(subject))',
      TESTS,
      'a client asks only its own users',
    ],
    [
      'a poll changes the details that the user has approved',
      `${CIBA}/src/requests.ts`,
      'if (!isSame) throw new errors.InvalidAuthorizationDetails',
      "if (!isSame && given === '') throw new errors.InvalidAuthorizationDetails",
      TESTS,
      'a poll cannot change the details',
    ],
    [
      'an approval that has ended gives a token while the service does not answer',
      `${CIBA}/src/requests.ts`,
      "if (status === 'waiting' || isIssuing) throw new errors.AuthorizationPending()",
      "if (status === 'waiting' || isIssuing) return await issue()",
      TESTS,
      'an approval that has ended gives no token',
    ],
    [
      'a token of the realm for another audience asks a user',
      BEARER,
      'const rules = { issuer, audience: issuer, ',
      'const rules = { issuer, ',
      CHANNEL_TESTS,
      'rejects every bearer token',
    ],
    [
      'a refresh token of the realm asks a user',
      BEARER,
      "if (typ !== 'Bearer' || ",
      "if (typ === 'ID' || ",
      CHANNEL_TESTS,
      'rejects every bearer token',
    ],
    [
      'a call of Keycloak names another user than its token',
      CHANNEL,
      'if (login_hint !== user.login_hint)',
      'if (login_hint === undefined)',
      CHANNEL_TESTS,
      'rejects a body that names another user',
    ],
  ]),
  ...against('replayed', [
    [
      'the assertion of a client authenticates two requests',
      ROWS,
      'kind === REPLAY',
      'kind === REQUEST',
      ROW_TESTS,
      'of two requests with one assertion',
    ],
    [
      'an auth_req_id gives two tokens',
      ROWS,
      "where kind = ? and key = ? and used_at is null'",
      "where kind = ? and key = ?'",
      ROW_TESTS,
      'of two tokens for one request',
    ],
    [
      'a call of Keycloak asks the user twice',
      CHANNEL,
      'if (!rows.seeOnce(`${realm.issuer} ${jti}`, exp))',
      "if (!rows.seeOnce(`${realm.issuer} ${jti}`, exp) && jti === '')",
      CHANNEL_TESTS,
      'accepts each jti once',
    ],
  ]),
]
