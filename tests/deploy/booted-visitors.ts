import { CLIENT, honestProvider } from '../../packages/console/tests/honest-provider.ts'
import { newClient } from '../../packages/ciba/tests/harness.ts'
import { approveForClient, bondOnPage, ORIGINS, visit } from '../machines/visitors.ts'

/*
 * A program in the network of a booted machine, in which the names of the service resolve: a user
 * with a phone, a client of the OpenID provider, an operator at a browser, and the provider that
 * signs the operator in. Each does what the parent of the program asks for.
 */

const client = newClient('invoice-agent')
let user: Awaited<ReturnType<typeof bondOnPage>> | undefined

const ACTIONS = {
  /** @returns the issuer that signs operators in, whose client is the console of the guide */
  async startSignIn(client_id: string): Promise<string> {
    const { issuer, operator } = await honestProvider(ORIGINS.console, { ...CLIENT, client_id })
    operator.groups = ['bonded-operators']
    return issuer
  },
  /** @returns the public key of the client */
  key: async (_given: string): Promise<string> => JSON.stringify(client.jwk),
  /** @returns how the tenant of the credential names the user */
  async bond(credential: string): Promise<string> {
    user = await bondOnPage(credential)
    return user.subject
  },
  /** @returns what the token permits, as JSON */
  async approve(_given: string): Promise<string> {
    if (user === undefined) throw new Error('the user has no bond')
    return JSON.stringify(await approveForClient(client, user))
  },
  /** @returns the status and the text of the page */
  async visit(page: string): Promise<string> {
    const response = await visit(page)
    return `${response.status} ${await response.text()}`
  },
}
export type Action = keyof typeof ACTIONS

process.on('message', ({ action, given }: { action: Action; given: string }) => {
  ACTIONS[action](given).then(
    (value) => process.send?.({ value }),
    (failure: unknown) =>
      process.send?.({ failure: failure instanceof Error ? failure.stack : String(failure) }),
  )
})
